#include <algorithm>

#include "rashpa/core/fill.hpp"
#include "rashpa/kernel/bragg_count/bragg_count.hpp"

// Highway compiles this file once for each instruction set (foreach_target) and chooses at run time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rashpa/kernel/bragg_count/bragg_count_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace rashpa::kernel::bragg_count {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Each lane counts in 16 bits: emptied before it can overflow.
constexpr std::size_t kVectorsAtOnce = 32'000;

std::uint32_t count_impl(const std::int16_t* HWY_RESTRICT photons, std::size_t pixels, std::int16_t threshold) {
  const hn::ScalableTag<std::int16_t> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto below = hn::Set(d, static_cast<std::int16_t>(threshold - 1));
  std::uint32_t bright = 0;
  std::size_t i = 0;
  while (i + lanes <= pixels) {
    const std::size_t end = std::min(pixels, i + kVectorsAtOnce * lanes);
    auto counted = hn::Zero(d);
    for (; i + lanes <= end; i += lanes) {
      counted = hn::Sub(counted, hn::VecFromMask(d, hn::Gt(hn::LoadU(d, photons + i), below)));
    }
    HWY_ALIGN std::int16_t lane[hn::MaxLanes(d)];
    hn::Store(counted, d, lane);
    for (std::size_t l = 0; l < lanes; ++l) bright += static_cast<std::uint32_t>(lane[l]);
  }
  for (; i < pixels; ++i) bright += photons[i] >= threshold ? 1 : 0;
  return bright;
}

}  // namespace HWY_NAMESPACE
}  // namespace rashpa::kernel::bragg_count
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rashpa::kernel::bragg_count {

HWY_EXPORT(count_impl);

std::uint32_t count(const std::int16_t* photons, std::size_t pixels, std::int16_t threshold) noexcept {
  const std::int16_t above_masked = std::max<std::int16_t>(threshold, kMaskedPhotons + 1);
  return HWY_DYNAMIC_DISPATCH(count_impl)(photons, pixels, above_masked);
}

}  // namespace rashpa::kernel::bragg_count
#endif  // HWY_ONCE
