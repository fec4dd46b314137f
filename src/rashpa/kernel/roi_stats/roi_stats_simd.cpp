// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <type_traits>

#include "rashpa/kernel/photons/photons.hpp"
#include "rashpa/kernel/roi_stats/roi_stats.hpp"

// Highway compiles this file once for each instruction set (foreach_target) and chooses at run time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rashpa/kernel/roi_stats/roi_stats_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace rashpa::kernel::roi_stats {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Vectors that are added up in lanes of 32 bits before those can overflow.
constexpr std::size_t kVectorsAtOnce = 16'384;

template <typename T>
Stats stats_typed(const T* HWY_RESTRICT pixels, std::size_t count, PixelFormat format) {
  using W = std::conditional_t<std::is_same_v<T, std::uint32_t>, std::uint32_t, std::int32_t>;
  constexpr bool kWide = sizeof(T) == 4;
  const hn::ScalableTag<W> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  const hn::Rebind<T, decltype(d)> narrow;
  const std::size_t lanes = hn::Lanes(d);
  const PhotonRange range = photon_range(format);
  const auto from = hn::Set(d, static_cast<W>(range.least)), to = hn::Set(d, static_cast<W>(range.most));
  const auto low16 = hn::Set(d, W{0xFFFF});
  const auto nothing_less = hn::Set(d, std::numeric_limits<W>::max());
  const auto nothing_more = hn::Set(d, std::numeric_limits<W>::min());
  auto least = nothing_less, most = nothing_more;
  Stats found;
  HWY_ALIGN W lane[hn::MaxLanes(d)];
  std::size_t i = 0;
  while (i + lanes <= count) {
    const std::size_t end = std::min(count, i + kVectorsAtOnce * lanes);
    auto low = hn::Zero(d), high = hn::Zero(d);
    auto masked = hn::Zero(du);
    std::size_t seen = 0;
    for (; i + lanes <= end; i += lanes) {
      const auto loaded = hn::LoadU(narrow, pixels + i);
      const auto values = [&] {
        if constexpr (kWide) {
          return loaded;
        } else {
          return hn::PromoteTo(d, loaded);
        }
      }();
      const auto above = hn::Gt(values, to);
      const auto beyond = std::is_signed_v<T> ? hn::Or(above, hn::Lt(values, from)) : above;
      const auto kept = hn::IfThenZeroElse(beyond, values);
      if constexpr (kWide) {
        low = hn::Add(low, hn::And(kept, low16));
        high = hn::Add(high, hn::ShiftRight<16>(kept));
      } else {
        low = hn::Add(low, kept);
      }
      masked = hn::Sub(masked, hn::BitCast(du, hn::VecFromMask(d, beyond)));
      seen += lanes;
      least = hn::Min(least, hn::IfThenElse(beyond, nothing_less, values));
      most = hn::Max(most, hn::IfThenElse(beyond, nothing_more, values));
    }
    hn::Store(low, d, lane);
    for (std::size_t l = 0; l < lanes; ++l) found.sum += static_cast<std::int64_t>(lane[l]);
    hn::Store(high, d, lane);
    for (std::size_t l = 0; l < lanes; ++l) found.sum += static_cast<std::int64_t>(lane[l]) * 65536;
    found.counted += seen;
    hn::Store(hn::BitCast(d, masked), d, lane);
    for (std::size_t l = 0; l < lanes; ++l) found.counted -= static_cast<std::uint32_t>(lane[l]);
  }
  if (found.counted > 0) {
    hn::Store(least, d, lane);
    for (std::size_t l = 0; l < lanes; ++l) found.least = std::min(found.least, static_cast<std::int64_t>(lane[l]));
    hn::Store(most, d, lane);
    for (std::size_t l = 0; l < lanes; ++l) found.most = std::max(found.most, static_cast<std::int64_t>(lane[l]));
  }
  found.add(stats_reference(pixels + i, format, count - i));
  return found;
}

Stats stats_impl(const void* pixels, PixelFormat format, std::size_t count) {
  return with_type(format.type,
                   [&]<typename T>(T) { return stats_typed<T>(static_cast<const T*>(pixels), count, format); });
}

}  // namespace HWY_NAMESPACE
}  // namespace rashpa::kernel::roi_stats
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rashpa::kernel::roi_stats {

HWY_EXPORT(stats_impl);

Stats stats(const void* pixels, PixelFormat format, std::size_t count) noexcept {
  return HWY_DYNAMIC_DISPATCH(stats_impl)(pixels, format, count);
}

}  // namespace rashpa::kernel::roi_stats
#endif  // HWY_ONCE
