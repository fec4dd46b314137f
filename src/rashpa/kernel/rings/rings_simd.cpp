// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <type_traits>

#include "rashpa/kernel/photons/photons.hpp"
#include "rashpa/kernel/rings/rings.hpp"

// Highway compiles this file once for each instruction set (foreach_target) and chooses at run time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rashpa/kernel/rings/rings_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace rashpa::kernel {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::ScalableTag<float>;

/// Loads pixels as floats, NaN where masked. Integers of 16 bits and less are exact; those of 32 bits are rounded once.
template <typename T>
struct Values {
  explicit Values(const PhotonRange& range) : least(static_cast<T>(range.least)), most(static_cast<T>(range.most)) {}
  HWY_INLINE hn::VFromD<Floats> operator()(const T* HWY_RESTRICT at) const {
    const Floats d;
    const auto none = hn::Set(d, std::numeric_limits<float>::quiet_NaN());
    if constexpr (sizeof(T) < 4) {
      const hn::RebindToSigned<Floats> di;
      const hn::Rebind<T, Floats> narrow;
      const auto values = hn::PromoteTo(di, hn::LoadU(narrow, at));
      const auto masked = hn::Or(hn::Lt(values, hn::Set(di, static_cast<std::int32_t>(least))),
                                 hn::Gt(values, hn::Set(di, static_cast<std::int32_t>(most))));
      return hn::IfThenElse(hn::RebindMask(d, masked), none, hn::ConvertTo(d, values));
    } else if constexpr (std::is_signed_v<T>) {
      const hn::RebindToSigned<Floats> di;
      const auto values = hn::LoadU(di, at);
      const auto masked = hn::Or(hn::Lt(values, hn::Set(di, least)), hn::Gt(values, hn::Set(di, most)));
      return hn::IfThenElse(hn::RebindMask(d, masked), none, hn::ConvertTo(d, values));
    } else {
      const hn::RebindToUnsigned<Floats> du;
      const hn::RebindToSigned<Floats> di;
      const auto values = hn::LoadU(du, at);
      const auto masked = hn::Gt(values, hn::Set(du, most));
      const auto high = hn::ConvertTo(d, hn::BitCast(di, hn::ShiftRight<16>(values)));
      const auto low = hn::ConvertTo(d, hn::BitCast(di, hn::And(values, hn::Set(du, 0xFFFFU))));
      const auto whole = hn::MulAdd(high, hn::Set(d, 65536.0F), low);
      return hn::IfThenElse(hn::RebindMask(d, masked), none, whole);
    }
  }
  T least;
  T most;
};
template <>
struct Values<float> {
  explicit Values(const PhotonRange& /*range*/) {}
  HWY_INLINE hn::VFromD<Floats> operator()(const float* HWY_RESTRICT at) const { return hn::LoadU(Floats(), at); }
};

template <typename Work>
void with_values(const void* image, PixelFormat format, Work work) {
  if (format.type == PixelType::f32) {
    work(static_cast<const float*>(image), Values<float>({}));
    return;
  }
  const PhotonRange range = photon_range(format);
  with_type(format.type, [&]<typename T>(T) { work(static_cast<const T*>(image), Values<T>(range)); });
}

void sort_impl(const void* image, PixelFormat format, const Rings& rings, float* HWY_RESTRICT band,
               float* HWY_RESTRICT sorted) {
  const Floats d;
  const hn::RebindToSigned<Floats> di;
  const hn::Rebind<std::uint16_t, Floats> narrow;
  const std::size_t lanes = hn::Lanes(d);
  const std::uint16_t* const HWY_RESTRICT slot = rings.slot().data();
  const std::size_t pixels = rings.slot().size();
  with_values(image, format, [&](const auto* in, const auto& values) {
    for (std::size_t begin = 0; begin < pixels; begin += Rings::kBand) {
      const std::size_t end = std::min(begin + Rings::kBand, pixels);
      std::size_t p = begin;
      for (; p + lanes <= end; p += lanes) {
        hn::ScatterIndex(values(in + p), d, band, hn::PromoteTo(di, hn::LoadU(narrow, slot + p)));
      }
      for (; p < end; ++p) band[slot[p]] = pixel_value(image, format, p);
      for (const Rings::Move& move : rings.moves(begin / Rings::kBand)) {
        std::copy_n(band + move.from, move.count, sorted + move.to);
      }
    }
  });
}

RingSums sums_impl(const float* HWY_RESTRICT values, std::size_t count, float low, float high) {
  const Floats d;
  const hn::Half<Floats> half;
  const hn::ScalableTag<double> dd;
  const std::size_t lanes = hn::Lanes(d);
  const auto beneath = hn::Set(d, low);
  const auto beyond = hn::Set(d, high);
  auto sum_low = hn::Zero(dd);
  auto sum_high = hn::Zero(dd);
  auto squares_low = hn::Zero(dd);
  auto squares_high = hn::Zero(dd);
  RingSums found;
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto value = hn::LoadU(d, values + i);
    const auto counts = hn::And(hn::Gt(value, beneath), hn::Lt(value, beyond));
    const auto kept = hn::IfThenElseZero(counts, value);
    const auto lower = hn::PromoteTo(dd, hn::LowerHalf(half, kept));
    const auto upper = hn::PromoteTo(dd, hn::UpperHalf(half, kept));
    sum_low = hn::Add(sum_low, lower);
    sum_high = hn::Add(sum_high, upper);
    squares_low = hn::MulAdd(lower, lower, squares_low);
    squares_high = hn::MulAdd(upper, upper, squares_high);
    found.count += static_cast<std::uint32_t>(hn::CountTrue(d, counts));
  }
  found.sum = hn::GetLane(hn::SumOfLanes(dd, hn::Add(sum_low, sum_high)));
  found.squares = hn::GetLane(hn::SumOfLanes(dd, hn::Add(squares_low, squares_high)));
  for (; i < count; ++i) {
    if (!(values[i] > low && values[i] < high)) continue;
    found.sum += double{values[i]};
    found.squares += double{values[i]} * double{values[i]};
    found.count += 1;
  }
  return found;
}

void mark_impl(const void* image, PixelFormat format, const Rings& rings, const float* HWY_RESTRICT above,
               std::uint64_t* HWY_RESTRICT marks) {
  const Floats d;
  const hn::RebindToSigned<Floats> di;
  const hn::Rebind<std::uint16_t, Floats> narrow;
  constexpr std::size_t kWord = 64;
  const std::size_t lanes = hn::Lanes(d);
  const std::uint16_t* const HWY_RESTRICT ring_of = rings.ring_of().data();
  const std::size_t pixels = rings.ring_of().size();
  const auto none = hn::Set(di, Rings::kNone);
  const auto last = hn::Set(di, static_cast<std::int32_t>(rings.count()) - 1);
  const float* const end = above + rings.count();
  const float least = rings.count() == 0 ? 0 : *std::min_element(above, end);
  const auto lowest = hn::Set(d, least);
  with_values(image, format, [&](const auto* in, const auto& values) {
    std::size_t p = 0;
    for (; p + kWord <= pixels; p += kWord) {
      std::uint64_t word = 0;
      for (std::size_t i = 0; i < kWord; i += lanes) {
        const auto value = values(in + p + i);
        if (hn::AllFalse(d, hn::Gt(value, lowest))) continue;
        const auto ring = hn::PromoteTo(di, hn::LoadU(narrow, ring_of + p + i));
        const auto there = hn::Ne(ring, none);
        const auto limit = hn::GatherIndex(d, above, hn::Min(ring, last));
        const auto bright = hn::And(hn::Gt(value, limit), hn::RebindMask(d, there));
        HWY_ALIGN std::uint8_t bits[8] = {};
        hn::StoreMaskBits(d, bright, bits);
        std::uint64_t part = 0;
        for (std::size_t b = 0; b < (lanes + 7) / 8; ++b) part |= std::uint64_t{bits[b]} << (8 * b);
        word |= part << i;
      }
      marks[p / kWord] = word;
    }
    if (p == pixels) return;
    std::uint64_t word = 0;
    for (std::size_t i = p; i < pixels; ++i) {
      const bool bright = ring_of[i] != Rings::kNone && pixel_value(image, format, i) > above[ring_of[i]];
      word |= std::uint64_t{bright} << (i - p);
    }
    marks[p / kWord] = word;
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace rashpa::kernel
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rashpa::kernel {

HWY_EXPORT(sort_impl);
HWY_EXPORT(sums_impl);
HWY_EXPORT(mark_impl);

void sort_by_ring(const void* image, PixelFormat format, const Rings& rings, float* band, float* sorted) noexcept {
  HWY_DYNAMIC_DISPATCH(sort_impl)(image, format, rings, band, sorted);
}
RingSums ring_sums(const float* values, std::size_t count, float low, float high) noexcept {
  return HWY_DYNAMIC_DISPATCH(sums_impl)(values, count, low, high);
}
void mark_above(const void* image, PixelFormat format, const Rings& rings, const float* above,
                std::uint64_t* marks) noexcept {
  HWY_DYNAMIC_DISPATCH(mark_impl)(image, format, rings, above, marks);
}

}  // namespace rashpa::kernel
#endif  // HWY_ONCE
