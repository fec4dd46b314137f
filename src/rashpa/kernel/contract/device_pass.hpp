// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The work of one step on a CUDA device. Without CUDA headers, so that the contract is the same in every build: a
/// stream is a pointer, an error is a cudaError_t as int, 0 when all is well.
#include <cstddef>
#include <cstdint>
#include <string>

#include "rashpa/core/frame/results.hpp"
#include "rashpa/core/frame/stack.hpp"
#include "rashpa/kernel/contract/step.hpp"

struct CUstream_st;

namespace rashpa::kernel::cuda {

/// DeviceFinding::entries of an image that has more than there is room for.
inline constexpr std::uint32_t kListOverflow = ~0U;

/// The device's findings on one image; the unit clears it before the first step.
struct DeviceFinding {
  std::uint32_t counted = 0;  ///< Tap::count
  std::uint32_t entries = 0;  ///< of its list; kListOverflow
  std::uint8_t verdict = 0;   ///< 0: kept; n: the n-th reason of step `step`
  std::uint8_t step = 0;      ///< which step's verdict it is
  std::uint8_t failed = 0;    ///< n: step n - 1 could not do its work: the image is errored
  std::uint8_t lost = 0;      ///< not 0: other devices' results for the image have not come, and it is errored
};

/// A stack in device memory. Images at regular distances; image i is worked on when work[i] is not 0. A step clears
/// work[i] of images that it does not keep or cannot work on.
struct DeviceStack {
  const std::byte* in = nullptr;  ///< aligned to 16 bytes, as is the distance
  std::size_t in_stride = 0;      ///< bytes
  std::byte* out = nullptr;       ///< when it makes pixels; the same alignment
  std::size_t out_stride = 0;     ///< bytes
  /// The limits of an Adjustable step for this stack, in device memory: its LimitBytes; null for other steps.
  const std::byte* limits = nullptr;
  std::uint64_t* marks = nullptr;  ///< Tap::mark, image i at word i · marks_stride
  std::size_t marks_stride = 0;
  std::uint8_t* work = nullptr;        ///< [count]
  const std::uint8_t* dark = nullptr;  ///< [count]: not 0, the detector saw no light; null: it always did
  Scalar* scalars = nullptr;           ///< [count], scalars_stride apart: those of this step
  std::size_t scalars_stride = 0;
  DeviceFinding* findings = nullptr;  ///< [count]
  std::uint32_t count = 0;
  std::uint32_t place = 0;  ///< of image 0 among Setup::places; the others follow
  std::uint8_t step = 0;    ///< number of this step in the pipeline
  std::int32_t device = 0;  ///< number of the device
  /// The places, for DeviceAdding, of the quantities if a window ends with this stack; the first is null when none
  /// does. The array lies in device memory, and the host's addresses that it holds are valid on the device, too. Null:
  /// windows never end with a stack.
  std::byte* const* ended = nullptr;
};

/// Describes where the list of a place is, in host memory.
struct HostList {
  const std::uint32_t* index = nullptr;
  const void* value = nullptr;
};

/// Owns memory of the device that was the current one when it was made. One for each stack in flight works at a time
/// on its bench: `bench` counts from 0. The classes below it are abilities of only some passes: the unit asks for them
/// when it makes a pass (core/ability.hpp).
class DevicePass {
 public:
  virtual ~DevicePass() = default;
  /// Puts the work into the stream; all addresses are fixed, so that this can be captured once. Nothing allocates or
  /// waits.
  virtual int enqueue(const DeviceStack& stack, std::uint32_t bench, CUstream_st* stream) const noexcept = 0;
  /// The list of an image, for steps that make lists.
  [[nodiscard]] virtual HostList list(std::uint32_t place) const noexcept {
    static_cast<void>(place);
    return {};
  }
  /// Returns why images have failed, as CpuPass::failure().
  [[nodiscard]] virtual std::string failure() const { return {}; }
  /// Remarks for people on how it works, when it is made; empty: nothing.
  [[nodiscard]] virtual std::string words() const { return {}; }
  /// The profile, in host memory, of an image that enqueue() has worked on. For steps that make profiles.
  [[nodiscard]] virtual ProfileView profile(std::uint32_t place) const noexcept {
    static_cast<void>(place);
    return {};
  }
  /// The table, in host memory, of an image that enqueue() has worked on and that has not failed. For steps that make
  /// tables.
  [[nodiscard]] virtual TableView table(std::uint32_t place) const noexcept {
    static_cast<void>(place);
    return {};
  }
  /// Returns true for a step that keeps state for the next stack. The device then carries out the work of enqueue() for
  /// one stack at a time, in the order of stacks.
  [[nodiscard]] virtual bool in_turn() const { return false; }
  /// The notice, as CpuPass::notice() gives it. Any thread.
  [[nodiscard]] virtual std::string notice() const { return {}; }
};

/// A pass that must know something of an image besides its pixels.
class Preparing {
 public:
  virtual ~Preparing() = default;
  /// Prepares on the host, before the stack of an image that will be worked on is submitted. enqueue() copies what is
  /// kept here from `place`. Nothing allocates or waits.
  virtual void prepare(std::uint32_t place, const StackImage& image) noexcept = 0;
};

/// A pass of a step that accumulates on the host. One thread.
class HostAdding {
 public:
  virtual ~HostAdding() = default;
  /// An image that the step has kept, in the order of images, when all is done with its stack.
  virtual void add(std::uint32_t place) noexcept = 0;
  /// Writes the quantities of a window that has ended, each from element 0, and starts them anew.
  virtual void write(const AccumulatedArrays& to) noexcept = 0;
};

/// A pass of a step that accumulates on the device, from `work` as it finds it: it is in_turn(). enqueue() also writes
/// the quantities, where DeviceStack::ended asks for them, and starts them anew.
class DeviceAdding {
 public:
  virtual ~DeviceAdding() = default;
  /// Puts the writing of the quantities since the last window's end into the stream, when all stacks are done; behind
  /// it quantities start anew. `to` holds addresses of the host that are valid on the device, too.
  virtual int conclude(const AccumulatedArrays& to, CUstream_st* stream) const noexcept = 0;
};

}  // namespace rashpa::kernel::cuda
