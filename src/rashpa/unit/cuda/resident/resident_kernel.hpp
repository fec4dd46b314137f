// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "rashpa/core/frame/last_word.hpp"
#include "rashpa/kernel/contract/device_pass.hpp"
#include "rashpa/kernel/contract/step.hpp"
#include "rashpa/kernel/jungfrau/jungfrau_cuda.hpp"
#include "rashpa/kernel/veto/rule.hpp"
#include "rashpa/unit/cuda/control.hpp"
#include "rashpa/unit/cuda/resident/resident.hpp"
#include "rashpa/unit/cuda/word/begun.hpp"

namespace rashpa::kernel::peakfinder8::cuda {
class Pass;
}

namespace rashpa::unit::cuda {

using kernel::cuda::DeviceFinding;

/// The device words by which the blocks of the resident kernel synchronise; 0 at start.
struct ResidentState {
  std::uint32_t end = 0;       ///< 1: all blocks end
  std::uint32_t arrivals = 0;  ///< arrivals at barriers since the start, over all blocks
  std::uint32_t out = 0;       ///< number of blocks that have delivered their part, since the start
  std::uint32_t told = 0;      ///< with tells_first: the last ticket whose decision is on its way
};

/// The counts of an image during its conversion.
struct alignas(16) ResidentCounts {
  std::uint32_t masked = 0;
  std::uint32_t saturated = 0;
  std::uint32_t bright = 0;
  std::uint32_t marked = 0;
};
/// The number of sets of counts, used in turn: one in use, one that a block may still read, one being cleared.
inline constexpr std::uint32_t kCountSets = 3;

/// The peaks of an image so far.
struct ResidentPeaks {
  double intensity = 0;
  std::uint32_t count = 0;
  std::uint32_t empty = 0;  ///< number of rings without background
};

/// A step after the conversion.
struct ResidentStep {
  enum class Kind : std::uint8_t { count, rule, peaks, list };
  Kind kind = Kind::count;
  std::uint8_t number = 0;   ///< number in the pipeline
  std::uint32_t column = 0;  ///< the first of its columns; for a rule: the number of columns of earlier steps
  std::uint32_t limits = 0;  ///< for count and rule: offset of its limits in an order, in bytes
  kernel::CountTap tap{};    ///< for count: the present limits
  std::uint32_t room = 0;    ///< for rule: the most operations
  /// The present limits of a rule in device memory; `room` operations for each block.
  kernel::veto::Operation* operations = nullptr;
};

/// The parameters of the resident kernel. Host memory is pinned, and read past the caches.
struct ResidentTask {
  kernel::jungfrau::cuda::Tables tables;
  kernel::jungfrau::Output output = kernel::jungfrau::Output::photons;
  kernel::jungfrau::Taps taps{};
  std::uint32_t columns = 0;       ///< scalars of an image
  std::uint32_t first_column = 0;  ///< first column of jungfrau
  ResidentStep steps[kResidentSteps];
  std::uint32_t step_count = 0;
  std::uint32_t stack = 0;
  std::uint32_t stacks = 0;
  std::uint32_t watchers = 1;       ///< 1 … kWatchers
  std::uint32_t word_watchers = 0;  ///< warps that poll for last words; with watchers up to kWatchers
  const LastWord* words = nullptr;  ///< in device memory, [dtps]
  std::uint32_t dtps = 0;
  Start* starts = nullptr;                 ///< in host memory, [stacks]; null: the host does not ask why stacks began
  bool even = true;                        ///< polling threads read at even intervals
  bool one_block = false;                  ///< polling threads and all work in one block
  bool tells_first = false;                ///< findings and host_decided are written before any other result
  Control* control = nullptr;              ///< in host memory
  SlotTrigger* triggers = nullptr;         ///< in host memory, [stacks]
  const std::byte* orders = nullptr;       ///< in host memory, [stacks], order_stride apart, with limits
  std::size_t order_stride = 0;            ///< bytes
  const std::byte* images = nullptr;       ///< in host memory, [stacks][stack], image_stride apart
  std::size_t image_stride = 0;            ///< bytes
  std::byte* out = nullptr;                ///< in device memory, [stack], out_stride apart
  std::byte* host_out = nullptr;           ///< in host memory, [stacks][stack]; null: no pixels leave
  std::size_t out_stride = 0;              ///< bytes, a multiple of 128
  std::uint32_t* index = nullptr;          ///< in host memory, [stacks][stack], list_stride apart; null: no lists
  std::int16_t* value = nullptr;           ///< in host memory, [stacks][stack], list_stride apart
  std::size_t list_stride = 0;             ///< entries
  std::uint32_t list_capacity = 0;         ///< entries
  DeviceFinding* host_findings = nullptr;  ///< in host memory, [stacks][stack]
  Scalar* host_scalars = nullptr;          ///< in host memory, [stacks][stack][columns]
  Word* host_decided = nullptr;            ///< in host memory, [stacks]; for tells_first
  Word* host_done = nullptr;               ///< in host memory, [stacks]
  ResidentClocks* host_clocks = nullptr;   ///< in host memory; null: not recorded
  ResidentCounts* counts = nullptr;        ///< in device memory, [kCountSets][stack], 0
  std::uint32_t* chunks = nullptr;         ///< in device memory, [2][stack][chunks]: marked pixels of each run of 256
  std::uint64_t* go = nullptr;             ///< in device memory, [stacks]: the trigger as it was read
  ResidentPeaks* peaks = nullptr;          ///< in device memory, [stack]
  std::uint32_t most_peaks = 0;            ///< most peaks of an image
  ResidentState* state = nullptr;          ///< in device memory
};

/// Returns the number of runs of pixels, each converted by a warp at once.
constexpr std::uint32_t resident_chunks(std::uint32_t pixels) noexcept { return (pixels + 2047) / 2048 * 8; }

/// Returns the most blocks that the kernel can have on the current device. Throws ResourceError.
std::uint32_t resident_blocks();

/// Starts the kernel, which ends when Control::abort is not 0. It starts only if all its blocks can run at once.
/// `peaks` has the work of a peak-finding step; null: there is none.
cudaError_t start_resident(const ResidentTask& task, const kernel::peakfinder8::cuda::Pass* peaks,
                           cudaStream_t stream) noexcept;

/// Returns true when one block can process images of this kind and number.
bool fits_one_block(const ResidentTask& task) noexcept;
/// Starts the kernel with one block, where fits_one_block() is true and no step finds peaks.
cudaError_t start_small(const ResidentTask& task, cudaStream_t stream) noexcept;

}  // namespace rashpa::unit::cuda
