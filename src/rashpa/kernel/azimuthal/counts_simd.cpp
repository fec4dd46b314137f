// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>

#include "rashpa/kernel/azimuthal/azimuthal.hpp"
#include "rashpa/kernel/photons/photons.hpp"

// Highway compiles this file once for each instruction set (foreach_target) and chooses at run time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rashpa/kernel/azimuthal/counts_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "rashpa/kernel/azimuthal/counts-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace rashpa::kernel::azimuthal {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t kBlock = Prepared::kBlock;
constexpr std::size_t kAtOnce = 65'536;  // pixels of 16 bits whose sum fits into 32
/// Pixels of a block that are not 0, from which on all of them are added: those that are 0 add nothing.
constexpr int kDense = 20;

/// The findings in a block of pixels.
struct Seen {
  bool all_count = false;
  std::uint64_t not_zero = 0;  ///< a bit a pixel
};
template <typename T>
HWY_INLINE Seen look(const T* HWY_RESTRICT pixels, T least, T most) {
  const hn::CappedTag<T, kBlock> d;
  const auto zero = hn::Zero(d);
  auto low = hn::LoadU(d, pixels);
  auto high = low;
  Seen seen;
  for (std::size_t i = 0; i < kBlock; i += hn::Lanes(d)) {
    const auto values = hn::LoadU(d, pixels + i);
    low = hn::Min(low, values);
    high = hn::Max(high, values);
    seen.not_zero |= mask_bits(d, hn::Ne(values, zero)) << i;
  }
  const auto enough = hn::Eq(hn::Max(low, hn::Set(d, least)), low);
  seen.all_count = hn::AllTrue(d, hn::And(enough, hn::Eq(hn::Min(high, hn::Set(d, most)), high)));
  return seen;
}

/// Describes how sums of a bin lie in words of 64 bits.
enum class Word : std::uint8_t {
  signal,  ///< Σ count
  both,    ///< of few bits, 65536 of them at most: Σ (max(count, 1) − 1) below, above it what Σ count is more
  pair,    ///< two words: Σ count, Σ (max(count, 1) − 1)
};
template <Word kWord>
inline constexpr std::size_t kWords = kWord == Word::pair ? 2 : 1;

/// Both sums of a pixel in a word.
template <typename T>
HWY_INLINE std::uint64_t both_of(T value) {
  const auto count = static_cast<std::int64_t>(value);
  if constexpr (std::is_unsigned_v<T>) {
    const auto some = static_cast<std::uint64_t>(value != 0);  // no branch: the value of a pixel cannot be predicted
    return static_cast<std::uint64_t>(count) + (some << 32U) - some;
  } else {
    const std::int64_t beyond = std::max<std::int64_t>(count, 1) - 1;
    return static_cast<std::uint64_t>(beyond) + (static_cast<std::uint64_t>(count - beyond) << 32U);
  }
}

template <Word kWord, typename T>
HWY_INLINE void put(std::uint64_t* HWY_RESTRICT copy, std::size_t bin, T value) {
  const auto count = static_cast<std::int64_t>(value);
  if constexpr (kWord == Word::signal) {
    copy[bin] += static_cast<std::uint64_t>(count);
  } else if constexpr (kWord == Word::both) {
    copy[bin] += both_of(value);
  } else {
    copy[2 * bin] += static_cast<std::uint64_t>(count);
    copy[2 * bin + 1] += static_cast<std::uint64_t>(std::max<std::int64_t>(count, 1) - 1);
  }
}

/// Pixels [first, last) into the four copies, at most 65536 where a word has both sums. `careful` takes a block that
/// is not whole.
template <Word kWord, typename T, typename Careful>
void scatter(const Prepared& prepared, const T* HWY_RESTRICT image, T least, T most, std::size_t first,
             std::size_t last, Scratch& scratch, Sums& sums, Careful careful) {
  const std::uint16_t* HWY_RESTRICT bins = prepared.narrow();
  std::uint64_t* HWY_RESTRICT a = scratch.copies();
  std::uint64_t* HWY_RESTRICT b = a + kWords<kWord> * scratch.stride();
  std::uint64_t* HWY_RESTRICT c = b + kWords<kWord> * scratch.stride();
  std::uint64_t* HWY_RESTRICT e = c + kWords<kWord> * scratch.stride();
  for (std::size_t at = first; at < last; at += kBlock) {
    if (!prepared.counts(at / kBlock)) continue;
    if (at + kBlock > last) {
      careful(at, last);
      continue;
    }
    Seen seen = look(image + at, least, most);
    if (!seen.all_count) {
      const std::uint64_t counts = counts_of(image + at, least, most);
      seen.not_zero &= counts;
      for (std::uint64_t left = ~counts; left != 0; left &= left - 1) {
        add_masked(prepared, at + static_cast<std::size_t>(std::countr_zero(left)), sums);
      }
    }
    if (!seen.all_count || std::popcount(seen.not_zero) < kDense) {
      for (std::uint64_t left = seen.not_zero; left != 0; left &= left - 1) {
        const std::size_t i = at + static_cast<std::size_t>(std::countr_zero(left));
        put<kWord>(a, bins[i], image[i]);
      }
    } else if constexpr (kWord == Word::both) {
      HWY_ALIGN std::uint64_t words[kBlock];  // made by vectors, of all pixels before the first is added
      for (std::size_t i = 0; i < kBlock; ++i) words[i] = both_of(image[at + i]);
      const std::uint16_t* HWY_RESTRICT to = bins + at;
      for (std::size_t i = 0; i < kBlock; i += 4) {
        a[to[i]] += words[i];
        b[to[i + 1]] += words[i + 1];
        c[to[i + 2]] += words[i + 2];
        e[to[i + 3]] += words[i + 3];
      }
    } else {
      for (std::size_t i = at; i < at + kBlock; i += 4) {
        put<kWord>(a, bins[i], image[i]);
        put<kWord>(b, bins[i + 1], image[i + 1]);
        put<kWord>(c, bins[i + 2], image[i + 2]);
        put<kWord>(e, bins[i + 3], image[i + 3]);
      }
    }
  }
}

/// Adds the copies to the sums, and empties them.
template <Word kWord>
void flush(Scratch& scratch, Sums& sums) {
  std::uint64_t* HWY_RESTRICT a = scratch.copies();
  const std::size_t stride = kWords<kWord> * scratch.stride();
  const auto sum = [&](std::size_t at) { return a[at] + a[stride + at] + a[2 * stride + at] + a[3 * stride + at]; };
  for (std::size_t bin = 0; bin < sums.signal.size(); ++bin) {
    if constexpr (kWord == Word::signal) {
      sums.signal[bin] += static_cast<std::int64_t>(sum(bin));
    } else if constexpr (kWord == Word::both) {
      const std::uint64_t both = sum(bin);
      const auto beyond = static_cast<std::int64_t>(both & 0xFFFFFFFFU);
      sums.variance[bin] += beyond;
      sums.signal[bin] += beyond + static_cast<std::int32_t>(both >> 32U);
    } else {
      sums.signal[bin] += static_cast<std::int64_t>(sum(2 * bin));
      sums.variance[bin] += static_cast<std::int64_t>(sum(2 * bin + 1));
    }
  }
  std::memset(a, 0, Scratch::kCopies * stride * sizeof(std::uint64_t));
}

template <Word kWord, typename T>
void add_counts(const Prepared& prepared, const T* image, PixelFormat format, std::size_t first, std::size_t last,
                Scratch& scratch, Sums& sums) {
  const PhotonRange range = photon_range(format);
  const auto careful = [&](std::size_t begin, std::size_t end) {
    add_reference(prepared, image, format, begin, end, sums);
  };
  // blocks lie at multiples of their size
  const std::size_t from = std::min((first + kBlock - 1) / kBlock * kBlock, last);
  careful(first, from);
  for (std::size_t at = from; at < last; at += kAtOnce) {
    const std::size_t end = std::min(at + kAtOnce, last);
    scatter<kWord>(prepared, image, static_cast<T>(range.least), static_cast<T>(range.most), at, end, scratch, sums,
                   careful);
    if (kWord == Word::both || end == last) flush<kWord>(scratch, sums);
  }
}

void add_counts_impl(const Prepared& prepared, const void* image, PixelFormat format, std::size_t first,
                     std::size_t last, Scratch& scratch, Sums& sums) {
  with_type(format.type, [&]<typename T>(T) {
    constexpr Word kBoth = sizeof(T) <= 2 ? Word::both : Word::pair;
    const auto* pixels = static_cast<const T*>(image);
    if (prepared.errors() == Errors::poisson) {
      add_counts<kBoth>(prepared, pixels, format, first, last, scratch, sums);
    } else {
      add_counts<Word::signal>(prepared, pixels, format, first, last, scratch, sums);
    }
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace rashpa::kernel::azimuthal
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rashpa::kernel::azimuthal {

HWY_EXPORT(add_counts_impl);

void add_counts(const Prepared& prepared, const void* image, PixelFormat format, std::size_t first, std::size_t last,
                Scratch& scratch, Sums& sums) noexcept {
  HWY_DYNAMIC_DISPATCH(add_counts_impl)(prepared, image, format, first, last, scratch, sums);
}

}  // namespace rashpa::kernel::azimuthal
#endif  // HWY_ONCE
