// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <type_traits>

#include "rashpa/kernel/photons/photons.hpp"
#include "rashpa/kernel/rings/ring_values.hpp"

// Highway compiles this file once for each instruction set (foreach_target) and chooses at run time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rashpa/kernel/rings/ring_values_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace rashpa::kernel {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Numbers = hn::ScalableTag<std::uint32_t>;
using Signed = hn::RebindToSigned<Numbers>;

// Pixels are gone through in tiles: few rings meet in one, so that their counters stay in the first-level cache.
constexpr std::size_t kColumns = 128;
constexpr std::size_t kRows = 32;
constexpr std::size_t kTile = kColumns * kRows;

/// The bin of each pixel.
template <typename T>
struct Bins {
  Bins(const PhotonRange& range, std::uint32_t zero_bin)
      : least(static_cast<T>(range.least)), most(static_cast<T>(range.most)), zero(zero_bin) {}
  HWY_INLINE hn::VFromD<Numbers> operator()(const T* HWY_RESTRICT at) const {
    const Numbers d;
    const Signed di;
    hn::VFromD<Numbers> value;
    hn::MFromD<Numbers> masked;
    if constexpr (std::is_same_v<T, std::uint32_t>) {
      value = hn::LoadU(d, at);
      masked = hn::Gt(value, hn::Set(d, most));
    } else {
      hn::VFromD<Signed> whole;
      if constexpr (sizeof(T) < 4) {
        whole = hn::PromoteTo(di, hn::LoadU(hn::Rebind<T, Signed>(), at));
      } else {
        whole = hn::LoadU(di, at);
      }
      const auto out = hn::Or(hn::Lt(whole, hn::Set(di, static_cast<std::int32_t>(least))),
                              hn::Gt(whole, hn::Set(di, static_cast<std::int32_t>(most))));
      masked = hn::RebindMask(d, out);
      value = hn::Add(hn::BitCast(d, whole), hn::Set(d, zero));  // below the first bin: a very large number
    }
    const auto bin = hn::Min(value, hn::Set(d, RingValues::kLargeBin));
    return hn::IfThenElse(masked, hn::Set(d, RingValues::kMaskedBin), bin);
  }
  T least;
  T most;
  std::uint32_t zero;
};

/// The bin of a single pixel.
template <typename T>
std::uint32_t bin_of(T pixel, const PhotonRange& range, std::uint32_t zero) {
  const auto value = static_cast<std::int64_t>(pixel);
  if (value < range.least || value > range.most) return RingValues::kMaskedBin;
  const std::int64_t bin = value + zero;
  return bin < 0 || bin > RingValues::kLargeBin ? RingValues::kLargeBin : static_cast<std::uint32_t>(bin);
}

/// The common state of all tiles of an image.
struct Job {
  const Rings& rings;
  PhotonRange range;
  std::uint32_t zero;
  std::span<std::uint32_t> large;
  std::uint32_t* HWY_RESTRICT counters;  // room for those of a tile and two vectors, which are stored whole
  std::size_t listed = 0;                // in large
};

/// Counters of pixels [begin, end), which lie side by side, behind the first `count`. Returns how many there are then.
template <typename T>
HWY_INLINE std::size_t note(Job& job, const T* HWY_RESTRICT in, std::size_t begin, std::size_t end, std::size_t count) {
  const Numbers d;
  const hn::Rebind<std::uint16_t, Numbers> narrow;
  const std::size_t lanes = hn::Lanes(d);
  const std::uint16_t* const HWY_RESTRICT ring_of = job.rings.ring_of().data();
  const Bins<T> bins(job.range, job.zero);
  std::size_t p = begin;
  for (; p + lanes <= end; p += lanes) {
    const auto bin = bins(in + p);
    const auto ring = hn::PromoteTo(d, hn::LoadU(narrow, ring_of + p));
    const auto there = hn::Ne(ring, hn::Set(d, Rings::kNone));
    const auto counter = hn::Add(hn::ShiftLeft<8>(ring), bin);
    count += hn::CompressStore(counter, hn::And(there, hn::Ne(bin, hn::Set(d, job.zero))), d, job.counters + count);
    const auto beyond = hn::And(there, hn::Eq(bin, hn::Set(d, RingValues::kLargeBin)));
    if (HWY_LIKELY(hn::AllFalse(d, beyond))) continue;
    job.listed +=
        hn::CompressStore(hn::Iota(d, static_cast<std::uint32_t>(p)), beyond, d, job.large.data() + job.listed);
  }
  for (; p < end; ++p) {
    const std::uint32_t bin = bin_of(in[p], job.range, job.zero);
    if (ring_of[p] == Rings::kNone || bin == job.zero) continue;
    job.counters[count++] = std::uint32_t{ring_of[p]} * RingValues::kBins + bin;
    if (bin == RingValues::kLargeBin) job.large[job.listed++] = static_cast<std::uint32_t>(p);
  }
  return count;
}

std::size_t count_impl(const void* image, PixelFormat format, const Rings& rings, std::size_t width, std::uint32_t zero,
                       std::uint16_t* HWY_RESTRICT counts, std::span<std::uint32_t> large) {
  constexpr std::size_t kVectors = std::size_t{2} * HWY_MAX_BYTES / sizeof(std::uint32_t);
  HWY_ALIGN std::uint32_t counters[kTile + kVectors];
  Job job{rings, photon_range(format), zero, large, counters};
  const std::size_t height = rings.ring_of().size() / width;
  return with_type(format.type, [&]<typename T>(T) -> std::size_t {
    const T* const in = static_cast<const T*>(image);
    for (std::size_t top = 0; top < height; top += kRows) {
      for (std::size_t left = 0; left < width; left += kColumns) {
        if (job.listed + kTile + kVectors > large.size()) return large.size();
        const std::size_t right = std::min(left + kColumns, width);
        std::size_t count = 0;
        for (std::size_t row = top; row < std::min(top + kRows, height); ++row) {
          count = note(job, in, row * width + left, row * width + right, count);
        }
        for (std::size_t i = 0; i < count; ++i) counts[counters[i]] += 1;
      }
    }
    return job.listed;
  });
}

RingSums sums_impl(const std::uint16_t* HWY_RESTRICT counts, std::uint32_t first, std::uint32_t last,
                   std::uint32_t zero) {
  // A ring has at most 65535 pixels, and a bin is at most 253 from 0: all three sums fit 32 bits.
  const Numbers d;
  const Signed di;
  const hn::Rebind<std::uint16_t, Numbers> narrow;
  const auto lanes = static_cast<std::uint32_t>(hn::Lanes(d));
  auto number = hn::Zero(di);
  auto sum = hn::Zero(di);
  auto squares = hn::Zero(d);
  auto value = hn::Iota(di, static_cast<std::int32_t>(first) - static_cast<std::int32_t>(zero));
  std::uint32_t bin = first;
  for (; bin + lanes <= last; bin += lanes) {
    const auto count = hn::PromoteTo(di, hn::LoadU(narrow, counts + bin));
    const auto weighted = hn::Mul(count, value);
    number = hn::Add(number, count);
    sum = hn::Add(sum, weighted);
    squares = hn::Add(squares, hn::Mul(hn::BitCast(d, weighted), hn::BitCast(d, value)));
    value = hn::Add(value, hn::Set(di, static_cast<std::int32_t>(lanes)));
  }
  std::int64_t all = hn::GetLane(hn::SumOfLanes(di, number));
  std::int64_t sums = hn::GetLane(hn::SumOfLanes(di, sum));
  std::uint64_t all_squares = hn::GetLane(hn::SumOfLanes(d, squares));
  for (; bin < last; ++bin) {
    const auto from_zero = static_cast<std::int64_t>(bin) - zero;
    all += counts[bin];
    sums += counts[bin] * from_zero;
    all_squares += counts[bin] * static_cast<std::uint64_t>(from_zero * from_zero);
  }
  return {static_cast<double>(sums), static_cast<double>(all_squares), static_cast<std::uint32_t>(all)};
}

}  // namespace HWY_NAMESPACE
}  // namespace rashpa::kernel
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rashpa::kernel {

HWY_EXPORT(count_impl);
HWY_EXPORT(sums_impl);

std::size_t count_values(const void* image, PixelFormat format, const Rings& rings, std::size_t width,
                         std::uint32_t zero, std::uint16_t* counts, std::span<std::uint32_t> large) noexcept {
  return HWY_DYNAMIC_DISPATCH(count_impl)(image, format, rings, width, zero, counts, large);
}
RingSums counted_sums(const std::uint16_t* counts, std::uint32_t first, std::uint32_t last,
                      std::uint32_t zero) noexcept {
  return HWY_DYNAMIC_DISPATCH(sums_impl)(counts, first, last, zero);
}

}  // namespace rashpa::kernel
#endif  // HWY_ONCE
