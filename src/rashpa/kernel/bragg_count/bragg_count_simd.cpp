// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "rashpa/kernel/bragg_count/bragg_count.hpp"
#include "rashpa/kernel/photons/photons.hpp"

// Highway compiles this file once for each instruction set (foreach_target) and chooses at run time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rashpa/kernel/bragg_count/bragg_count_simd.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace rashpa::kernel::bragg_count {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Each lane counts in the pixels' own bits: emptied before it can overflow.
template <typename T>
constexpr std::size_t kVectorsAtOnce = static_cast<std::size_t>(std::numeric_limits<T>::max() - 5) / 4 * 4;

/// Bytes that are asked for before they are needed: the machine's own prefetch stops at the end of each page.
constexpr std::size_t kBytesAhead = 1024;

/// Pixels from `least` to `most`, which is the largest value of signed pixels.
template <typename T>
std::uint32_t count_typed(const T* HWY_RESTRICT image, std::size_t pixels, T least, T most) {
  const hn::ScalableTag<T> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto low = hn::Set(d, least);
  const auto width = hn::Set(d, static_cast<T>(most - least + 1));  // of unsigned pixels, below their largest value
  const auto below = hn::Set(d, static_cast<T>(least - 1));
  std::uint32_t bright = 0;
  std::size_t i = 0;
  const auto one_if_bright = [&](hn::Vec<decltype(d)> values) HWY_ATTR {
    if constexpr (std::is_signed_v<T>) return hn::VecFromMask(d, hn::Gt(values, below));
    return hn::VecFromMask(d, hn::Gt(width, hn::Sub(values, low)));
  };
  while (i + lanes <= pixels) {
    const std::size_t end = std::min(pixels, i + kVectorsAtOnce<T> * lanes);
    auto counted = hn::Zero(d);
    auto others = hn::Zero(d);
    for (; i + 4 * lanes <= end; i += 4 * lanes) {
      for (std::size_t v = 0; v < 4; ++v) {
        hwy::Prefetch(reinterpret_cast<const std::byte*>(image + i + v * lanes) + kBytesAhead);
      }
      const auto first =
          hn::Add(one_if_bright(hn::LoadU(d, image + i)), one_if_bright(hn::LoadU(d, image + i + lanes)));
      const auto second = hn::Add(one_if_bright(hn::LoadU(d, image + i + 2 * lanes)),
                                  one_if_bright(hn::LoadU(d, image + i + 3 * lanes)));
      counted = hn::Sub(counted, first);
      others = hn::Sub(others, second);
    }
    for (; i + lanes <= end; i += lanes) counted = hn::Sub(counted, one_if_bright(hn::LoadU(d, image + i)));
    counted = hn::Add(counted, others);
    HWY_ALIGN T lane[hn::MaxLanes(d)];
    hn::Store(counted, d, lane);
    for (std::size_t l = 0; l < lanes; ++l) bright += static_cast<std::uint32_t>(lane[l]);
  }
  for (; i < pixels; ++i) bright += image[i] >= least && image[i] <= most ? 1 : 0;
  return bright;
}

std::uint32_t count_impl(const void* image, PixelType type, std::size_t pixels, std::int64_t least, std::int64_t most) {
  return with_type(type, [&]<typename T>(T) {
    return count_typed<T>(static_cast<const T*>(image), pixels, static_cast<T>(least), static_cast<T>(most));
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace rashpa::kernel::bragg_count
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rashpa::kernel::bragg_count {

HWY_EXPORT(count_impl);

std::uint32_t count(const void* image, PixelFormat format, std::size_t pixels, std::int32_t threshold) noexcept {
  format = looked_at(format);
  const PhotonRange range = from_threshold(format, threshold);
  if (range.least > range.most) return 0;
  if (holds_all(format.type, range)) return static_cast<std::uint32_t>(pixels);
  return HWY_DYNAMIC_DISPATCH(count_impl)(image, format.type, pixels, range.least, range.most);
}

}  // namespace rashpa::kernel::bragg_count
#endif  // HWY_ONCE
