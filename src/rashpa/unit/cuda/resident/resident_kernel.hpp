// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "rashpa/kernel/contract/device_pass.hpp"
#include "rashpa/kernel/contract/step.hpp"
#include "rashpa/kernel/jungfrau/jungfrau_cuda.hpp"
#include "rashpa/kernel/veto/rule.hpp"
#include "rashpa/unit/cuda/control.hpp"
#include "rashpa/unit/cuda/resident/resident.hpp"

namespace rashpa::kernel::peakfinder8::cuda {
class Pass;
}

namespace rashpa::unit::cuda {

using kernel::cuda::DeviceFinding;

/// Words of device memory by which the blocks of the resident kernel agree; 0 at start.
struct ResidentState {
  std::uint32_t end = 0;       ///< 1: leave
  std::uint32_t arrivals = 0;  ///< at barriers since the start, all blocks
  std::uint32_t out = 0;       ///< blocks that have delivered their part, since the start
  std::uint32_t told = 0;      ///< tells_first: the last ticket whose decision is on its way
};

/// The counts of an image during its conversion.
struct alignas(16) ResidentCounts {
  std::uint32_t masked = 0;
  std::uint32_t saturated = 0;
  std::uint32_t bright = 0;
  std::uint32_t marked = 0;
};
/// Sets of counts in turn: one in use, one that a block may still read, one that is being cleared.
inline constexpr std::uint32_t kCountSets = 3;

/// The peaks of an image so far.
struct ResidentPeaks {
  double intensity = 0;
  std::uint32_t count = 0;
  std::uint32_t empty = 0;  ///< rings without background
};

/// A step behind the conversion.
struct ResidentStep {
  enum class Kind : std::uint8_t { count, rule, peaks, list };
  Kind kind = Kind::count;
  std::uint8_t number = 0;   ///< in the pipeline
  std::uint32_t column = 0;  ///< the first of its numbers; rule: how many numbers those before it have
  std::uint32_t limits = 0;  ///< count, rule: where they are, in bytes from the beginning of an order
  kernel::CountTap tap{};    ///< count: the limits in hand
  std::uint32_t room = 0;    ///< rule: most operations
  /// rule: the limits in hand, in device memory; `room` of them for each block
  kernel::veto::Operation* operations = nullptr;
};

/// Everything the resident kernel works with. Host memory is pinned; it is read past the caches.
struct ResidentTask {
  kernel::jungfrau::cuda::Tables tables;
  kernel::jungfrau::Output output = kernel::jungfrau::Output::photons;
  kernel::jungfrau::Taps taps{};
  std::uint32_t columns = 0;       ///< scalars of an image
  std::uint32_t first_column = 0;  ///< of jungfrau's
  ResidentStep steps[kResidentSteps];
  std::uint32_t step_count = 0;
  std::uint32_t stack = 0;
  std::uint32_t stacks = 0;
  std::uint32_t watchers = 1;              ///< 1 … kWatchers
  bool even = true;                        ///< watchers ask at even distances
  bool one_block = false;                  ///< watchers and all work in one block
  bool tells_first = false;                ///< findings and host_decided are written before anything else leaves
  Control* control = nullptr;              ///< host
  SlotTrigger* triggers = nullptr;         ///< host, [stacks]
  const std::byte* orders = nullptr;       ///< host, [stacks], order_stride apart: with limits
  std::size_t order_stride = 0;            ///< bytes
  const std::byte* images = nullptr;       ///< host, [stacks][stack], image_stride apart
  std::size_t image_stride = 0;            ///< bytes
  std::byte* out = nullptr;                ///< device, [stack], out_stride apart
  std::byte* host_out = nullptr;           ///< host, [stacks][stack]; null: no pixels leave
  std::size_t out_stride = 0;              ///< bytes, a multiple of 128
  std::uint32_t* index = nullptr;          ///< host, [stacks][stack], list_stride apart; null: no lists
  std::int16_t* value = nullptr;           ///< the same
  std::size_t list_stride = 0;             ///< entries
  std::uint32_t list_capacity = 0;         ///< entries
  DeviceFinding* host_findings = nullptr;  ///< host, [stacks][stack]
  Scalar* host_scalars = nullptr;          ///< host, [stacks][stack][columns]
  Word* host_decided = nullptr;            ///< host, [stacks]: tells_first
  Word* host_done = nullptr;               ///< host, [stacks]
  ResidentClocks* host_clocks = nullptr;   ///< host; null: nobody wants to know
  ResidentCounts* counts = nullptr;        ///< device, [kCountSets][stack], 0
  std::uint32_t* chunks = nullptr;         ///< device, [2][stack][chunks]: marked pixels of each run of 256
  std::uint64_t* go = nullptr;             ///< device, [stacks]: the trigger as it was seen
  ResidentPeaks* peaks = nullptr;          ///< device, [stack]
  std::uint32_t most_peaks = 0;            ///< of an image
  ResidentState* state = nullptr;          ///< device
};

/// Runs of pixels that a warp converts at once.
constexpr std::uint32_t resident_chunks(std::uint32_t pixels) noexcept { return (pixels + 2047) / 2048 * 8; }

/// Returns the most blocks that the kernel has on the current device. Throws ResourceError.
std::uint32_t resident_blocks();

/// Starts the kernel; it ends when Control::abort is not 0. All of its blocks run at once or it is not started.
/// `peaks`: its work for a step of that kind; null: there is none.
cudaError_t start_resident(const ResidentTask& task, const kernel::peakfinder8::cuda::Pass* peaks,
                           cudaStream_t stream) noexcept;

/// Returns true when one block can process images of this kind and number.
bool fits_one_block(const ResidentTask& task) noexcept;
/// The same for those, by one block: no step finds peaks.
cudaError_t start_small(const ResidentTask& task, cudaStream_t stream) noexcept;

}  // namespace rashpa::unit::cuda
