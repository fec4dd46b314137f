// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "rashpa/memory/opencl/device.hpp"
#include "rashpa/unit/factory.hpp"
#include "rashpa/unit/opencl/bench_memory.hpp"
#include "rashpa/unit/opencl/places.hpp"
#include "rashpa/unit/opencl/slot_delivery.hpp"
#include "rashpa/unit/opencl/slots_in_place.hpp"
#include "rashpa/unit/opencl/step_passes.hpp"
#include "rashpa/unit/opencl/window_sums.hpp"
#include "rashpa/unit/steps.hpp"

namespace rashpa::unit::opencl {

/// All memory of a unit on an OpenCL device; it enqueues the steps of a stack into three queues: images in, the
/// pipeline's passes, results out. Each stack in flight has a bench with its own memory, so that one comes in while
/// another is computed and a third goes out. The steps are divided into legs; a leg ends where the host must decide
/// before the device continues. One thread; functions return the first error, a cl_int, and do not wait unless stated.
/// Memory, kernels, sums and delivery are parts that do not know one another.
class StackWork {
 public:
  /// Builds the programs, takes all memory, and runs each kernel once without data, because drivers compile at that
  /// time. Throws ConfigError when a kernel has no version for OpenCL or the images' memory does not fit. Throws
  /// ResourceError when the device has no memory or its compiler refuses a kernel.
  StackWork(const memory::opencl::Device& device, const Steps& steps, const Layout& layout, std::uint32_t benches,
            Transfer transfer);
  StackWork(const StackWork&) = delete;
  StackWork& operator=(const StackWork&) = delete;

  /// Begins a stack at the idle `bench`, and enqueues its first leg. Image i is processed when work[i] is not 0.
  cl_int start(std::uint32_t bench, const Stack& stack, std::span<const std::uint8_t> work) noexcept;
  /// Returns CL_COMPLETE when the results of the leg are there, a larger value before that, and a negative one for an
  /// error.
  [[nodiscard]] cl_int decided(std::uint32_t bench) const noexcept { return status(flights_[bench].decided); }
  /// Does the host's part of the leg, after it was decided. Returns true when another leg must be enqueued by go_on(),
  /// in the order of stacks, since kernels keep sums from one stack to the next.
  bool settle(std::uint32_t bench, Stack& stack) noexcept;
  cl_int go_on(std::uint32_t bench, const Stack& stack) noexcept;
  /// Returns how many legs of the stack at `bench` have been enqueued.
  [[nodiscard]] std::size_t legs_begun(std::uint32_t bench) const noexcept { return flights_[bench].leg + 1; }
  /// Returns the running step when that many legs of a stack have been enqueued.
  [[nodiscard]] Busy busy(const StepWatch::Doing& doing, std::size_t legs) const {
    const Leg& leg = passes_.legs()[legs - 1];
    return steps_.busy(doing, leg.first, leg.last);
  }
  /// Returns the results of image i, after the last leg.
  [[nodiscard]] const ImageBooks& books(std::uint32_t bench, std::uint32_t image) const noexcept {
    return memory_.books(bench)[image];
  }
  /// Enqueues the output of image i where kept[i] is not 0.
  cl_int deliver(std::uint32_t bench, std::uint32_t slot, std::span<const std::uint8_t> kept) noexcept;
  /// Returns the state of the output of deliver(), in the form of decided().
  [[nodiscard]] cl_int delivered(std::uint32_t bench) const noexcept { return status(flights_[bench].delivered); }
  /// Returns the pixels in host memory, once delivered.
  [[nodiscard]] const std::byte* pixels(const Stack& stack, std::uint32_t image) const noexcept;
  /// Returns true when lists come from the device; otherwise settle() has set them.
  [[nodiscard]] bool lists_delivered() const noexcept { return passes_.lister() != steps_.steps.size(); }
  [[nodiscard]] SparseView list(std::uint32_t bench, std::uint32_t slot, std::uint32_t image) const noexcept;
  /// Returns true when windows end with the stack, which is then started even if none of its images is processed.
  [[nodiscard]] bool ends_windows(std::uint64_t number) const noexcept { return sums_.ends_with(number); }
  /// Accounts for a finished stack, in order: its additions to windows, and the windows that end with it. `started`:
  /// the device has begun it.
  void account(std::uint32_t bench, bool started, Stack& stack) noexcept;
  /// Returns the windows that are open after all work has ended. Waits for the device.
  cl_int conclude(Accumulated& all) noexcept { return sums_.close_open(all, compute_.get()); }
  /// Returns whether step `step` has limits that may change.
  [[nodiscard]] bool limited(std::size_t step) const noexcept { return passes_.limited(step); }
  /// Returns true when step `step`, for which limited() is true, takes its limits in leg `leg`, counted from 0.
  /// `settled`: before settle(); otherwise before the leg is enqueued. A step that works on the device and settles on
  /// the host decides in settle().
  [[nodiscard]] bool takes_limits(std::size_t step, std::size_t leg, bool settled) const noexcept {
    const Leg& one = passes_.legs()[leg];
    return step >= one.first && step < one.last && settled == passes_.on_host(step);
  }
  void adopt(std::size_t step, kernel::LimitBytes& limits) noexcept { passes_.adopt(step, limits); }
  [[nodiscard]] std::string failure(std::uint8_t failed_in) const { return passes_.failure(failed_in); }
  [[nodiscard]] std::string notice() const { return passes_.notice(); }
  /// Returns how long compilation and the rest of the set-up took.
  [[nodiscard]] std::int64_t ready_ns() const noexcept { return ready_ns_; }
  [[nodiscard]] bool in_place() const noexcept { return places_.in_place; }

 private:
  using Event = memory::opencl::Event;
  /// A stack at a bench.
  struct Flight {
    Event came, computed, decided, delivered;
    std::size_t leg = 0;
    std::uint64_t number = 0;  // of the stack
  };
  void make_sums();
  void warm_up();
  cl_int start_leg(std::uint32_t bench, const Stack& stack) noexcept;
  cl_int bring_in(std::uint32_t bench, const Stack& stack) noexcept;
  cl_int compute(std::uint32_t bench, const Stack& stack) noexcept;
  cl_int let_darks_on(std::size_t step, std::uint32_t bench, const Stack& stack) noexcept;
  cl_int bring_out(std::uint32_t bench, const Stack& stack) noexcept;
  [[nodiscard]] const Leg& leg_of(std::uint32_t bench) const noexcept { return passes_.legs()[flights_[bench].leg]; }
  [[nodiscard]] kernel::opencl::DeviceStack seen_by(std::size_t step, std::uint32_t bench,
                                                    const Stack& stack) const noexcept;
  /// Returns true when the step processes the image.
  [[nodiscard]] bool looked_at(std::size_t step, std::uint32_t bench, const Stack& stack,
                               std::uint32_t image) const noexcept;
  void settle_step(std::size_t step, std::uint32_t bench, Stack& stack) noexcept;
  cl_int flush() noexcept;
  [[nodiscard]] static cl_int status(const Event& event) noexcept;

  std::int64_t ready_ns_;  // until it is, when that began
  Steps steps_;
  Layout layout_;
  Places places_;
  memory::opencl::Queue in_, compute_, out_;
  StepPasses passes_;
  WindowSums sums_;
  SlotsInPlace slots_;  // of nothing where images are copied
  BenchMemory memory_;
  SlotDelivery delivery_;
  std::vector<Flight> flights_;  // by bench
};

}  // namespace rashpa::unit::opencl
