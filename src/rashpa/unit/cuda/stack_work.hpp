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
#include "rashpa/unit/cuda/word/watch.hpp"
#include "rashpa/unit/steps.hpp"

namespace rashpa::unit::cuda {

using memory::cuda::check;
using memory::cuda::DeviceMemory;
using memory::cuda::DeviceScope;
using memory::cuda::Graph;
using memory::cuda::Pinning;
using memory::cuda::Stream;

/// Events for a timeline: before the copy to the device, after it, after the steps, after delivery.
using Stages = std::array<cudaEvent_t, 4>;

/// The access to raw images of a ring in host memory: copied to the device, as enqueue() needs, or read in place by a
/// resident kernel. Images in the device's memory are always read in place.
enum class Input : std::uint8_t { copied, in_place };

/// The memory of stacks that begin by last words: orders that ask for all images, and the device's answers, by slot.
struct Watching {
  std::byte* ahead = nullptr;       ///< in pinned memory, StackLimits::stride() apart
  Start* starts = nullptr;          ///< in pinned memory
  const LastWord* words = nullptr;  ///< in device memory
  std::uint32_t dtps = 0;
  std::uint32_t* over = nullptr;  ///< in device memory, as in Watch
};

/// Throws ConfigError where unit cuda cannot do a step, or cannot read the images.
void check_fit(const Steps& steps, const Layout& layout);

/// Enqueues the steps of one stack into a stream: order and images in, the pipeline's passes, accepted images out,
/// ticket. No step needs the host. Its parts (parts/) do not know one another: memory of benches, passes, sums, results
/// in host memory. One thread at a time.
class StackWork {
 public:
  /// Takes all memory. `benches` is the number of stacks in flight on the device, each with memory of its own; the
  /// stack in slot s uses bench s mod benches. `windows_on_device` as in Choice. `seat`: images are strips of those of
  /// a Joint, whose other members do the rest. Throws ConfigError when a kernel has no version for CUDA.
  StackWork(const Steps& steps, const Layout& layout, std::uint32_t benches, Input input = Input::copied,
            std::uint32_t windows_on_device = 0, const std::optional<Seat>& seat = std::nullopt);

  /// Enqueues the work on the stack in `slot`. All addresses are fixed, so the work can be captured once. `stages`, if
  /// given, are recorded before and after the three stages. Returns the first error.
  cudaError_t enqueue(std::uint32_t slot, cudaStream_t stream, const Stages* stages = nullptr) const noexcept;
  /// Enqueues the work on a stack whose order requests no image; the images are not copied.
  cudaError_t enqueue_without_images(std::uint32_t slot, cudaStream_t stream) const noexcept;
  [[nodiscard]] bool any_to_process(std::uint32_t slot) const noexcept;

  [[nodiscard]] std::uint32_t bench_of(std::uint32_t slot) const noexcept { return memory_.bench_of(slot); }
  [[nodiscard]] std::uint32_t stack() const noexcept { return layout_.stack; }
  [[nodiscard]] std::uint32_t benches() const noexcept { return memory_.benches(); }
  [[nodiscard]] Order& order(std::uint32_t slot) const noexcept;
  /// Writes the order of a stack, before it is submitted. `asked`: images whose byte is not 0 are processed.
  void give_order(const Stack& stack, std::span<const std::uint8_t> asked, std::uint32_t ticket) noexcept;
  /// Makes all work that is enqueued from now on wait for last words, or the host. Set-up only.
  void watch(const Watching& watching) noexcept { watching_ = watching; }
  /// Writes the order ahead of stack `number`, in `slot`: all images.
  void order_ahead(std::uint32_t slot, std::uint64_t number, std::uint32_t ticket) noexcept;
  /// Changes the limits of a step from the next order on. The thread of give_order() calls it.
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

  /// Returns findings, scalars and images of finished stacks.
  [[nodiscard]] const SlotResults& results() const noexcept { return results_; }
  [[nodiscard]] kernel::cuda::HostList list(std::uint32_t slot, std::uint32_t image) const noexcept {
    return passes_.pass(passes_.lister())->list(place(slot, image));
  }
  /// Returns the number of the step that makes lists, in the form of DeviceFinding::failed.
  [[nodiscard]] std::uint8_t lister() const noexcept { return static_cast<std::uint8_t>(passes_.lister() + 1); }
  /// Returns the profile of an image that step `step` has processed.
  [[nodiscard]] ProfileView profile(std::size_t step, std::uint32_t slot, std::uint32_t image) const noexcept {
    return passes_.pass(step)->profile(place(slot, image));
  }
  [[nodiscard]] TableView table(std::size_t step, std::uint32_t slot, std::uint32_t image) const noexcept {
    return passes_.pass(step)->table(place(slot, image));
  }
  /// Accounts for a returned stack in the steps that accumulate, in order, and fills Stack::accumulated. `finished`:
  /// the device has done its work.
  void account(Stack& stack, bool finished) noexcept;
  /// Writes the windows that are open after all stacks have returned into `all`. Waits for the device. Returns the
  /// first error.
  cudaError_t conclude(Accumulated& all) noexcept { return sums_.close_open(all); }

 private:
  void make_sums(std::uint32_t windows_on_device);
  cudaError_t copy_order(std::uint32_t slot, cudaStream_t stream) const noexcept;
  cudaError_t wait_for_words(std::uint32_t slot, cudaStream_t stream) const noexcept;
  void check_device_images() const;
  [[nodiscard]] bool on_device() const noexcept { return layout_.images_in == ImagesIn::device; }
  /// Returns the raw images of the stack in `slot` for the steps.
  [[nodiscard]] const std::byte* raw(std::uint32_t slot) const noexcept;
  cudaError_t copy_in(std::uint32_t slot, cudaStream_t stream) const noexcept;
  cudaError_t compute(std::uint32_t slot, cudaStream_t stream) const noexcept;
  cudaError_t compute_step(std::size_t step, std::uint32_t slot, const kernel::cuda::DeviceStack& stack,
                           cudaStream_t stream) const noexcept;
  cudaError_t make_chunks(std::uint32_t slot, cudaStream_t stream) const noexcept;
  /// Enqueues the exchange of members' counts after the first `steps` steps.
  cudaError_t meet(std::uint32_t slot, std::size_t steps, cudaStream_t stream) const noexcept;
  cudaError_t copy_out(std::uint32_t slot, cudaStream_t stream) const noexcept;
  [[nodiscard]] std::uint32_t place(std::uint32_t slot, std::uint32_t image = 0) const noexcept {
    return static_cast<std::uint32_t>(places_.at(slot, image));
  }
  /// Returns the addresses in the form of DeviceStack::ended.
  [[nodiscard]] std::byte* const* ended(std::size_t step, std::uint32_t bench) const noexcept;
  // Not where chunks are made before delivery, of accepted images only, nor where several devices decide.
  [[nodiscard]] bool settled_on_delivery(std::size_t step) const noexcept {
    return !steps_.output.chunked && !seat_ && step + 1 == steps_.steps.size() && steps_.steps[step].rides.has_value();
  }

  Steps steps_;
  Layout layout_;
  std::optional<Seat> seat_;
  std::optional<Watching> watching_;
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
