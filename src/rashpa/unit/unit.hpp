#pragma once
/// The processing unit contract (DESIGN.md 6.6): a pipeline of kernels, prepared once, run on stacks of images.
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "rashpa/core/doorbell.hpp"
#include "rashpa/core/pixel_type.hpp"
#include "rashpa/core/stack.hpp"
#include "rashpa/kernel/bragg_count/bragg_count.hpp"
#include "rashpa/kernel/csr/csr.hpp"
#include "rashpa/kernel/jungfrau/jungfrau.hpp"
#include "rashpa/memory/ring.hpp"

namespace rashpa::unit {

/// One step of a pipeline. Order: [jungfrau] [bragg_count] [csr]; bragg_count and csr need jungfrau's photons before
/// them.
using KernelConfig = std::variant<kernel::jungfrau::Config, kernel::bragg_count::Config, kernel::csr::Config>;

/// What becomes of images of which lines are missing.
enum class PartialPolicy : std::uint8_t { keep, veto };

struct Pipeline {
  std::vector<KernelConfig> kernels;  ///< empty: raw images go to the sink as they are
  PartialPolicy partial = PartialPolicy::keep;
  bool keep_darks = false;  ///< dark frames are vetoed (reason dark) unless set
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
  std::size_t image_stride = 0;  ///< bytes
};

/// How a unit uses the processor cores of the machine.
struct Placement {
  unsigned threads = 1;
  int first_processor = -1;  ///< pins thread i to first_processor + i; −1: unpinned
};

/// All memory is taken when a unit is made (factory.hpp). `submit` from one thread, `take` from one thread. Nothing
/// allocates after construction. Results come back in the order of submission.
class Unit {
 public:
  virtual ~Unit() = default;
  /// Hands a stack over; never full for up to Layout::stacks stacks in flight.
  virtual void submit(Stack* stack) noexcept = 0;
  /// The next finished stack, or nullptr. `done_bell` (constructor) rings after each.
  virtual Stack* take() noexcept = 0;
  /// Ends the threads; stacks not finished are given back undecided as `errored`. Bounded by one stack's processing
  /// time.
  virtual void stop() noexcept = 0;
  /// The pixel type of StackImage::pixels.
  [[nodiscard]] virtual PixelType output() const noexcept = 0;
  /// How it works, in words, for the log and the report: "2 threads", "graph on NVIDIA H200, because …".
  [[nodiscard]] virtual std::string how() const = 0;
  /// What made it fail for good; empty while it works. From then on everything submitted comes back errored. Any
  /// thread.
  [[nodiscard]] virtual std::string error() const { return {}; }
};

}  // namespace rashpa::unit
