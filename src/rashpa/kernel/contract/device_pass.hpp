// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The work of one step on a CUDA device, declared without CUDA headers so that all builds have the same contract: a
/// stream is a pointer, an error is a cudaError_t as int, 0 for success.
#include <cstddef>
#include <cstdint>
#include <string>

#include "rashpa/core/frame/results.hpp"
#include "rashpa/core/frame/stack.hpp"
#include "rashpa/kernel/contract/step.hpp"

struct CUstream_st;

namespace rashpa::kernel::cuda {

/// The value of DeviceFinding::entries when an image has more entries than its list has room for.
inline constexpr std::uint32_t kListOverflow = ~0U;

/// The device's findings in one image. The unit clears them before the first step.
struct DeviceFinding {
  std::uint32_t counted = 0;  ///< the count of Tap::count
  std::uint32_t entries = 0;  ///< entries of its list, or kListOverflow
  std::uint8_t verdict = 0;   ///< 0: kept; n: the n-th reason of step `step`
  std::uint8_t step = 0;      ///< number of the step whose verdict it is
  std::uint8_t failed = 0;    ///< n: step n − 1 failed on the image, which is errored
  std::uint8_t lost = 0;      ///< not 0: results of other devices for the image did not come, and it is errored
};

/// A stack of images at regular distances in device memory. A step works on image i when work[i] is not 0; it clears
/// work[i] for images that it does not keep or cannot process.
struct DeviceStack {
  const std::byte* in = nullptr;  ///< aligned to 16 bytes, like in_stride
  std::size_t in_stride = 0;      ///< bytes
  std::byte* out = nullptr;       ///< for a step that makes pixels; aligned like `in`
  std::size_t out_stride = 0;     ///< bytes
  /// The LimitBytes of an Adjustable step for this stack, in device memory; null for other steps.
  const std::byte* limits = nullptr;
  std::uint64_t* marks = nullptr;  ///< marks of Tap::mark; image i begins at word i · marks_stride
  std::size_t marks_stride = 0;
  std::uint8_t* work = nullptr;        ///< [count]
  const std::uint8_t* dark = nullptr;  ///< [count]; not 0: the image is dark; null: none is dark
  Scalar* scalars = nullptr;           ///< [count] columns of this step, scalars_stride apart
  std::size_t scalars_stride = 0;
  DeviceFinding* findings = nullptr;  ///< [count]
  std::uint32_t count = 0;
  std::uint32_t place = 0;  ///< place of image 0 among Setup::places; the others follow
  std::uint8_t step = 0;    ///< number of this step in the pipeline
  std::int32_t device = 0;  ///< number of the device
  /// The destinations of the quantities, for DeviceAdding, when a window ends with this stack. The first is null when
  /// no window ends; the whole pointer is null when windows never end with a stack. The array is in device memory, and
  /// its host addresses are valid on the device.
  std::byte* const* ended = nullptr;
};

/// The list of an image, in host memory.
struct HostList {
  const std::uint32_t* index = nullptr;
  const void* value = nullptr;
};

/// The work of a step on the device that was current when the pass was made, with device memory of its own. Each stack
/// in flight has its own bench, which counts from 0. The classes below are abilities of only some passes: the unit asks
/// for them when it makes a pass (core/ability.hpp).
class DevicePass {
 public:
  virtual ~DevicePass() = default;
  /// Enqueues the work into the stream. All addresses are fixed, so a unit can capture the work once. Nothing allocates
  /// or waits.
  virtual int enqueue(const DeviceStack& stack, std::uint32_t bench, CUstream_st* stream) const noexcept = 0;
  /// Returns the list of an image, for steps that make lists.
  [[nodiscard]] virtual HostList list(std::uint32_t place) const noexcept {
    static_cast<void>(place);
    return {};
  }
  /// Returns why images failed, as CpuPass::failure() does.
  [[nodiscard]] virtual std::string failure() const { return {}; }
  /// Returns remarks for people on how the pass works, fixed when it is made; empty: none.
  [[nodiscard]] virtual std::string words() const { return {}; }
  /// Returns the profile, in host memory, of an image that enqueue() has processed. For steps that make profiles.
  [[nodiscard]] virtual ProfileView profile(std::uint32_t place) const noexcept {
    static_cast<void>(place);
    return {};
  }
  /// Returns the table, in host memory, of an image that enqueue() has processed without failure. For steps that make
  /// tables.
  [[nodiscard]] virtual TableView table(std::uint32_t place) const noexcept {
    static_cast<void>(place);
    return {};
  }
  /// Returns true for a step that keeps state for the next stack. The device then runs enqueue()'s work for one stack
  /// at a time, in the order of stacks.
  [[nodiscard]] virtual bool in_turn() const { return false; }
  /// Returns the notice, as CpuPass::notice() does. Any thread.
  [[nodiscard]] virtual std::string notice() const { return {}; }
};

/// A pass that needs facts of an image besides its pixels.
class Preparing {
 public:
  virtual ~Preparing() = default;
  /// Prepares an image on the host before its stack is submitted. enqueue() copies the prepared facts from `place`.
  /// Nothing allocates or waits.
  virtual void prepare(std::uint32_t place, const StackImage& image) noexcept = 0;
};

/// A pass of a step that accumulates on the host. One thread.
class HostAdding {
 public:
  virtual ~HostAdding() = default;
  /// Adds an image that the step has kept, after its stack is complete. Images come in order.
  virtual void add(std::uint32_t place) noexcept = 0;
  /// Writes the quantities of an ended window, each from element 0, and resets them.
  virtual void write(const AccumulatedArrays& to) noexcept = 0;
};

/// A pass of a step that accumulates on the device, with `work` as the step reads it; in_turn() is true. enqueue() also
/// writes and resets the quantities where DeviceStack::ended asks for it.
class DeviceAdding {
 public:
  virtual ~DeviceAdding() = default;
  /// Enqueues the writing of the quantities since the end of the last window, after all stacks, and resets them. `to`
  /// has host addresses that are valid on the device, too.
  virtual int conclude(const AccumulatedArrays& to, CUstream_st* stream) const noexcept = 0;
};

}  // namespace rashpa::kernel::cuda
