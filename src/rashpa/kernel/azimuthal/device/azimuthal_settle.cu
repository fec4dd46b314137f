// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime_api.h>

#include <limits>

#include "rashpa/kernel/azimuthal/device/azimuthal_cuda.hpp"
#include "rashpa/kernel/azimuthal/device/sum_of_team.cuh"
#include "rashpa/kernel/device/early_launch.cuh"

namespace rashpa::kernel::azimuthal::cuda {

namespace {

using kernel::cuda::DeviceStack;
using Word = unsigned long long;

using kernel::cuda::wait_for_the_one_before;

constexpr unsigned kSettleThreads = 256;

/// A block makes the profile of an image, as finish() does, and judges its ring.
__global__ void __launch_bounds__(kSettleThreads)
    settle_images(const DeviceStack stack, const Tables tables, const Ring ring, const Found found, double* profiles,
                  std::uint32_t awaited) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  __shared__ double ring_signals[kSettleThreads / 32];
  __shared__ double ring_norms[kSettleThreads / 32];
  const std::uint32_t image = blockIdx.x;
  if (stack.work[image] == 0) return wait_for_the_one_before();
  const Limits limits = *reinterpret_cast<const Limits*>(stack.limits);
  if (threadIdx.x == 0) {
    while (*static_cast<volatile std::uint32_t*>(&found.pixels_done[image]) != awaited) __nanosleep(200);
    __threadfence();
  }
  __syncthreads();
  const std::uint32_t bins = tables.bins;
  const bool any_masked = __ldcg(&found.any_masked[image]) != 0;
  double* const profile = profiles + image * kArrays * bins;
  double ring_signal = 0, ring_norm = 0;
  for (std::uint32_t bin = threadIdx.x; bin < bins; bin += kSettleThreads) {
    const std::size_t at = std::size_t{image} * bins + bin;
    const std::int64_t found_signal = __ldcg(reinterpret_cast<const long long*>(&found.signal[at]));
    const std::int64_t found_variance = __ldcg(reinterpret_cast<const long long*>(&found.variance[at]));
    found.signal[at] = found.variance[at] = 0;
    Prepared::Bin left = tables.all[bin];
    if (any_masked) {
      MaskedSum& off = found.masked[at];
      left.norm -= __ldcg(&off.norm);
      left.dark -= __ldcg(&off.dark);
      left.dark_variance -= __ldcg(&off.dark_variance);
      left.shares -= static_cast<std::uint32_t>(__ldcg(reinterpret_cast<const Word*>(&off.shares)));
      off = {};
    }
    const bool there = left.shares != 0;
    const double sum = tables.real ? __longlong_as_double(found_signal) : static_cast<double>(found_signal);
    const double signal = there ? sum - left.dark : 0;
    const double norm = there ? left.norm : 0;
    double error = kNone;
    if (there && tables.errors == Errors::poisson) {
      const double variance = tables.real ? __longlong_as_double(found_variance)
                                          : static_cast<double>(found_variance + std::int64_t{left.shares});
      error = sqrt(variance + left.dark_variance) / norm;
    } else if (there && tables.errors == Errors::azimuthal) {
      error = sqrt(fmax(0.0, __longlong_as_double(found_variance))) / norm;
    }
    profile[bin] = there ? signal / norm : kNone;
    profile[bins + bin] = error;
    profile[2 * std::size_t{bins} + bin] = signal;
    profile[3 * std::size_t{bins} + bin] = norm;
    if (const std::size_t radial = bin % ring.radial; radial >= ring.first && radial < ring.last) {
      ring_signal += signal;
      ring_norm += norm;
    }
  }
  ring_signal = sum_of_team(ring_signal, 32);
  ring_norm = sum_of_team(ring_norm, 32);
  if (threadIdx.x % 32 == 0) {
    ring_signals[threadIdx.x / 32] = ring_signal;
    ring_norms[threadIdx.x / 32] = ring_norm;
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (unsigned warp = 1; warp < kSettleThreads / 32; ++warp) {
    ring_signal += ring_signals[warp];
    ring_norm += ring_norms[warp];
  }
  found.any_masked[image] = 0;
  found.pixels_done[image] = 0;
  wait_for_the_one_before();  // it reads stack.work
  const double mean = ring_signal / ring_norm;
  stack.scalars[image * stack.scalars_stride] = Scalar::of_real(mean);
  const std::uint8_t verdict = limits.verdict(mean);
  if (verdict == 0) return;
  stack.findings[image].verdict = verdict;
  stack.findings[image].step = stack.step;
  stack.work[image] = 0;
}

}  // namespace

int settle(const Scatter& how, const Tables& tables, const Ring& ring, const DeviceStack& stack, const Found& found,
           double* profiles, CUstream_st* stream) noexcept {
  const std::uint32_t awaited = how.together != 0 ? tables.pixels : 0;
  return kernel::cuda::launch_early(how.early, settle_images, dim3(stack.count), kSettleThreads, 0, stream, stack,
                                    tables, ring, found, profiles, awaited);
}

}  // namespace rashpa::kernel::azimuthal::cuda
