// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The processing unit contract: a pipeline of kernels, prepared once, run on stacks of images.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "rashpa/core/frame/last_word.hpp"
#include "rashpa/core/frame/results.hpp"
#include "rashpa/core/frame/stack.hpp"
#include "rashpa/core/image/pixel_type.hpp"
#include "rashpa/core/image/special_value.hpp"
#include "rashpa/core/system/doorbell.hpp"
#include "rashpa/kernel/contract/step.hpp"
#include "rashpa/memory/ring.hpp"

namespace rashpa::unit {

/// The treatment of images with missing lines.
enum class PartialPolicy : std::uint8_t { keep, veto };

/// The parts of an accepted image that leave the unit.
enum class Delivery : std::uint8_t {
  everything,      ///< its pixels, and its list if the pipeline makes one
  list_in_place,   ///< the list in place of the pixels, if the pipeline makes one
  chunk_in_place,  ///< the list, or without lists the chunk if the unit makes chunks, in place of the pixels
};

/// The division of steps into passes.
enum class Passes : std::uint8_t {
  fused,     ///< a step shares the pass of the previous step where it can
  separate,  ///< each step reads the pixels itself: same results, slower
};

struct Pipeline {
  std::vector<kernel::StepOf> kernels;  ///< in order; empty: raw images go to the sinks unchanged
  PartialPolicy partial = PartialPolicy::keep;
  bool keep_darks = false;  ///< false: dark frames are vetoed (reason dark)
  Delivery delivery = Delivery::everything;
  Passes passes = Passes::fused;
};

/// The memory with the images.
enum class ImagesIn : std::uint8_t {
  host,
  device,  ///< memory of the unit's own device, which only it can read; StackImage::raw is null
};

/// The properties of the images that a unit gets.
struct Layout {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  PixelType input = PixelType::u16;
  std::uint32_t stack = 0;   ///< k
  std::uint32_t stacks = 0;  ///< stacks in the ring; Stack::slot < stacks. Each has its own output memory.
  /// The images: image i of the stack in slot s is at images + (s · stack + i) · image_stride. A unit with a device
  /// pins this memory and may read it at any time after submit(); StackImage::raw points there.
  std::byte* images = nullptr;
  ImagesIn images_in = ImagesIn::host;
  std::size_t image_stride = 0;                  ///< bytes
  std::int64_t largest_count = kNoLargestCount;  ///< of the detector, as returned by largest_count_of()
  /// The values of `input` that are no counts; nothing: as detectors deliver them.
  std::optional<kernel::Masked> masked{};
  /// The last words of the DTPs of these images, where the link has such; image k of a buffer is of stack k / stack.
  std::vector<LastWord> last_words{};
  bool changes = false;  ///< true: sources may overwrite images while the unit has them; Stack::guard reports which
};

/// The use of the machine's processor cores by a unit.
struct Cores {
  unsigned threads = 1;
  int first_processor = -1;  ///< thread i runs on processor first_processor + i; −1: any processor
};

/// The output of a unit, known when it is made.
struct Output {
  std::uint32_t width = 0;  ///< width of StackImage::pixels, as a kernel may change the shape of images
  std::uint32_t height = 0;
  PixelType pixel = PixelType::u16;                 ///< type of StackImage::pixels and of the values of lists
  kernel::Masked masked = kernel::Masked::maximum;  ///< values of StackImage::pixels that are no counts
  std::int64_t largest_count = kNoLargestCount;     ///< largest count in StackImage::pixels
  bool delivered = true;                            ///< true: pixels are the detector's own, not made by a kernel
  bool pixels = true;                               ///< true: accepted images have pixels
  bool chunked = false;                             ///< true: accepted images have StackImage::chunk in place of pixels
  std::size_t list_capacity = 0;                    ///< most entries of an image's list; 0: there are no lists
  Results results{};                                ///< columns of StackImage::scalars, and veto reasons
};

/// A running step. `image` and `frame` are those of the first image being processed; the time is monotonic.
struct Busy {
  /// name of the kernel; for a device that reports no progress between several kernels: all their names, with commas
  std::string kernel;
  std::uint64_t image = 0;
  std::uint64_t frame = 0;
  std::int64_t since_ns = 0;
};

/// Returns the one of both that has run for longer.
inline std::optional<Busy> longer(std::optional<Busy> one, std::optional<Busy> other) {
  if (!other || (one && one->since_ns <= other->since_ns)) return one;
  return other;
}

/// Runs a pipeline on stacks. All memory is taken when a unit is made (factory.hpp); nothing allocates afterwards. One
/// thread calls submit(), one calls take(). Results return in the order of submission, the same from all units. The
/// classes below are abilities of only some units (core/ability.hpp).
class Unit {
 public:
  virtual ~Unit() = default;
  /// Submits a stack; there is always room for Layout::stacks stacks in flight.
  virtual void submit(Stack* stack) noexcept = 0;
  /// Returns the next finished stack, or nullptr. The constructor's `done_bell` rings once after each.
  virtual Stack* take() noexcept = 0;
  /// Ends the threads; unfinished stacks are returned undecided as `errored`. Takes at most the processing time of one
  /// stack.
  virtual void stop() noexcept = 0;
  [[nodiscard]] virtual const Output& output() const noexcept = 0;
  /// Returns a description of the unit for the log and the report: "2 threads", "graph on NVIDIA H200, because …".
  [[nodiscard]] virtual std::string how() const = 0;
  /// Returns the cause of a final failure; empty while the unit works. After a failure all stacks return errored. Any
  /// thread.
  [[nodiscard]] virtual std::string error() const { return {}; }
  /// Returns the reason of the first failure of the step in StackImage::failed_in. Empty: no reason is known. Any
  /// thread.
  [[nodiscard]] virtual std::string failure(std::uint8_t failed_in) const {
    static_cast<void>(failed_in);
    return {};
  }
  /// Returns the step that has run for longest without an end. Any thread.
  [[nodiscard]] virtual std::optional<Busy> busy() const = 0;
};

/// A unit that accumulates over images.
class Accumulating {
 public:
  virtual ~Accumulating() = default;
  /// Returns the accumulation windows that are open after the last stack, by accumulation; a window that is not open
  /// has ended() false. The thread of take() calls it after the last take(). The memory stays valid as long as the
  /// unit.
  [[nodiscard]] virtual Accumulated conclude() noexcept = 0;
};

/// A unit that uses device memory.
class OnDevice {
 public:
  virtual ~OnDevice() = default;
  /// Returns the bytes of device memory that it has taken.
  [[nodiscard]] virtual std::size_t device_bytes() const noexcept = 0;
};

/// A unit whose steps may raise alarms while they work.
class Noticing {
 public:
  virtual ~Noticing() = default;
  /// Returns an alarm of a kernel for people; empty: none. Any thread.
  [[nodiscard]] virtual std::string notice() const = 0;
};

/// Limits that are ready for a unit. Call it once, from any thread. `first` is the number of an unsubmitted stack, the
/// first that they decide; nothing: the next stack that begins. Returns the number of that stack.
using ReadyLimits = std::function<std::uint64_t(std::optional<std::uint64_t> first)>;

/// A unit whose vetoes may get new limits while stacks are in flight.
class Adjusting {
 public:
  virtual ~Adjusting() = default;
  /// Prepares new limits for step `step` of the pipeline: those of `with`, the same kernel with other limits. Throws
  /// ConfigError, and then changes nothing. Any thread.
  [[nodiscard]] virtual ReadyLimits ready(std::size_t step, const kernel::StepOf& with) = 0;
};

/// Calls ready() of a unit. Throws StateError when the unit's limits cannot change.
[[nodiscard]] ReadyLimits ready(Unit& unit, std::size_t step, const kernel::StepOf& with);
/// Prepares limits and applies them. Returns the number of the first stack that they decide. Throws as ready().
std::uint64_t adjust(Unit& unit, std::size_t step, const kernel::StepOf& with);

/// Returns the result of conclude(), device_bytes() or notice(); nothing, 0 or nothing for a unit without that ability.
/// For rare calls.
[[nodiscard]] Accumulated concluded(Unit& unit) noexcept;
[[nodiscard]] std::size_t device_bytes_of(const Unit& unit) noexcept;
[[nodiscard]] std::string notice_of(const Unit& unit);

}  // namespace rashpa::unit
