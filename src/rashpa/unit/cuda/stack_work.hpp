#pragma once
#include <cuda_runtime_api.h>

#include <array>
#include <cstdint>
#include <vector>

#include "rashpa/kernel/jungfrau/jungfrau_cuda.hpp"
#include "rashpa/memory/cuda/resources.hpp"
#include "rashpa/unit/cuda/control.hpp"
#include "rashpa/unit/steps.hpp"

namespace rashpa::unit::cuda {

using memory::cuda::check;
using memory::cuda::DeviceMemory;
using memory::cuda::DeviceScope;
using memory::cuda::Graph;
using memory::cuda::PinnedMemory;
using memory::cuda::Pinning;
using memory::cuda::Stream;

/// Events for a timeline: before the copy in, behind it, behind decision and lists, behind delivery.
using Stages = std::array<cudaEvent_t, 4>;

/// Raw images: copied to the device, or read where they are, by a resident kernel; enqueue() needs the copies.
enum class Input : std::uint8_t { copied, in_place };

/// All memory of a unit, and the steps of one stack put into a stream: order and images in, conversion with taps,
/// decision, compaction, accepted images out, ticket. No step needs the host. Used by one thread at a time.
class StackWork {
 public:
  /// `benches`: stacks in flight on the device, each with memory of its own; the stack in slot s uses bench s mod
  /// benches.
  StackWork(const Steps& steps, const Layout& layout, std::uint32_t benches, Input input = Input::copied);

  /// Of the stack in `slot`; all addresses are fixed, so that this can be captured once. `stages`, when given, are
  /// recorded before and behind the three stages. Returns the first error.
  cudaError_t enqueue(std::uint32_t slot, cudaStream_t stream, const Stages* stages = nullptr) const noexcept;

  [[nodiscard]] std::uint32_t bench_of(std::uint32_t slot) const noexcept { return slot % benches_; }
  [[nodiscard]] std::uint32_t stack() const noexcept { return layout_.stack; }
  [[nodiscard]] std::uint32_t benches() const noexcept { return benches_; }
  [[nodiscard]] Order& order(std::uint32_t slot) const noexcept;
  /// Written by the device when everything of the stack is in host memory.
  [[nodiscard]] std::uint32_t done(std::uint32_t slot) const noexcept;
  [[nodiscard]] const Outcome* outcomes(std::uint32_t slot) const noexcept;
  /// Where accepted images and lists are, in pinned host memory.
  [[nodiscard]] const std::byte* pixels(std::uint32_t slot, std::uint32_t image) const noexcept;
  [[nodiscard]] const std::uint32_t* list_index(std::uint32_t slot, std::uint32_t image) const noexcept;
  [[nodiscard]] const std::int16_t* list_value(std::uint32_t slot, std::uint32_t image) const noexcept;
  [[nodiscard]] Control& control() const noexcept { return *control_.as<Control>(); }

 private:
  friend class Resident;  // runs the same steps in a kernel of its own
  cudaError_t copy_in(std::uint32_t slot, cudaStream_t stream) const noexcept;
  cudaError_t compute(std::uint32_t slot, cudaStream_t stream) const noexcept;
  cudaError_t copy_out(std::uint32_t slot, cudaStream_t stream) const noexcept;
  struct Bench {
    Bench(const StackWork& work, Input input);
    DeviceMemory order, raw, out, marks, counts, accepted, outcomes, entries, scratch, blocks_done;
  };
  [[nodiscard]] std::size_t place(std::uint32_t slot, std::uint32_t image = 0) const noexcept {
    return std::size_t{slot} * layout_.stack + image;
  }

  Steps steps_;  // its pointer to the conversion is not used after the constructor
  Layout layout_;
  std::uint32_t benches_;
  std::uint32_t pixels_;
  std::size_t out_pixels_ = 0;   // from one output image to the next
  std::size_t out_bytes_ = 0;    // the same, in bytes
  std::size_t mark_words_ = 0;   // from one image's marks to the next's
  std::size_t list_stride_ = 0;  // entries
  Pinning pinning_;
  kernel::jungfrau::cuda::Calibration calibration_;
  PinnedMemory control_, triggers_, orders_, done_, outcomes_, images_, index_, value_;
  std::vector<Bench> bench_;
};

}  // namespace rashpa::unit::cuda
