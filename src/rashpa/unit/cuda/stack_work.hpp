// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cuda_runtime_api.h>

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "rashpa/kernel/bitshuffle_lz4/bitshuffle_lz4_cuda.hpp"
#include "rashpa/kernel/contract/device_pass.hpp"
#include "rashpa/memory/cuda/resources.hpp"
#include "rashpa/unit/cuda/control.hpp"
#include "rashpa/unit/cuda/joint/joint.hpp"
#include "rashpa/unit/cuda/streams/stage_kernels.hpp"
#include "rashpa/unit/steps.hpp"
#include "rashpa/unit/windows.hpp"

namespace rashpa::unit::cuda {

using memory::cuda::check;
using memory::cuda::DeviceMemory;
using memory::cuda::DeviceScope;
using memory::cuda::Graph;
using memory::cuda::PinnedMemory;
using memory::cuda::Pinning;
using memory::cuda::Stream;

/// Events for a timeline: before the copy in, behind it, behind the steps, behind delivery.
using Stages = std::array<cudaEvent_t, 4>;

/// Raw images of a ring in host memory: copied to the device, or read where they are, by a resident kernel; enqueue()
/// needs the copies. Those of a ring in the device's memory are always read where they are.
enum class Input : std::uint8_t { copied, in_place };

/// Throws ConfigError where unit cuda cannot do a step, or not read the images.
void check_fit(const Steps& steps, const Layout& layout);

/// All memory of a unit, and the steps of one stack put into a stream: order and images in, the pipeline's passes,
/// accepted images out, ticket. No step needs the host. Used by one thread at a time.
class StackWork {
 public:
  /// `benches`: stacks in flight on the device, each with memory of its own; the stack in slot s uses bench s mod
  /// benches. `windows_on_device`: as in Choice. `seat`: images are strips of those of a Joint, whose other members do
  /// the rest. Throws ConfigError when a kernel has no version for CUDA.
  StackWork(const Steps& steps, const Layout& layout, std::uint32_t benches, Input input = Input::copied,
            std::uint32_t windows_on_device = 0, const std::optional<Seat>& seat = std::nullopt);

  /// Of the stack in `slot`; all addresses are fixed, so that this can be captured once. `stages`, when given, are
  /// recorded before and behind the three stages. Returns the first error.
  cudaError_t enqueue(std::uint32_t slot, cudaStream_t stream, const Stages* stages = nullptr) const noexcept;
  /// The same of a stack of which no image is to be processed, as its order says now: the images stay where they are.
  cudaError_t enqueue_without_images(std::uint32_t slot, cudaStream_t stream) const noexcept;
  [[nodiscard]] bool any_to_process(std::uint32_t slot) const noexcept;

  [[nodiscard]] std::uint32_t bench_of(std::uint32_t slot) const noexcept { return slot % benches_; }
  [[nodiscard]] std::uint32_t stack() const noexcept { return layout_.stack; }
  [[nodiscard]] std::uint32_t benches() const noexcept { return benches_; }
  [[nodiscard]] Order& order(std::uint32_t slot) const noexcept;
  /// Written by the device when everything of the stack is in host memory.
  [[nodiscard]] std::uint32_t done(std::uint32_t slot) const noexcept;
  /// Trigger persistent: written when findings and scalars are there; pixels and lists may follow.
  [[nodiscard]] std::uint32_t decided(std::uint32_t slot) const noexcept;
  /// In pinned host memory: results, accepted images and lists.
  [[nodiscard]] const DeviceFinding& finding(std::uint32_t slot, std::uint32_t image) const noexcept;
  [[nodiscard]] const Scalar* scalars(std::uint32_t slot, std::uint32_t image) const noexcept;
  [[nodiscard]] const std::byte* pixels(std::uint32_t slot, std::uint32_t image) const noexcept;
  [[nodiscard]] kernel::cuda::HostList list(std::uint32_t slot, std::uint32_t image) const noexcept;
  /// Of an accepted image, where the output is chunked.
  [[nodiscard]] std::span<const std::byte> chunk(std::uint32_t slot, std::uint32_t image) const noexcept;
  /// Before the stack in `slot` is submitted, for each image that will be processed.
  void prepare(std::uint32_t slot, std::uint32_t number, const StackImage& image) const noexcept;
  /// The remarks of steps on how they work.
  [[nodiscard]] std::vector<std::string> words() const;
  /// Before the stack is submitted: which windows end with it, into its order.
  void order_windows(const Stack& stack) const noexcept;
  /// As Unit::notice().
  [[nodiscard]] std::string notice() const;
  /// As Unit::failure().
  [[nodiscard]] std::string failure(std::uint8_t failed_in) const;
  /// As DeviceFinding::failed: the step that makes lists.
  [[nodiscard]] std::uint8_t lister() const noexcept { return static_cast<std::uint8_t>(lister_ + 1); }
  /// Whether step `step` and those before it have kept the image.
  [[nodiscard]] bool got_past(std::size_t step, const DeviceFinding& finding) const noexcept;
  /// Of an image that step `step` has worked on.
  [[nodiscard]] ProfileView profile(std::size_t step, std::uint32_t slot, std::uint32_t image) const noexcept;
  [[nodiscard]] TableView table(std::size_t step, std::uint32_t slot, std::uint32_t image) const noexcept;
  /// The sums of a stack that has come back, by the steps that accumulate, stacks in order; `finished`: the device has
  /// done its work. Fills Stack::accumulated.
  void account(Stack& stack, bool finished) noexcept;
  /// The windows that are open when all stacks have come back, into `all`. Waits for the device. Returns the first
  /// error.
  cudaError_t conclude(Accumulated& all) noexcept;
  [[nodiscard]] Control& control() const noexcept { return *control_.as<Control>(); }

 private:
  friend class Resident;  // runs the same steps in a kernel of its own
  struct Bench {
    Bench(const StackWork& work, Input input);
    DeviceMemory order, raw, marks, findings, scalars, blocks_done;
    std::vector<DeviceMemory> made;                                  // by step: the pixels that it makes
    std::unique_ptr<kernel::bitshuffle_lz4::cuda::Encoder> encoder;  // null: pixels leave as they are, or none do
  };
  void make_passes(std::uint32_t windows_on_device);
  void make_windows(const PlannedStep& step, bool on_device);
  cudaError_t copy_order(std::uint32_t slot, cudaStream_t stream) const noexcept;
  void check_device_images() const;
  [[nodiscard]] bool on_device() const noexcept { return layout_.images_in == ImagesIn::device; }
  /// Where the steps find the raw images of the stack in `slot`.
  [[nodiscard]] const std::byte* raw(std::uint32_t slot) const noexcept;
  cudaError_t copy_in(std::uint32_t slot, cudaStream_t stream) const noexcept;
  cudaError_t compute(std::uint32_t slot, cudaStream_t stream) const noexcept;
  cudaError_t make_chunks(std::uint32_t slot, cudaStream_t stream) const noexcept;
  /// The counts that members exchange when `steps` steps are done.
  cudaError_t meet(std::uint32_t slot, std::size_t steps, cudaStream_t stream) const noexcept;
  cudaError_t copy_out(std::uint32_t slot, cudaStream_t stream) const noexcept;
  [[nodiscard]] std::size_t place(std::uint32_t slot, std::uint32_t image = 0) const noexcept {
    return std::size_t{slot} * layout_.stack + image;
  }
  /// As DeviceStack::ended.
  [[nodiscard]] std::byte* const* ended(std::size_t step, const Bench& bench) const noexcept;
  [[nodiscard]] std::size_t made_stride(std::size_t step) const noexcept;
  /// Where images of place 0 leave to.
  [[nodiscard]] std::byte* host_images() const noexcept {
    return seat_ ? seat_->joint->images() + seat_->first_byte : images_.as<std::byte>();
  }
  // Not where chunks are made before delivery, of accepted images only, nor where several devices decide.
  [[nodiscard]] bool settled_on_delivery(std::size_t step) const noexcept {
    return !steps_.output.chunked && !seat_ && step + 1 == steps_.steps.size() && steps_.steps[step].rides.has_value();
  }

  Steps steps_;
  Layout layout_;
  std::optional<Seat> seat_;
  std::uint32_t benches_;
  int device_ = 0;
  std::size_t mark_words_ = 0;  // from one image's marks to the next's
  std::size_t raw_stride_ = 0;  // bytes from one raw image on the device to the next
  std::size_t out_bytes_ = 0;   // from one image in host memory to the next
  std::size_t chunk_room_ = 0;  // from one image's chunk in host memory to the next; 0: none are made
  std::uint32_t columns_;
  bool passed_on_ = false;  // pixels that leave are those of the slot: nobody has made any
  std::optional<Pinning> pinning_;
  PinnedMemory control_, triggers_, orders_, decided_, done_, findings_, scalars_, images_, chunks_, chunk_bytes_;
  std::vector<std::unique_ptr<kernel::cuda::DevicePass>> passes_;  // by step; null: it rides
  std::size_t lister_ = 0;                                         // steps_.steps.size(): none makes lists
  std::vector<kernel::cuda::Preparing*> preparing_;                // those of them that prepare images
  /// A step that adds up, by accumulation, with its pass as either of both.
  struct Adder {
    std::size_t step = 0;
    kernel::cuda::HostAdding* on_host = nullptr;
    const kernel::cuda::DeviceAdding* on_device = nullptr;
  };
  std::vector<Adder> adders_;
  std::vector<Windows> windows_;              // by accumulation
  std::vector<DeviceMemory> device_windows_;  // of those that stay there
  std::deque<Pinning> window_pinnings_;       // of others that the device writes
  std::optional<std::size_t> first_in_turn_;  // the first step that does one stack at a time
  std::size_t last_in_turn_ = 0;              // and the last one
  DeviceMemory turn_{sizeof(std::uint32_t)};
  std::vector<Bench> bench_;
};

}  // namespace rashpa::unit::cuda
