// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <vector>

#include "rashpa/kernel/jungfrau/constants.hpp"
#include "rashpa/kernel/jungfrau/tracking/tracking_cuda.hpp"

namespace rashpa::kernel::jungfrau::cuda {

namespace {

using kernel::cuda::DeviceStack;
using memory::cuda::check;

constexpr unsigned kThreads = 256;
constexpr unsigned kBins = kDriftBins;
constexpr unsigned kEach = kBins / kThreads;
constexpr std::uint32_t kThreadPixels = 8;
constexpr std::uint32_t kLookers = 64;  // blocks that look at a part of the image each
constexpr std::uint32_t kNoImage = ~0U;

// Whether an image is followed.
constexpr std::uint8_t kNotFollowed = 0;
constexpr std::uint8_t kFollowed = 1;
constexpr std::uint8_t kFollowedWhereEmpty = 2;

/// Sums of all threads up to and with each, by one block.
__device__ std::uint32_t scan(std::uint32_t mine, std::uint32_t (&room)[kThreads]) {
  room[threadIdx.x] = mine;
  __syncthreads();
  for (unsigned offset = 1; offset < kThreads; offset *= 2) {
    const std::uint32_t before = threadIdx.x >= offset ? room[threadIdx.x - offset] : 0;
    __syncthreads();
    room[threadIdx.x] += before;
    __syncthreads();
  }
  return room[threadIdx.x];
}

/// The bin of the median, by one block. The first bin up to which there are half of the pixels is in one thread's part.
__device__ void settle_look(TrackerState& state, const std::uint32_t* bins, std::uint32_t (&room)[kThreads]) {
  std::uint32_t mine = 0;
  for (unsigned bin = threadIdx.x * kEach; bin < (threadIdx.x + 1) * kEach; ++bin) mine += bins[bin];
  const std::uint64_t with_mine = scan(mine, room);
  const std::uint64_t all = room[kThreads - 1];
  std::uint64_t below = with_mine - mine;
  if (all == 0 ? threadIdx.x == 0 : 2 * below < all && 2 * with_mine >= all) {
    std::uint32_t middle = threadIdx.x * kEach;
    for (; 2 * (below + bins[middle]) < all; ++middle) below += bins[middle];
    state.looked = middle + 1;
    state.worst_looked = __uint_as_float(state.worst);
  }
  __syncthreads();
}

/// One block.
__global__ void begin_tracking(TrackerState* tracker, std::uint32_t* bins, const DeviceStack stack, const SetImages of,
                               const Following how, std::uint8_t* followed, volatile double* alarmed) {
  __shared__ std::uint32_t room[kThreads];
  __shared__ std::uint32_t in_hand, first, any, looking;
  if (threadIdx.x == 0) {
    in_hand = any = looking = 0;
    first = kNoImage;
  }
  __syncthreads();
  for (std::uint32_t i = threadIdx.x; i < stack.count; i += kThreads) {
    const bool works = stack.work[i] != 0 && (of.sets == nullptr || of.sets[i] == of.set);
    const bool dark = works && stack.dark != nullptr && stack.dark[i] != 0;
    const bool other = works && !dark && how.where_empty;
    followed[i] = dark ? kFollowed : other && how.every ? kFollowedWhereEmpty : kNotFollowed;
    if (works) any = 1;
    if (followed[i] != kNotFollowed) atomicAdd(&in_hand, 1U);
    if (dark && how.learned_only) stack.work[i] = 0;
    if (other && !how.every) atomicMin(&first, i);
  }
  __syncthreads();
  if (any == 0) {
    if (threadIdx.x == 0) tracker->begun = 0;
    return;
  }
  if (tracker->looking != 0) settle_look(*tracker, bins, room);
  if (threadIdx.x == 0) {
    if (first != kNoImage) {  // one image a stack
      followed[first] = kFollowedWhereEmpty;
      in_hand += 1;
    }
    tracker->begun = 1;
    tracker->followed += tracker->in_hand;
    tracker->in_hand = in_hand;
    looking = tracker->followed >= tracker->next_look ? 1 : 0;
    tracker->looking = looking;
    if (looking != 0) {
      tracker->next_look = tracker->followed + how.between_looks;
      tracker->worst = 0;
    }
    if (how.alarm > 0 && tracker->looked != 0) {
      const double median = drift_of(tracker->looked - 1, 0).median;
      if (median >= how.alarm) *alarmed = median;
    }
  }
  __syncthreads();
  if (looking == 0) return;
  for (unsigned bin = threadIdx.x; bin < kBins; bin += kThreads) bins[bin] = 0;
}

/// Eight pixels a thread, through images [begin, end) of the stack that are followed.
__global__ void __launch_bounds__(kThreads)
    follow_pixels(const TrackerState* tracker, const DeviceStack stack, const Following how,
                  const std::uint8_t* followed, float* pedestals, float* variances, std::uint32_t pixels,
                  std::uint32_t begin, std::uint32_t end) {
  if (end == begin + 1 && followed[begin] == kNotFollowed) return;
  if (tracker->begun == 0 || tracker->in_hand == 0) return;
  const std::uint32_t first = (blockIdx.x * kThreads + threadIdx.x) * kThreadPixels;
  if (first >= pixels) return;
  auto* const at_pedestals = reinterpret_cast<float4*>(pedestals + first);
  auto* const at_variances = reinterpret_cast<float4*>(variances + first);
  const float4 p[2] = {at_pedestals[0], at_pedestals[1]};
  const float4 v[2] = {at_variances[0], at_variances[1]};
  float pedestal[kThreadPixels] = {p[0].x, p[0].y, p[0].z, p[0].w, p[1].x, p[1].y, p[1].z, p[1].w};
  float variance[kThreadPixels] = {v[0].x, v[0].y, v[0].z, v[0].w, v[1].x, v[1].y, v[1].z, v[1].w};
  const float left = __fsub_rn(1.0F, how.inverse);
  for (std::uint32_t i = begin; i < end; ++i) {
    if (followed[i] == kNotFollowed) continue;
    const bool where_empty = followed[i] == kFollowedWhereEmpty;
    const auto* const raw = reinterpret_cast<const std::uint16_t*>(stack.in + i * stack.in_stride);
    const uint4 words = __ldcs(reinterpret_cast<const uint4*>(raw + first));
    const std::uint32_t pairs[4] = {words.x, words.y, words.z, words.w};
#pragma unroll
    for (unsigned k = 0; k < kThreadPixels; ++k) {
      const std::uint32_t word = pairs[k / 2] >> (k % 2 * 16) & 0xFFFFU;
      const float far = __fsub_rn(static_cast<float>(word), pedestal[k]);
      const float square = __fmul_rn(far, far);
      // A pixel without calibration has a pedestal beyond all, or none.
      bool taken = word <= kAduMask && pedestal[k] < kMaskedAbove;
      if (where_empty) taken = taken && square <= __fmul_rn(how.square_limit, variance[k]);
      if (!taken) continue;
      pedestal[k] = __fadd_rn(pedestal[k], __fmul_rn(far, how.inverse));
      if (!where_empty) variance[k] = __fmul_rn(__fadd_rn(variance[k], __fmul_rn(square, how.inverse)), left);
    }
  }
  at_pedestals[0] = {pedestal[0], pedestal[1], pedestal[2], pedestal[3]};
  at_pedestals[1] = {pedestal[4], pedestal[5], pedestal[6], pedestal[7]};
  at_variances[0] = {variance[0], variance[1], variance[2], variance[3]};
  at_variances[1] = {variance[4], variance[5], variance[6], variance[7]};
}

/// Measures how far pedestals are from their start, after the last pixel of a stack; each block takes a part of the
/// image.
__global__ void __launch_bounds__(kThreads) look(TrackerState* tracker, std::uint32_t* bins, const float* pedestals,
                                                 const float* start, const float* inverse_sigma, std::uint32_t pixels) {
  if (tracker->begun == 0 || tracker->looking == 0) return;
  __shared__ std::uint32_t mine[kBins];
  for (unsigned bin = threadIdx.x; bin < kBins; bin += kThreads) mine[bin] = 0;
  __syncthreads();
  float worst = 0;
  for (std::uint32_t pixel = blockIdx.x * kThreads + threadIdx.x; pixel < pixels; pixel += gridDim.x * kThreads) {
    const float per_sigma = inverse_sigma[pixel];
    if (per_sigma == 0) continue;
    const float far = __fmul_rn(fabsf(__fsub_rn(pedestals[pixel], start[pixel])), per_sigma);
    worst = fmaxf(worst, far);
    const float bin = fminf(__fmul_rn(far, kBinsPerSigma), static_cast<float>(kBins - 1));
    atomicAdd(&mine[static_cast<std::uint32_t>(bin)], 1U);
  }
  // Of numbers that are not negative, the bits are in the same order.
  const std::uint32_t farthest = __reduce_max_sync(~0U, __float_as_uint(worst));
  if (threadIdx.x % 32 == 0) atomicMax(&tracker->worst, farthest);
  __syncthreads();
  for (unsigned bin = threadIdx.x; bin < kBins; bin += kThreads) {
    if (mine[bin] != 0) atomicAdd(&bins[bin], mine[bin]);
  }
}

void send(const std::vector<float>& values, const memory::cuda::DeviceMemory& to) {
  check(cudaMemcpy(to.as<float>(), values.data(), values.size() * sizeof(float), cudaMemcpyHostToDevice),
        "copy what is known of pedestals to the device");
}

std::size_t padded(const Prepared& calibration) { return (calibration.pixels() + kGroup - 1) / kGroup * kGroup; }

}  // namespace

DeviceTracker::DeviceTracker(const Config& config, const Prepared& calibration, const Setup& setup)
    : how_{.inverse = 1.0F / static_cast<float>(config.tracking.images),
           .square_limit = static_cast<float>(config.tracking.sigma) * static_cast<float>(config.tracking.sigma),
           .where_empty = config.tracking.where_empty(),
           .every = config.tracking.from == Tracking::From::every,
           .learned_only = setup.only_learned,
           .between_looks = static_cast<std::uint32_t>(images_between_looks(config.tracking)),
           .alarm = config.tracking.alarm},
      pixels_(static_cast<std::uint32_t>(calibration.pixels())),
      state_(sizeof(TrackerState)),
      bins_(kBins * sizeof(std::uint32_t)),
      followed_(setup.stack),
      variances_(padded(calibration) * sizeof(float)),
      start_(padded(calibration) * sizeof(float)),
      inverse_sigma_(padded(calibration) * sizeof(float)),
      alarmed_(sizeof(double)) {
  const AtStart known(config, calibration);
  send(known.variance, variances_);
  send(known.pedestal, start_);
  send(known.inverse_sigma, inverse_sigma_);
}

cudaError_t DeviceTracker::begin(const DeviceStack& stack, const SetImages& of, cudaStream_t stream) const noexcept {
  begin_tracking<<<1, kThreads, 0, stream>>>(state_.as<TrackerState>(), bins_.as<std::uint32_t>(), stack, of, how_,
                                             followed_.as<std::uint8_t>(), alarmed_.as<double>());
  return cudaPeekAtLastError();
}

cudaError_t DeviceTracker::follow(const DeviceStack& stack, std::uint32_t first, std::uint32_t last, float* pedestals,
                                  cudaStream_t stream) const noexcept {
  constexpr std::uint32_t kTile = kThreads * kThreadPixels;
  follow_pixels<<<(pixels_ + kTile - 1) / kTile, kThreads, 0, stream>>>(state_.as<TrackerState>(), stack, how_,
                                                                        followed_.as<std::uint8_t>(), pedestals,
                                                                        variances_.as<float>(), pixels_, first, last);
  return cudaPeekAtLastError();
}

cudaError_t DeviceTracker::look_at(const float* pedestals, cudaStream_t stream) const noexcept {
  look<<<std::min(kLookers, (pixels_ + kThreads - 1) / kThreads), kThreads, 0, stream>>>(
      state_.as<TrackerState>(), bins_.as<std::uint32_t>(), pedestals, start_.as<float>(), inverse_sigma_.as<float>(),
      pixels_);
  return cudaPeekAtLastError();
}

std::string DeviceTracker::notice() const {
  DriftAlarm alarm(how_.alarm);
  // relaxed: the device writes the median drift, and a status of the host reads this word alone
  alarm.see({std::atomic_ref(*alarmed_.as<double>()).load(std::memory_order_relaxed), 0});
  return alarm.notice();
}

}  // namespace rashpa::kernel::jungfrau::cuda
