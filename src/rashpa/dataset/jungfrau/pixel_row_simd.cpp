// SPDX-License-Identifier: Apache-2.0
#include "rashpa/dataset/jungfrau/pixel_row.hpp"

// Highway compiles this file once for each instruction set (foreach_target) and chooses at run time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rashpa/dataset/jungfrau/pixel_row_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace rashpa::dataset {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::ScalableTag<float>;
using Ints = hn::RebindToSigned<Floats>;
using Words = hn::RebindToUnsigned<Floats>;
using Longs = hn::ScalableTag<std::uint64_t>;
using F = hn::VFromD<Floats>;
using I = hn::VFromD<Ints>;
using W = hn::VFromD<Words>;

constexpr std::uint64_t kStep = 0x9E3779B97F4A7C15ULL;  // of SplitMix64
constexpr std::size_t kHalf = kJungfrauWidth / 2;
constexpr std::uint32_t kBits = 24;  // of a quantile, a radius, an angle
constexpr std::uint32_t kBelow = 1U << kBits;

HWY_INLINE F set(float value) { return hn::Set(Floats(), value); }
/// Two roundings on every machine, where MulAdd may have one.
HWY_INLINE F mul_add(F a, F b, F c) { return hn::Add(hn::Mul(a, b), c); }
HWY_INLINE F polynomial(F /*x*/, F sum) { return sum; }
template <typename... More>
HWY_INLINE F polynomial(F x, F sum, float next, More... more) {
  return polynomial(x, mul_add(sum, x, set(next)), more...);
}

/// e^x for −12 ≤ x ≤ 0 (Cephes, 2 ulp).
HWY_INLINE F exponential(F x) {
  const Floats d;
  const Ints di;
  const I n = hn::NearestInt(hn::Mul(x, set(1.44269504F)));
  const F whole = hn::ConvertTo(d, n);
  x = hn::Sub(x, hn::Mul(whole, set(0.693359375F)));
  x = hn::Sub(x, hn::Mul(whole, set(-2.12194440e-4F)));
  const F series = polynomial(x, set(1.9875691500e-4F), 1.3981999507e-3F, 8.3334519073e-3F, 4.1665795894e-2F,
                              1.6666665459e-1F, 5.0000001201e-1F);
  const F mantissa = hn::Add(mul_add(series, hn::Mul(x, x), x), set(1.0F));
  return hn::BitCast(d, hn::Add(hn::BitCast(di, mantissa), hn::ShiftLeft<23>(n)));
}

/// ln x for 0 < x ≤ 1 (Cephes, 2 ulp).
HWY_INLINE F logarithm(F x) {
  const Floats d;
  const Words du;
  const Ints di;
  const W bits = hn::BitCast(du, x);
  const F half = hn::BitCast(d, hn::Or(hn::And(bits, hn::Set(du, 0x007FFFFFU)), hn::Set(du, 0x3F000000U)));
  const auto small = hn::Lt(half, set(0.707106781F));
  const F exponent = hn::ConvertTo(d, hn::Sub(hn::BitCast(di, hn::ShiftRight<23>(bits)), hn::Set(di, 126)));
  const F e = hn::Sub(exponent, hn::IfThenElseZero(small, set(1.0F)));
  const F m = hn::Sub(hn::Add(half, hn::IfThenElseZero(small, half)), set(1.0F));
  const F z = hn::Mul(m, m);
  const F series =
      polynomial(m, set(7.0376836292e-2F), -1.1514610310e-1F, 1.1676998740e-1F, -1.2420140846e-1F, 1.4249322787e-1F,
                 -1.6668057665e-1F, 2.0000714765e-1F, -2.4999993993e-1F, 3.3333331174e-1F);
  const F low = mul_add(e, set(-2.12194440e-4F), hn::Mul(series, hn::Mul(m, z)));
  return mul_add(e, set(0.693359375F), hn::Add(m, hn::Sub(low, hn::Mul(set(0.5F), z))));
}

struct Pair {
  F first;
  F second;
};

/// Cosine and sine of an angle in 2^24ths of a turn (Cephes, 2 ulp).
HWY_INLINE Pair cosine_and_sine(W turn) {
  const Floats d;
  const Words du;
  const Ints di;
  const W quarter = hn::ShiftRight<kBits - 2>(hn::Add(turn, hn::Set(du, kBelow / 8)));  // the nearest, 0 … 4
  const I rest = hn::Sub(hn::BitCast(di, turn), hn::BitCast(di, hn::ShiftLeft<kBits - 2>(quarter)));
  const F x = hn::Mul(hn::ConvertTo(d, rest), set(6.28318530718F / kBelow));
  const F z = hn::Mul(x, x);
  const F sine = mul_add(polynomial(z, set(-1.9515295891e-4F), 8.3321608736e-3F, -1.6666654611e-1F), hn::Mul(z, x), x);
  const F cosine = mul_add(polynomial(z, set(2.443315711809948e-5F), -1.388731625493765e-3F, 4.166664568298827e-2F),
                           hn::Mul(z, z), hn::Sub(set(1.0F), hn::Mul(set(0.5F), z)));
  const auto odd = hn::RebindMask(d, hn::TestBit(quarter, hn::Set(du, 1U)));
  const W two = hn::Set(du, 2U);
  const F sign_c = hn::BitCast(d, hn::ShiftLeft<30>(hn::And(hn::Add(quarter, hn::Set(du, 1U)), two)));
  const F sign_s = hn::BitCast(d, hn::ShiftLeft<30>(hn::And(quarter, two)));
  return {hn::Xor(hn::IfThenElse(odd, sine, cosine), sign_c), hn::Xor(hn::IfThenElse(odd, cosine, sine), sign_s)};
}

/// SplitMix64's function, which rashpa::mix is for one word.
HWY_INLINE hn::VFromD<Longs> mixed(hn::VFromD<Longs> x) {
  const Longs d;
  x = hn::Add(x, hn::Set(d, kStep));
  x = hn::Mul(hn::Xor(x, hn::ShiftRight<30>(x)), hn::Set(d, 0xBF58476D1CE4E5B9ULL));
  x = hn::Mul(hn::Xor(x, hn::ShiftRight<27>(x)), hn::Set(d, 0x94D049BB133111EBULL));
  return hn::Xor(x, hn::ShiftRight<31>(x));
}

/// The random words of some pixels: their upper 24 bits, and the 24 below.
struct Chance {
  HWY_INLINE Chance(std::uint64_t state, std::size_t first) {
    const Longs d;
    const Words du;
    const hn::Rebind<std::uint32_t, Longs> narrow;
    const auto numbers = hn::Iota(d, static_cast<std::uint64_t>(first));
    const auto before = hn::Add(hn::Set(d, state), hn::Mul(numbers, hn::Set(d, kStep)));
    const auto low = mixed(before);
    const auto high = mixed(hn::Add(before, hn::Set(d, kStep * hn::Lanes(d))));
    const auto both = [&](auto a, auto b) {
      return hn::Combine(du, hn::TruncateTo(narrow, b), hn::TruncateTo(narrow, a));
    };
    upper = both(hn::ShiftRight<64 - kBits>(low), hn::ShiftRight<64 - kBits>(high));
    lower = hn::And(both(hn::ShiftRight<64 - 2 * kBits>(low), hn::ShiftRight<64 - 2 * kBits>(high)),
                    hn::Set(du, kBelow - 1));
  }
  W upper;
  W lower;
};

HWY_INLINE F real(W bits) {
  const Floats d;
  return hn::ConvertTo(d, hn::BitCast(Ints(), bits));
}

/// Photons by inversion: how many sums of the distribution lie at or below the quantile.
HWY_INLINE void draw_photons(W bits, std::size_t at, const float* HWY_RESTRICT means, PixelRow& out, Columns& left) {
  const Floats d;
  const F mean = hn::LoadU(d, means + at);
  const F quantile = hn::Mul(real(bits), set(1.0F / kBelow));
  const auto beyond = hn::And(hn::Gt(mean, hn::Zero(d)), hn::Ge(quantile, set(static_cast<float>(kLeftQuantile))));
  const auto leave = hn::Or(hn::Ge(mean, set(kVectorMean)), beyond);
  F term = exponential(hn::Neg(hn::Min(mean, set(kVectorMean))));
  F sum = term;
  F photons = hn::Zero(d);
  const F one = set(1.0F);
  auto more = hn::AndNot(leave, hn::Ge(quantile, sum));
  for (F k = one; !hn::AllFalse(d, more); k = hn::Add(k, one)) {
    photons = hn::Add(photons, hn::IfThenElseZero(more, one));
    term = hn::Div(hn::Mul(term, mean), k);
    sum = hn::Add(sum, term);
    more = hn::And(more, hn::Ge(quantile, sum));
  }
  hn::StoreU(photons, d, out.photons.data() + at);
  const Words du;
  left.count += hn::CompressStore(hn::Iota(du, static_cast<std::uint32_t>(at)), hn::RebindMask(du, leave), du,
                                  left.at.data() + left.count);
}

void draw_row_impl(std::uint64_t state, const float* HWY_RESTRICT means, PixelRow& out, Columns& left) {
  const Floats d;
  left.count = 0;
  for (std::size_t at = 0; at < kHalf; at += hn::Lanes(d)) {
    const Chance here(state, at);
    const Chance there(state, at + kHalf);
    draw_photons(here.upper, at, means, out, left);
    draw_photons(there.upper, at + kHalf, means, out, left);
    // Box and Muller 1958: two numbers of a radius and an angle
    const F uniform = hn::Mul(hn::Add(real(here.lower), set(0.5F)), set(1.0F / kBelow));
    const F radius = hn::Sqrt(hn::Max(hn::Zero(d), hn::Mul(set(-2.0F), logarithm(uniform))));
    const Pair direction = cosine_and_sine(there.lower);
    hn::StoreU(hn::Mul(radius, direction.first), d, out.normal.data() + at);
    hn::StoreU(hn::Mul(radius, direction.second), d, out.normal.data() + at + kHalf);
  }
}

void read_row_impl(const RowInG0& g0, const PixelRow& row, float most_adu, std::uint16_t* HWY_RESTRICT out,
                   Columns& left) {
  const Floats d;
  const Words du;
  const hn::Rebind<std::uint16_t, Floats> narrow;
  left.count = 0;
  for (std::size_t at = 0; at < kJungfrauWidth; at += hn::Lanes(d)) {
    const F kev = hn::Mul(hn::LoadU(d, row.photons.data() + at), set(g0.photon_kev));
    const F answer = mul_add(hn::LoadU(d, g0.gain + at), kev, hn::LoadU(d, g0.pedestal + at));
    const F noise = hn::Mul(hn::LoadU(d, g0.noise + at), hn::LoadU(d, row.normal.data() + at));
    const F value = hn::Add(hn::Add(answer, set(g0.chip[at / kJungfrauChip])), noise);
    const auto there = hn::And(hn::Lt(kev, hn::LoadU(d, g0.below_kev + at)), hn::Lt(value, set(most_adu)));
    hn::StoreU(hn::DemoteTo(narrow, hn::NearestInt(hn::IfThenElseZero(there, value))), narrow, out + at);
    left.count += hn::CompressStore(hn::Iota(du, static_cast<std::uint32_t>(at)), hn::RebindMask(du, hn::Not(there)),
                                    du, left.at.data() + left.count);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace rashpa::dataset
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rashpa::dataset {

HWY_EXPORT(draw_row_impl);
HWY_EXPORT(read_row_impl);

void draw_row(std::uint64_t state, std::span<const float, kJungfrauWidth> means, PixelRow& out,
              Columns& left) noexcept {
  HWY_DYNAMIC_DISPATCH(draw_row_impl)(state, means.data(), out, left);
}

void read_row_in_g0(const RowInG0& g0, const PixelRow& row, float most_adu,
                    std::span<std::uint16_t, kJungfrauWidth> out, Columns& left) noexcept {
  HWY_DYNAMIC_DISPATCH(read_row_impl)(g0, row, most_adu, out.data(), left);
}

}  // namespace rashpa::dataset
#endif  // HWY_ONCE
