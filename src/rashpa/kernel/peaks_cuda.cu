// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "rashpa/core/results.hpp"
#include "rashpa/kernel/peak_room.cuh"
#include "rashpa/kernel/peaks_cuda.hpp"

namespace rashpa::kernel::cuda {

namespace {

constexpr unsigned kColumns = 7;
constexpr unsigned kAll = ~0U;

/// Puts the rows of an image in order: a thread a peak. `intensities`: [image][most], in that order; `table`: of
/// place 0.
__global__ void put_in_order(const DeviceStack stack, const PeakRoom room, double* intensities, Scalar* table) {
  const std::uint32_t image = blockIdx.y;
  if (stack.work[image] == 0) return;
  const std::uint32_t count = room.counts[image];
  if (count > room.most) return;
  const PeakEntry* const entries = room.entries + std::size_t{image} * room.most;
  for (std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    const std::uint64_t key = entries[i].key;
    std::uint32_t rank = 0;
    for (std::uint32_t other = 0; other < count; ++other) rank += entries[other].key < key ? 1 : 0;
    const Peak& peak = entries[i].peak;
    intensities[std::size_t{image} * room.most + rank] = peak.intensity;
    Scalar* const row = table + ((std::size_t{stack.place} + image) * room.most + rank) * kColumns;
    row[0] = Scalar::of_real(peak.x);
    row[1] = Scalar::of_real(peak.y);
    row[2] = Scalar::of_real(peak.intensity);
    row[3] = Scalar::of_real(peak.snr);
    row[4] = Scalar::of_count(peak.pixels);
    row[5] = Scalar::of_real(peak.largest);
    row[6] = Scalar::of_real(peak.background);
  }
}

/// A warp an image: its numbers, summed in the order of rows. `found`: of place 0.
__global__ void finish(const DeviceStack stack, const PeakRoom room, const double* intensities, std::uint32_t* found,
                       std::uint32_t* too_many) {
  const std::uint32_t image = blockIdx.x;
  if (stack.work[image] == 0) return;
  const std::uint32_t count = room.counts[image];
  const bool failed = count > room.most;
  const double* const of_image = intensities + std::size_t{image} * room.most;
  double sum = 0;
  for (std::uint32_t first = 0; first < count && !failed; first += 32) {
    const std::uint32_t here = min(count - first, 32U);
    const double mine = threadIdx.x < here ? of_image[first + threadIdx.x] : 0;
    for (std::uint32_t k = 0; k < here; ++k) sum += __shfl_sync(kAll, mine, static_cast<int>(k));
  }
  if (threadIdx.x != 0) return;
  found[stack.place + image] = failed ? 0 : count;
  Scalar* const scalars = stack.scalars + image * stack.scalars_stride;
  scalars[0] = Scalar::of_count(count);
  scalars[1] = Scalar::of_real(sum);
  if (!failed) return;
  *too_many = count;
  stack.findings[image].failed = static_cast<std::uint8_t>(stack.step + 1);
  stack.work[image] = 0;
}

}  // namespace

PeakTable::PeakTable(std::string kernel, const Setup& setup, std::uint32_t most)
    : kernel_(std::move(kernel)),
      places_(setup.places),
      most_(most),
      table_(std::size_t{places_} * most * kColumns * sizeof(Scalar)),
      found_((places_ + std::size_t{1}) * sizeof(std::uint32_t)) {
  const std::size_t stack = setup.stack;
  for (std::uint32_t bench = 0; bench < setup.benches; ++bench) {
    entries_.emplace_back(stack * most * sizeof(PeakEntry));
    intensities_.emplace_back(stack * most * sizeof(double));
    counts_.emplace_back(stack * sizeof(std::uint32_t));
  }
}

cudaError_t PeakTable::begin(const DeviceStack& stack, std::uint32_t bench, cudaStream_t stream) const noexcept {
  return cudaMemsetAsync(counts_[bench].as<void>(), 0, stack.count * sizeof(std::uint32_t), stream);
}

cudaError_t PeakTable::settle(const DeviceStack& stack, std::uint32_t bench, cudaStream_t stream) const noexcept {
  constexpr std::uint32_t kThreads = 128, kMostBlocks = 64;
  const std::uint32_t blocks = std::min((most_ + kThreads - 1) / kThreads, kMostBlocks);
  auto* const intensities = intensities_[bench].as<double>();
  put_in_order<<<dim3(blocks, stack.count), kThreads, 0, stream>>>(stack, room(bench), intensities,
                                                                   table_.as<Scalar>());
  auto* const found = found_.as<std::uint32_t>();
  finish<<<stack.count, 32, 0, stream>>>(stack, room(bench), intensities, found, found + places_);
  return cudaGetLastError();
}

PeakRoom PeakTable::room(std::uint32_t bench) const noexcept {
  return {entries_[bench].as<PeakEntry>(), counts_[bench].as<std::uint32_t>(), most_};
}

TableView PeakTable::table(std::uint32_t place) const noexcept {
  return {table_.as<Scalar>() + std::size_t{place} * most_ * kColumns, found_.as<std::uint32_t>()[place]};
}

std::string PeakTable::failure() const {
  const std::uint32_t found = static_cast<const volatile std::uint32_t*>(found_.as<std::uint32_t>())[places_];
  if (found == 0) return {};
  return "kernel " + kernel_ + ": " + std::to_string(found) + " peaks are found in an image, and its table holds " +
         std::to_string(most_) + "; set a larger max_peaks";
}

}  // namespace rashpa::kernel::cuda
