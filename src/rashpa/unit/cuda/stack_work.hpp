// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cuda_runtime_api.h>

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "rashpa/kernel/contract/device_pass.hpp"
#include "rashpa/memory/cuda/resources.hpp"
#include "rashpa/unit/cuda/control.hpp"
#include "rashpa/unit/cuda/joint/joint.hpp"
#include "rashpa/unit/cuda/parts/bench_memory.hpp"
#include "rashpa/unit/cuda/parts/places.hpp"
#include "rashpa/unit/cuda/parts/slot_results.hpp"
#include "rashpa/unit/cuda/parts/stack_limits.hpp"
#include "rashpa/unit/cuda/parts/step_passes.hpp"
#include "rashpa/unit/cuda/parts/window_sums.hpp"
#include "rashpa/unit/steps.hpp"

namespace rashpa::unit::cuda {

using memory::cuda::check;
using memory::cuda::DeviceMemory;
using memory::cuda::DeviceScope;
using memory::cuda::Graph;
using memory::cuda::Pinning;
using memory::cuda::Stream;

/// Events for a timeline: before the copy in, behind it, behind the steps, behind delivery.
using Stages = std::array<cudaEvent_t, 4>;

/// Raw images of a ring in host memory: copied to the device, or read where they are, by a resident kernel; enqueue()
/// needs the copies. Those of a ring in the device's memory are always read where they are.
enum class Input : std::uint8_t { copied, in_place };

/// Throws ConfigError where unit cuda cannot do a step, or not read the images.
void check_fit(const Steps& steps, const Layout& layout);

/// The steps of one stack put into a stream: order and images in, the pipeline's passes, accepted images out, ticket.
/// No step needs the host. Its parts (parts/) know nothing of one another: memory at the benches, passes, sums, results
/// in host memory. Used by one thread at a time.
class StackWork {
 public:
  /// `benches`: stacks in flight on the device, each with memory of its own; the stack in slot s uses bench s mod
  /// benches. `windows_on_device`: as in Choice. `seat`: images are strips of those of a Joint, whose other members do
  /// the rest. Throws ConfigError when a kernel has no version for CUDA.
  StackWork(const Steps& steps, const Layout& layout, std::uint32_t benches, Input input = Input::copied,
            std::uint32_t windows_on_device = 0, const std::optional<Seat>& seat = std::nullopt);

  /// Enqueues the work on the stack in `slot`; all addresses are fixed, so that this can be captured once. `stages`,
  /// when given, are recorded before and behind the three stages. Returns the first error.
  cudaError_t enqueue(std::uint32_t slot, cudaStream_t stream, const Stages* stages = nullptr) const noexcept;
  /// The same of a stack of which no image is to be processed, as its order says now: the images stay where they are.
  cudaError_t enqueue_without_images(std::uint32_t slot, cudaStream_t stream) const noexcept;
  [[nodiscard]] bool any_to_process(std::uint32_t slot) const noexcept;

  [[nodiscard]] std::uint32_t bench_of(std::uint32_t slot) const noexcept { return memory_.bench_of(slot); }
  [[nodiscard]] std::uint32_t stack() const noexcept { return layout_.stack; }
  [[nodiscard]] std::uint32_t benches() const noexcept { return memory_.benches(); }
  [[nodiscard]] Order& order(std::uint32_t slot) const noexcept;
  /// Writes the order of a stack, before it is submitted. `asked`: images whose byte is not 0 will be processed.
  void give_order(const Stack& stack, std::span<const std::uint8_t> asked, std::uint32_t ticket) noexcept;
  /// Changes the limits of a step from the next order on. The thread of give_order().
  void adopt(const StackLimits::Change& change) noexcept { limits_.adopt(change); }
  [[nodiscard]] Control& control() const noexcept { return *control_.as<Control>(); }

  // For a kernel that does these steps by itself.
  [[nodiscard]] const Steps& steps() const noexcept { return steps_; }
  [[nodiscard]] const Layout& layout() const noexcept { return layout_; }
  [[nodiscard]] const Places& places() const noexcept { return places_; }
  [[nodiscard]] const StepPasses& passes() const noexcept { return passes_; }
  [[nodiscard]] const BenchMemory& memory() const noexcept { return memory_; }
  [[nodiscard]] const StackLimits& limits() const noexcept { return limits_; }
  [[nodiscard]] SlotTrigger* triggers() const noexcept { return triggers_.as<SlotTrigger>(); }

  /// Findings, scalars and images of stacks that are done.
  [[nodiscard]] const SlotResults& results() const noexcept { return results_; }
  [[nodiscard]] kernel::cuda::HostList list(std::uint32_t slot, std::uint32_t image) const noexcept {
    return passes_.pass(passes_.lister())->list(place(slot, image));
  }
  /// The number of the step that makes lists, in the form of DeviceFinding::failed.
  [[nodiscard]] std::uint8_t lister() const noexcept { return static_cast<std::uint8_t>(passes_.lister() + 1); }
  /// The profile of an image that step `step` has worked on.
  [[nodiscard]] ProfileView profile(std::size_t step, std::uint32_t slot, std::uint32_t image) const noexcept {
    return passes_.pass(step)->profile(place(slot, image));
  }
  [[nodiscard]] TableView table(std::size_t step, std::uint32_t slot, std::uint32_t image) const noexcept {
    return passes_.pass(step)->table(place(slot, image));
  }
  /// The sums of a stack that has come back, by the steps that accumulate, stacks in order; `finished`: the device has
  /// done its work. Fills Stack::accumulated.
  void account(Stack& stack, bool finished) noexcept;
  /// The windows that are open when all stacks have come back, into `all`. Waits for the device. Returns the first
  /// error.
  cudaError_t conclude(Accumulated& all) noexcept { return sums_.close_open(all); }

 private:
  void make_sums(std::uint32_t windows_on_device);
  cudaError_t copy_order(std::uint32_t slot, cudaStream_t stream) const noexcept;
  void check_device_images() const;
  [[nodiscard]] bool on_device() const noexcept { return layout_.images_in == ImagesIn::device; }
  /// Returns where the steps find the raw images of the stack in `slot`.
  [[nodiscard]] const std::byte* raw(std::uint32_t slot) const noexcept;
  cudaError_t copy_in(std::uint32_t slot, cudaStream_t stream) const noexcept;
  cudaError_t compute(std::uint32_t slot, cudaStream_t stream) const noexcept;
  cudaError_t compute_step(std::size_t step, std::uint32_t slot, const kernel::cuda::DeviceStack& stack,
                           cudaStream_t stream) const noexcept;
  cudaError_t make_chunks(std::uint32_t slot, cudaStream_t stream) const noexcept;
  /// The counts that members exchange when `steps` steps are done.
  cudaError_t meet(std::uint32_t slot, std::size_t steps, cudaStream_t stream) const noexcept;
  cudaError_t copy_out(std::uint32_t slot, cudaStream_t stream) const noexcept;
  [[nodiscard]] std::uint32_t place(std::uint32_t slot, std::uint32_t image = 0) const noexcept {
    return static_cast<std::uint32_t>(places_.at(slot, image));
  }
  /// The addresses in the form of DeviceStack::ended.
  [[nodiscard]] std::byte* const* ended(std::size_t step, std::uint32_t bench) const noexcept;
  // Not where chunks are made before delivery, of accepted images only, nor where several devices decide.
  [[nodiscard]] bool settled_on_delivery(std::size_t step) const noexcept {
    return !steps_.output.chunked && !seat_ && step + 1 == steps_.steps.size() && steps_.steps[step].rides.has_value();
  }

  Steps steps_;
  Layout layout_;
  std::optional<Seat> seat_;
  Places places_;
  int device_ = 0;
  std::optional<Pinning> pinning_;
  StackLimits limits_;
  memory::cuda::PinnedMemory control_, triggers_, orders_;
  SlotResults results_;
  StepPasses passes_;
  WindowSums sums_;
  DeviceMemory turn_{sizeof(std::uint32_t)};
  BenchMemory memory_;
};

}  // namespace rashpa::unit::cuda
