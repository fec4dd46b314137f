// SPDX-License-Identifier: Apache-2.0
#include "rashpa/kernel/jungfrau/constants.hpp"
#include "rashpa/kernel/jungfrau/tracking/tracking.hpp"

// Highway compiles this file once for each instruction set (foreach_target) and chooses at run time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rashpa/kernel/jungfrau/tracking/tracking_simd.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "rashpa/kernel/jungfrau/vectors/jungfrau_vectors-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace rashpa::kernel::jungfrau {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// One half of a vector of words. `kLimited`: only near its pedestal, and no variance.
template <bool kLimited>
HWY_INLINE void follow_half(WideVector words, float* HWY_RESTRICT pedestals, float* HWY_RESTRICT variances,
                            FloatVector inverse, FloatVector square_limit) {
  const Float d;
  const auto pedestal = hn::LoadU(d, pedestals);
  const auto variance = hn::LoadU(d, variances);
  const auto far = hn::Sub(hn::ConvertTo(d, hn::BitCast(WideSigned(), words)), pedestal);
  const auto in_g0 = hn::RebindMask(d, hn::Lt(words, hn::Set(Wide(), kAduMask + 1U)));
  // a pixel without calibration has a pedestal beyond all, or none
  auto taken = hn::And(in_g0, hn::Lt(pedestal, hn::Set(d, kMaskedAbove)));
  const auto square = hn::Mul(far, far);
  if constexpr (kLimited) taken = hn::And(taken, hn::Le(square, hn::Mul(square_limit, variance)));
  hn::StoreU(hn::IfThenElse(taken, hn::Add(pedestal, hn::Mul(far, inverse)), pedestal), d, pedestals);
  if constexpr (kLimited) return;
  const auto left = hn::Sub(hn::Set(d, 1.0F), inverse);
  const auto next = hn::Mul(hn::Add(variance, hn::Mul(square, inverse)), left);
  hn::StoreU(hn::IfThenElse(taken, next, variance), d, variances);
}

template <bool kLimited>
void follow_all(float* table, float* variance, std::size_t groups, const std::uint16_t* raw, const Follow& follow) {
  const Words d;
  const auto inverse = hn::Set(Float(), follow.inverse);
  const auto square_limit = hn::Set(Float(), follow.limit * follow.limit);
  for (std::size_t g = 0; g < groups; ++g) {
    for (std::size_t v = 0; v < kGroup; v += hn::Lanes(d)) {
      const auto words = hn::LoadU(d, raw + g * kGroup + v);
      hwy::Prefetch(raw + g * kGroup + v + kPixelsAhead);
      hwy::Prefetch(variance + g * kGroup + v / 2 + kPixelsAhead);
      float* pedestals = table + g * 2 * kGroup + v / 2;
      float* variances = variance + g * kGroup + v / 2;
      follow_half<kLimited>(even_of(words), pedestals, variances, inverse, square_limit);
      follow_half<kLimited>(odd_of(words), pedestals + kGroup / 2, variances + kGroup / 2, inverse, square_limit);
    }
  }
}

void follow_impl(float* table, float* variance, std::size_t groups, const std::uint16_t* raw, const Follow& follow) {
  if (follow.limit > 0) {
    follow_all<true>(table, variance, groups, raw, follow);
  } else {
    follow_all<false>(table, variance, groups, raw, follow);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace rashpa::kernel::jungfrau
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rashpa::kernel::jungfrau {
HWY_EXPORT(follow_impl);

void follow_groups(float* table, float* variance, std::size_t groups, const std::uint16_t* raw,
                   const Follow& follow) noexcept {
  HWY_DYNAMIC_DISPATCH(follow_impl)(table, variance, groups, raw, follow);
}

}  // namespace rashpa::kernel::jungfrau
#endif  // HWY_ONCE
