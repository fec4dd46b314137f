// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The processing unit contract: a pipeline of kernels, prepared once, run on stacks of images.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "rashpa/core/frame/results.hpp"
#include "rashpa/core/frame/stack.hpp"
#include "rashpa/core/image/pixel_type.hpp"
#include "rashpa/core/image/special_value.hpp"
#include "rashpa/core/system/doorbell.hpp"
#include "rashpa/kernel/contract/step.hpp"
#include "rashpa/memory/ring.hpp"

namespace rashpa::unit {

/// The fate of images with missing lines.
enum class PartialPolicy : std::uint8_t { keep, veto };

/// The part of an accepted image that leaves the unit.
enum class Delivery : std::uint8_t {
  everything,      ///< its pixels, and its list when the pipeline makes one
  list_in_place,   ///< the list in place of the pixels, when the pipeline makes one
  chunk_in_place,  ///< the list or, of pipelines without, the chunk in place of the pixels, of units that make chunks
};

/// Describes how steps are put into passes.
enum class Passes : std::uint8_t {
  fused,     ///< a step that can ride on the pass of the one before it does
  separate,  ///< each step reads the pixels for itself: the same results, slower
};

struct Pipeline {
  std::vector<kernel::StepOf> kernels;  ///< in order; empty: raw images go to the sink as they are
  PartialPolicy partial = PartialPolicy::keep;
  bool keep_darks = false;  ///< dark frames are vetoed (reason dark) unless set
  Delivery delivery = Delivery::everything;
  Passes passes = Passes::fused;
};

/// The owner of the images' memory.
enum class ImagesIn : std::uint8_t {
  host,
  device,  ///< of the unit's own device, which alone sees them; StackImage::raw is null
};

/// The images that a unit will be given.
struct Layout {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  PixelType input = PixelType::u16;
  std::uint32_t stack = 0;   ///< k
  std::uint32_t stacks = 0;  ///< stacks in the ring; Stack::slot < stacks. Each has its own output memory.
  /// Where the images lie: image i of the stack in slot s at images + (s · stack + i) · image_stride. A unit with
  /// memory of its own pins this and may read it at any time after submit(); StackImage::raw points there.
  std::byte* images = nullptr;
  ImagesIn images_in = ImagesIn::host;
  std::size_t image_stride = 0;                  ///< bytes
  std::int64_t largest_count = kNoLargestCount;  ///< of the detector, see largest_count_of()
  /// Which values of `input` are no counts; nothing: as detectors deliver them.
  std::optional<kernel::Masked> masked{};
  bool changes = false;  ///< sources may write over images while the unit has them: Stack::guard says of which
};

/// Describes how a unit uses the processor cores of the machine.
struct Cores {
  unsigned threads = 1;
  int first_processor = -1;  ///< pins thread i to first_processor + i; −1: unpinned
};

/// The output of a unit, known when it is made.
struct Output {
  std::uint32_t width = 0;  ///< of StackImage::pixels: a kernel may change the shape of images
  std::uint32_t height = 0;
  PixelType pixel = PixelType::u16;                 ///< of StackImage::pixels and of the values of lists
  kernel::Masked masked = kernel::Masked::maximum;  ///< of StackImage::pixels: which values are no counts …
  std::int64_t largest_count = kNoLargestCount;     ///< … and where counts end
  bool delivered = true;                            ///< they are the detector's own pixels: no kernel has made them
  bool pixels = true;                               ///< accepted images have pixels
  bool chunked = false;                             ///< they have StackImage::chunk in place of pixels
  std::size_t list_capacity = 0;                    ///< most entries of an image's list; 0: there are no lists
  Results results{};                                ///< columns of StackImage::scalars, reasons of vetoes
};

/// A step that is at work. `image`, `frame`: the first of those that it looks at; monotonic time.
struct Busy {
  std::string kernel;  ///< of a device that does several without a word in between: all of them, with commas
  std::uint64_t image = 0;
  std::uint64_t frame = 0;
  std::int64_t since_ns = 0;
};

/// The one that has been at work for longer.
inline std::optional<Busy> longer(std::optional<Busy> one, std::optional<Busy> other) {
  if (!other || (one && one->since_ns <= other->since_ns)) return one;
  return other;
}

/// All memory is taken when a unit is made (factory.hpp). `submit` from one thread, `take` from one thread. Nothing
/// allocates after construction. Results come back in the order of submission, the same from every unit. The
/// classes below it are abilities of only some units (core/ability.hpp).
class Unit {
 public:
  virtual ~Unit() = default;
  /// Hands a stack over; never full for up to Layout::stacks stacks in flight.
  virtual void submit(Stack* stack) noexcept = 0;
  /// The next finished stack, or nullptr. `done_bell` (constructor) rings once after
  /// each.
  virtual Stack* take() noexcept = 0;
  /// Ends the threads; stacks not finished are given back undecided as `errored`. Bounded by one stack's processing
  /// time.
  virtual void stop() noexcept = 0;
  [[nodiscard]] virtual const Output& output() const noexcept = 0;
  /// Returns how it works, in words, for the log and the report: "2 threads", "graph on NVIDIA H200, because …".
  [[nodiscard]] virtual std::string how() const = 0;
  /// The cause of its final failure; empty while it works. From then on everything submitted comes back errored. Any
  /// thread.
  [[nodiscard]] virtual std::string error() const { return {}; }
  /// Returns why a step could not do its work, the first reason; StackImage::failed_in has the step. Empty: nothing
  /// more is known. Any thread.
  [[nodiscard]] virtual std::string failure(std::uint8_t failed_in) const {
    static_cast<void>(failed_in);
    return {};
  }
  /// The step that has been at work for longest without an end. Any thread.
  [[nodiscard]] virtual std::optional<Busy> busy() const = 0;
};

/// A unit that adds up over images.
class Accumulating {
 public:
  virtual ~Accumulating() = default;
  /// The windows of accumulations that are open when no more stacks come, by accumulation; one that is not open has not
  /// `ended()`. After the last take(), by its thread; its memory stays until the unit goes.
  [[nodiscard]] virtual Accumulated conclude() noexcept = 0;
};

/// A unit that works in memory of a device.
class OnDevice {
 public:
  virtual ~OnDevice() = default;
  /// Memory of the device that it has taken.
  [[nodiscard]] virtual std::size_t device_bytes() const noexcept = 0;
};

/// A unit whose steps may have something to say while they work.
class Noticing {
 public:
  virtual ~Noticing() = default;
  /// An alarm of a kernel for people; empty: nothing. Any thread.
  [[nodiscard]] virtual std::string notice() const = 0;
};

/// Limits that wait to be given to a unit: called once, from any thread. `first`: the number of a stack that has not
/// been submitted, which is the first that is decided by them; nothing: the next one that begins. Returns its number.
using ReadyLimits = std::function<std::uint64_t(std::optional<std::uint64_t> first)>;

/// A unit whose vetoes may get other limits while stacks go through it.
class Adjusting {
 public:
  virtual ~Adjusting() = default;
  /// Limits for step `step` of the pipeline: those of `with`, the same kernel with other limits. Throws ConfigError,
  /// and has changed nothing then. Any thread.
  [[nodiscard]] virtual ReadyLimits ready(std::size_t step, const kernel::StepOf& with) = 0;
};

/// The same of any unit. Throws StateError of one that has its limits from its start to its end.
[[nodiscard]] ReadyLimits ready(Unit& unit, std::size_t step, const kernel::StepOf& with);
/// Gives them to the unit. Returns the number of the first stack that is decided by them. Throws as ready().
std::uint64_t adjust(Unit& unit, std::size_t step, const kernel::StepOf& with);

/// The answers of the three; of a unit that is none of them nothing, 0, nothing. For questions once in a while.
[[nodiscard]] Accumulated concluded(Unit& unit) noexcept;
[[nodiscard]] std::size_t device_bytes_of(const Unit& unit) noexcept;
[[nodiscard]] std::string notice_of(const Unit& unit);

}  // namespace rashpa::unit
