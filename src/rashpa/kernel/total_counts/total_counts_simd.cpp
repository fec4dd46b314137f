// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <type_traits>

#include "rashpa/kernel/photons/photons.hpp"
#include "rashpa/kernel/total_counts/total_counts.hpp"

// Highway compiles this file once for each instruction set (foreach_target) and chooses at run time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rashpa/kernel/total_counts/total_counts_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace rashpa::kernel::total_counts {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Pixels are added in lanes of at least 32 bits, emptied before they can overflow.
template <typename T>
using Wide = std::conditional_t<sizeof(T) < 4, std::int32_t,
                                std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>>;
constexpr std::size_t kVectorsAtOnce = 16'384;

/// Signed pixels below `limit` are masked, unsigned ones above it.
template <typename T>
Totals total_typed(const T* HWY_RESTRICT image, std::size_t pixels, T limit) {
  using W = Wide<T>;
  const hn::ScalableTag<W> d;
  const hn::Rebind<T, decltype(d)> narrow;
  const std::size_t lanes = hn::Lanes(d);
  const auto below = hn::Set(d, static_cast<W>(static_cast<W>(limit) - 1));
  const auto beyond = hn::Set(d, static_cast<W>(static_cast<W>(limit) + 1));
  Totals totals;
  std::size_t i = 0;
  while (i + lanes <= pixels) {
    const std::size_t end = std::min(pixels, i + kVectorsAtOnce * lanes);
    auto sum = hn::Zero(d);
    auto valid = hn::Zero(d);
    std::uint32_t seen = 0;
    for (; i + lanes <= end; i += lanes) {
      const auto values = hn::PromoteTo(d, hn::LoadU(narrow, image + i));
      const auto counts = std::is_signed_v<T> ? hn::Gt(values, below) : hn::Gt(beyond, values);
      sum = hn::Add(sum, hn::IfThenElseZero(counts, values));
      valid = hn::Sub(valid, hn::VecFromMask(d, counts));
      seen += static_cast<std::uint32_t>(lanes);
    }
    HWY_ALIGN W lane[hn::MaxLanes(d)];
    hn::Store(sum, d, lane);
    for (std::size_t l = 0; l < lanes; ++l) totals.counts += static_cast<std::int64_t>(lane[l]);
    hn::Store(valid, d, lane);
    for (std::size_t l = 0; l < lanes; ++l) seen -= static_cast<std::uint32_t>(lane[l]);
    totals.masked += seen;
  }
  for (; i < pixels; ++i) {
    if (std::is_signed_v<T> ? image[i] < limit : image[i] > limit) {
      totals.masked += 1;
    } else {
      totals.counts += static_cast<std::int64_t>(image[i]);
    }
  }
  return totals;
}

Totals total_impl(const void* image, PixelType type, std::size_t pixels, const PhotonRange& range) {
  return with_type(type, [&]<typename T>(T) {
    const auto limit = static_cast<T>(std::is_signed_v<T> ? range.least : range.most);
    return total_typed<T>(static_cast<const T*>(image), pixels, limit);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace rashpa::kernel::total_counts
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rashpa::kernel::total_counts {

HWY_EXPORT(total_impl);

Totals total(const void* image, PixelFormat format, std::size_t pixels) noexcept {
  format = looked_at(format);
  return HWY_DYNAMIC_DISPATCH(total_impl)(image, format.type, pixels, photon_range(format));
}

}  // namespace rashpa::kernel::total_counts
#endif  // HWY_ONCE
