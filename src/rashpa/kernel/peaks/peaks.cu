// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "rashpa/core/frame/results.hpp"
#include "rashpa/kernel/device/early_launch.cuh"
#include "rashpa/kernel/peaks/peaks_cuda.hpp"
#include "rashpa/kernel/peaks/peaks_device.cuh"

namespace rashpa::kernel::cuda {

namespace {

constexpr std::uint32_t kThreads = 128;

/// Puts the rows of an image in order, a thread a peak; the block that is done last adds up its numbers, in the order
/// of rows. `intensities`: [image][most], in that order; `tickets`: [image], 0, as at the end; `table`, `found`: of
/// place 0.
__global__ void __launch_bounds__(kThreads)
    settle_peaks(const DeviceStack stack, const PeakRoom room, const MarkedRings::Seen rings, double* intensities,
                 std::uint32_t* tickets, Scalar* table, std::uint32_t* found, std::uint32_t* too_many) {
  __shared__ std::uint64_t keys[kThreads];
  __shared__ bool last;
  const std::uint32_t image = blockIdx.y;
  wait_for_the_one_before();
  if (stack.work[image] == 0) return;  // cleared below, when all blocks have looked
  const std::uint32_t count = room.counts[image];
  const bool failed = count > room.most;
  double* const of_image = intensities + std::size_t{image} * room.most;
  bool is_last = false;
  // The last block needs the intensities of all: it does not wait until rows are in the host's memory.
  const auto done = [&] {
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) last = atomicAdd(&tickets[image], 1U) + 1 == gridDim.x;
    __syncthreads();
    is_last = last;
  };
  put_in_order<kThreads>(room.entries + std::size_t{image} * room.most, failed ? 0 : count, blockIdx.x, gridDim.x, keys,
                         of_image, table + (std::size_t{stack.place} + image) * room.most * kPeakColumns, done);
  if (!is_last || threadIdx.x >= 32) return;
  __threadfence();
  const double sum = sum_in_order(of_image, failed ? 0 : count);
  const std::uint32_t empty = empty_rings(rings, image);
  if (threadIdx.x != 0) return;
  room.counts[image] = 0;
  tickets[image] = 0;
  found[stack.place + image] = failed ? 0 : count;
  Scalar* const scalars = stack.scalars + image * stack.scalars_stride;
  scalars[0] = Scalar::of_count(count);
  scalars[1] = Scalar::of_real(sum);
  scalars[2] = Scalar::of_count(empty);
  if (!failed) return;
  *too_many = count;
  stack.findings[image].failed = static_cast<std::uint8_t>(stack.step + 1);
  stack.work[image] = 0;
}

}  // namespace

static_assert(sizeof(PeakEntry) + sizeof(double) == kPeakBytesOnCuda);

PeakTable::PeakTable(std::string kernel, const Setup& setup, std::uint32_t most)
    : kernel_(std::move(kernel)),
      places_(setup.places),
      stack_(setup.stack),
      most_(most),
      early_(begins_early(setup.stack)),
      table_(std::size_t{places_} * most * kPeakColumns * sizeof(Scalar)),
      found_((places_ + std::size_t{1}) * sizeof(std::uint32_t)) {
  const std::size_t stack = setup.stack;
  for (std::uint32_t bench = 0; bench < setup.benches; ++bench) {
    entries_.emplace_back(stack * most * sizeof(PeakEntry));
    intensities_.emplace_back(stack * most * sizeof(double));
    counts_.emplace_back(2 * stack * sizeof(std::uint32_t));
  }
}

cudaError_t PeakTable::settle(const DeviceStack& stack, const MarkedRings::Seen& rings, std::uint32_t bench,
                              cudaStream_t stream) const noexcept {
  constexpr std::uint32_t kMostBlocks = 64;
  const std::uint32_t blocks = std::min((most_ + kThreads - 1) / kThreads, kMostBlocks);
  auto* const found = found_.as<std::uint32_t>();
  return launch_early(early_, settle_peaks, dim3(blocks, stack.count), kThreads, 0, stream, stack, room(bench), rings,
                      intensities_[bench].as<double>(), counts_[bench].as<std::uint32_t>() + stack_,
                      table_.as<Scalar>(), found, found + places_);
}

PeakRoom PeakTable::room(std::uint32_t bench) const noexcept {
  return {entries_[bench].as<PeakEntry>(), counts_[bench].as<std::uint32_t>(), most_};
}

PeakTable::Rows PeakTable::rows(std::uint32_t bench) const noexcept {
  auto* const found = found_.as<std::uint32_t>();
  return {intensities_[bench].as<double>(), table_.as<Scalar>(), found, found + places_};
}

TableView PeakTable::table(std::uint32_t place) const noexcept {
  return {table_.as<Scalar>() + std::size_t{place} * most_ * kPeakColumns, found_.as<std::uint32_t>()[place]};
}

std::string PeakTable::failure() const {
  const std::uint32_t found = static_cast<const volatile std::uint32_t*>(found_.as<std::uint32_t>())[places_];
  if (found == 0) return {};
  return "kernel " + kernel_ + ": " + std::to_string(found) + " peaks are found in an image, and its table holds " +
         std::to_string(most_) + "; set a larger max_peaks";
}

}  // namespace rashpa::kernel::cuda
