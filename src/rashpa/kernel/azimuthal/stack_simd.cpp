// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <type_traits>

#include "rashpa/kernel/azimuthal/stack_sums.hpp"
#include "rashpa/kernel/photons/photons.hpp"

// Highway compiles this file once for each instruction set (foreach_target) and chooses at run time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rashpa/kernel/azimuthal/stack_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "rashpa/kernel/azimuthal/counts-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace rashpa::kernel::azimuthal {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t kBlock = Prepared::kBlock;
constexpr std::size_t kTogether = StackSums::kTogether;
/// Values of a block, all images, that are not 0, from which on all of them are added.
constexpr std::size_t kDense = 40;

/// Pixels of images as they are looked at: 16 bits. Of 32 bits, those that do not fit are seen as a value that is none.
template <typename T>
using Short = std::conditional_t<std::is_signed_v<T>, std::int16_t, std::uint16_t>;

template <typename S>
struct Range {
  S least = 0, most = 0;
};
template <typename T>
Range<Short<T>> short_range(PixelFormat format) {
  using S = Short<T>;
  const PhotonRange range = photon_range(format);
  std::int64_t least = range.least, most = range.most;
  if constexpr (sizeof(T) == 4) {  // the ends hold what does not fit
    least = std::max<std::int64_t>(least, std::is_signed_v<T> ? std::numeric_limits<S>::min() + 1 : 0);
    most = std::min<std::int64_t>(most, std::numeric_limits<S>::max() - 1);
  }
  return {static_cast<S>(least), static_cast<S>(most)};
}

/// Most a pixel of a block, with room beside it in short vectors.
#if HWY_HAVE_SCALABLE
using Words = hn::FixedTag<std::uint16_t, 8>;
#else
using Words = hn::CappedTag<std::uint16_t, 32>;
#endif

/// A block of one image in 16 bits.
template <typename T>
HWY_INLINE void shorten(const T* HWY_RESTRICT from, Short<T>* HWY_RESTRICT to) {
  if constexpr (sizeof(T) == 1) {
    const hn::RebindToUnsigned<Words> d;
    const hn::Rebind<std::uint8_t, Words> bytes;
    for (std::size_t i = 0; i < kBlock; i += hn::Lanes(d)) {
      hn::StoreU(hn::PromoteTo(d, hn::LoadU(bytes, from + i)), d, to + i);
    }
  } else {
    for (std::size_t i = 0; i < kBlock; ++i) {
      to[i] = static_cast<Short<T>>(
          std::clamp<T>(from[i], std::numeric_limits<Short<T>>::min(), std::numeric_limits<Short<T>>::max()));
    }
  }
}

/// The findings in a block.
struct Seen {
  bool all_count = false;
  std::size_t not_zero = 0;
  std::uint32_t most = 0;  ///< without its sign
};
template <typename S>
HWY_INLINE Seen look(const S* const* HWY_RESTRICT rows, std::size_t count, Range<S> range) {
  const hn::Rebind<S, Words> d;
  const Words du;
  const auto one = hn::Set(du, 1);
  auto low = hn::LoadU(d, rows[0]);
  auto high = low;
  auto some = hn::Zero(du);
  for (std::size_t r = 0; r < count; ++r) {
    for (std::size_t i = 0; i < kBlock; i += hn::Lanes(d)) {
      const auto values = hn::LoadU(d, rows[r] + i);
      low = hn::Min(low, values);
      high = hn::Max(high, values);
      some = hn::Add(some, hn::Min(hn::BitCast(du, values), one));
    }
  }
  Seen seen;
  const auto enough = hn::Eq(hn::Max(low, hn::Set(d, range.least)), low);
  seen.all_count = hn::AllTrue(d, hn::And(enough, hn::Eq(hn::Min(high, hn::Set(d, range.most)), high)));
  auto most = hn::BitCast(du, high);
  if constexpr (std::is_signed_v<S>) {  // without its sign the least of a type is its own negative
    const auto zero = hn::Zero(d);
    most = hn::Max(hn::BitCast(du, hn::Max(high, zero)), hn::BitCast(du, hn::Neg(hn::Min(low, zero))));
  }
  seen.most = hn::GetLane(hn::MaxOfLanes(du, most));
  seen.not_zero = hn::GetLane(hn::SumOfLanes(du, some));
  return seen;
}

/// A bit for each pixel of a row that is not 0.
template <typename S>
HWY_INLINE std::uint64_t not_zero(const S* HWY_RESTRICT row) {
  const hn::Rebind<S, Words> d;
  std::uint64_t all = 0;
  for (std::size_t i = 0; i < kBlock; i += hn::Lanes(d)) {
    all |= mask_bits(d, hn::Ne(hn::LoadU(d, row + i), hn::Zero(d))) << i;
  }
  return all;
}

/// Eight pixels a block of 128 bits of eight images become eight images a block of 128 bits: in vector k, block b is
/// pixel 8 b + k.
using Octet = std::array<hn::Vec<Words>, 8>;
HWY_INLINE Octet turned(const std::uint16_t* const* HWY_RESTRICT rows, std::size_t at) {
  const Words d;
  const hn::Repartition<std::uint32_t, Words> d32;
  const hn::Repartition<std::uint64_t, Words> d64;
  Octet a, b;
  for (std::size_t i = 0; i < 8; ++i) a[i] = hn::LoadU(d, rows[i] + at);
  for (std::size_t i = 0; i < 8; i += 2) {
    b[i] = hn::InterleaveLower(d, a[i], a[i + 1]);
    b[i + 1] = hn::InterleaveUpper(d, a[i], a[i + 1]);
  }
  for (std::size_t i = 0; i < 8; i += 4) {
    for (std::size_t j = 0; j < 2; ++j) {
      const auto x = hn::BitCast(d32, b[i + j]), y = hn::BitCast(d32, b[i + j + 2]);
      a[i + 2 * j] = hn::BitCast(d, hn::InterleaveLower(d32, x, y));
      a[i + 2 * j + 1] = hn::BitCast(d, hn::InterleaveUpper(d32, x, y));
    }
  }
  for (std::size_t j = 0; j < 4; ++j) {
    const auto x = hn::BitCast(d64, a[j]), y = hn::BitCast(d64, a[j + 4]);
    b[2 * j] = hn::BitCast(d, hn::InterleaveLower(d64, x, y));
    b[2 * j + 1] = hn::BitCast(d, hn::InterleaveUpper(d64, x, y));
  }
  return b;
}

/// Blocks of 128 bits in a vector.
constexpr std::size_t kWide = HWY_HAVE_SCALABLE ? 1 : hn::MaxLanes(Words()) / 8;
/// Returns which pixel lies at place q of a turned block: the order in which they come out of the vectors. Neighbours
/// are not next to each other, so that an addition seldom waits for the one before it.
constexpr std::array<std::uint8_t, kBlock> pixels_in_order() {
  std::array<std::uint8_t, kBlock> pixels{};
  for (std::size_t q = 0; q < kBlock; ++q) {
    const std::size_t in = q % (8 * kWide), k = in / kWide, part = in % kWide;
    const std::size_t block = kWide == 4 ? part / 2 + part % 2 * 2 : part;
    pixels[q] = static_cast<std::uint8_t>(q - in + 8 * block + k);
  }
  return pixels;
}
constexpr auto kPixel = pixels_in_order();

/// All pixels of a block, kTogether images of a pixel one after the other.
HWY_INLINE void turn(const std::uint16_t* const* HWY_RESTRICT rows, std::uint16_t* HWY_RESTRICT to) {
  const Words d;
  for (std::size_t at = 0; at < kBlock; at += 8 * kWide) {
    const Octet low = turned(rows, at), high = turned(rows + 8, at);
    for (std::size_t k = 0; k < 8; ++k, to += kTogether * kWide) {
      if constexpr (kWide == 1) {
        hn::Store(low[k], d, to);
        hn::Store(high[k], d, to + 8);
      } else {
        hn::Store(hn::OddEvenBlocks(hn::SwapAdjacentBlocks(high[k]), low[k]), d, to);
        hn::Store(hn::OddEvenBlocks(high[k], hn::SwapAdjacentBlocks(low[k])), d, to + 8 * kWide);
      }
    }
  }
}

/// A turned block into the rows of its bins.
template <typename S, bool kPoisson>
HWY_INLINE void add_turned(const std::uint16_t* HWY_RESTRICT bins, const std::uint16_t* HWY_RESTRICT turned,
                           std::uint32_t* HWY_RESTRICT rows) {
  using Long = std::conditional_t<std::is_signed_v<S>, std::int32_t, std::uint32_t>;
#if HWY_HAVE_SCALABLE
  const hn::FixedTag<Long, 4> d;
#else
  const hn::CappedTag<Long, kTogether> d;
#endif
  const hn::Rebind<S, decltype(d)> half;
  constexpr std::size_t kRow = (kPoisson ? 2U : 1U) * kTogether;
  const auto one = hn::Set(d, 1);
  for (std::size_t q = 0; q < kBlock; ++q) {
    Long* HWY_RESTRICT row = reinterpret_cast<Long*>(rows) + bins[kPixel[q]] * kRow;
    const S* HWY_RESTRICT values = reinterpret_cast<const S*>(turned) + q * kTogether;
    for (std::size_t i = 0; i < kTogether; i += hn::Lanes(d)) {
      const auto value = hn::PromoteTo(d, hn::Load(half, values + i));
      hn::Store(hn::Add(hn::Load(d, row + i), value), d, row + i);
      if constexpr (kPoisson) {
        Long* HWY_RESTRICT variance = row + kTogether + i;
        hn::Store(hn::Add(hn::Load(d, variance), hn::Sub(hn::Max(value, one), one)), d, variance);
      }
    }
  }
}

/// Adds the pixels that are not 0, one by one.
template <typename S, bool kPoisson>
void add_few(const std::uint16_t* HWY_RESTRICT bins, const S* const* HWY_RESTRICT block, std::size_t count,
             std::uint32_t* HWY_RESTRICT rows) {
  constexpr std::size_t kRow = (kPoisson ? 2U : 1U) * kTogether;
  for (std::size_t i = 0; i < count; ++i) {
    for (std::uint64_t left = not_zero(block[i]); left != 0; left &= left - 1) {
      const auto p = static_cast<std::size_t>(std::countr_zero(left));
      std::uint32_t* row = rows + bins[p] * kRow + i;
      const std::int32_t value = block[i][p];
      *row += static_cast<std::uint32_t>(value);
      if constexpr (kPoisson) row[kTogether] += static_cast<std::uint32_t>(std::max(value, 1) - 1);
    }
  }
}

/// Pixels that are no counts, or too large for 16 bits, leave the row.
template <typename T>
void clean(const Prepared& prepared, const T* image, PhotonRange range, Range<Short<T>> inside, std::size_t at,
           Short<T>* HWY_RESTRICT row, Sums& sums) {
  for (std::uint64_t left = ~counts_of(row, inside.least, inside.most); left != 0; left &= left - 1) {
    const auto p = static_cast<std::size_t>(std::countr_zero(left));
    const auto value = static_cast<std::int64_t>(image[at + p]);
    row[p] = 0;
    if (value < range.least || value > range.most) {
      add_masked(prepared, at + p, sums);
      continue;
    }
    const std::size_t bin = prepared.bin(at + p);
    sums.signal[bin] += value;
    if (!sums.variance.empty()) sums.variance[bin] += std::max<std::int64_t>(value, 1) - 1;
  }
}

template <typename T, bool kPoisson>
void add_chunk(StackSums& stack, std::size_t chunk, const T* const* images, std::size_t count, std::size_t first,
               std::size_t last, Sums* sums) {
  using S = Short<T>;
  const Prepared& prepared = stack.prepared();
  const PhotonRange range = photon_range(stack.format());
  const Range<S> inside = short_range<T>(stack.format());
  std::uint32_t* const rows = stack.rows(chunk);
  alignas(64) S own[kTogether][kBlock];
  alignas(64) std::uint16_t turned[kBlock * kTogether];
  alignas(64) static constexpr S kNothing[kBlock] = {};
  const S* block[kTogether];
  std::fill(block, block + kTogether, kNothing);
  for (std::size_t at = first; at < last; at += kBlock) {
    if (!prepared.counts(at / kBlock)) continue;
    for (std::size_t i = 0; i < count; ++i) {
      if constexpr (sizeof(T) == 2) {
        block[i] = images[i] + at;
      } else {
        shorten(images[i] + at, own[i]);
        block[i] = own[i];
      }
    }
    Seen seen = look(block, count, inside);
    if (!seen.all_count) {
      for (std::size_t i = 0; i < count; ++i) {
        if (block[i] != own[i]) std::memcpy(own[i], block[i], sizeof(own[i]));
        block[i] = own[i];
        clean(prepared, images[i], range, inside, at, own[i], sums[i]);
      }
      seen = look(block, count, inside);
    }
    if (seen.not_zero == 0) continue;
    if (const std::uint64_t most = std::uint64_t{seen.most} * kBlock; !stack.take_room(chunk, most)) {
      stack.flush_chunk(chunk, sums, count);
      stack.take_room(chunk, most);
    }
    if (seen.not_zero < kDense) {
      add_few<S, kPoisson>(prepared.narrow() + at, block, count, rows);
    } else {
      turn(reinterpret_cast<const std::uint16_t* const*>(block), turned);
      add_turned<S, kPoisson>(prepared.narrow() + at, turned, rows);
    }
  }
}

/// Returns true when at least one pixel in twelve holds something, judged from some blocks of the images, in turn.
bool is_dense_impl(PixelFormat format, const std::byte* const* images, std::size_t count, std::size_t first,
                   std::size_t last) {
  constexpr std::size_t kApart = 16 * kBlock, kOneIn = 12;
  return with_type(format.type, [&]<typename T>(T) {
    std::size_t seen = 0, some = 0;
    for (std::size_t at = first; at < last; at += kApart, seen += kBlock) {
      alignas(64) Short<T> block[kBlock];
      shorten(reinterpret_cast<const T*>(images[at / kApart % count]) + at, block);
      some += static_cast<std::size_t>(std::popcount(not_zero(block)));
    }
    return kOneIn * some >= seen;
  });
}

void add_together_impl(StackSums& stack, std::size_t chunk, const std::byte* const* images, std::size_t count,
                       std::size_t first, std::size_t last, Sums* sums) {
  with_type(stack.format().type, [&]<typename T>(T) {
    const auto* pixels = reinterpret_cast<const T* const*>(images);
    if (stack.prepared().errors() == Errors::poisson) {
      add_chunk<T, true>(stack, chunk, pixels, count, first, last, sums);
    } else {
      add_chunk<T, false>(stack, chunk, pixels, count, first, last, sums);
    }
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace rashpa::kernel::azimuthal
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rashpa::kernel::azimuthal {

HWY_EXPORT(add_together_impl);
HWY_EXPORT(is_dense_impl);

bool is_dense(PixelFormat format, const std::byte* const* images, std::size_t count, std::size_t first,
              std::size_t last) noexcept {
  return HWY_DYNAMIC_DISPATCH(is_dense_impl)(format, images, count, first, last);
}

void add_together(StackSums& stack, std::size_t chunk, const std::byte* const* images, std::size_t count,
                  std::size_t first, std::size_t last, Sums* sums) noexcept {
  HWY_DYNAMIC_DISPATCH(add_together_impl)(stack, chunk, images, count, first, last, sums);
}

}  // namespace rashpa::kernel::azimuthal
#endif  // HWY_ONCE
