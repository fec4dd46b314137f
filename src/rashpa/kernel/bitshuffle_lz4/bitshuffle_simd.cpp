// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "rashpa/kernel/bitshuffle_lz4/bitshuffle.hpp"

// Highway compiles this file once for each instruction set (foreach_target) and chooses at run time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rashpa/kernel/bitshuffle_lz4/bitshuffle_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "rashpa/kernel/bitshuffle_lz4/bitshuffle_gfni-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace rashpa::kernel::bitshuffle_lz4 {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Bytes = hn::ScalableTag<std::uint8_t>;
using Signed = hn::ScalableTag<std::int8_t>;
using Vector = hn::Vec<Bytes>;

/// Writes the eight bit planes of one byte position: one bit of each lane to each plane, the highest first because that
/// is the one a sign compare sees.
HWY_INLINE void store_planes(Vector bytes, std::uint8_t* out, std::size_t plane) {
  const Bytes d;
  const Signed s;
  for (std::size_t b = 8; b-- > 0;) {
    hn::StoreMaskBits(d, hn::RebindMask(d, hn::Lt(hn::BitCast(s, bytes), hn::Zero(s))), out + b * plane);
    bytes = hn::Add(bytes, bytes);
  }
}

/// Groups of eight elements that do not fill a vector.
void shuffle_tail(const std::uint8_t* in, std::uint8_t* out, std::size_t first, std::size_t elements,
                  std::size_t element_bytes) {
  const std::size_t plane = elements / 8;
  for (std::size_t i = first; i < elements; i += 8) {
    for (std::size_t byte = 0; byte < element_bytes; ++byte) {
      std::uint64_t bits = 0;
      for (std::size_t j = 0; j < 8; ++j) bits |= std::uint64_t{in[(i + j) * element_bytes + byte]} << (8 * j);
      bits = transpose_8x8(bits);
      for (std::size_t b = 0; b < 8; ++b)
        out[(byte * 8 + b) * plane + i / 8] = static_cast<std::uint8_t>(bits >> (8 * b));
    }
  }
}

// Elements that are taken apart to bytes, or put together of bytes, at once: they stay in the first cache.
constexpr std::size_t kTile = 1024;

/// Bytes of elements of eight bytes, each in a stream of its own.
void split_8(const std::uint8_t* in, std::uint8_t* HWY_RESTRICT streams, std::size_t elements) {
  for (std::size_t i = 0; i < elements; ++i) {
    for (std::size_t byte = 0; byte < 8; ++byte) streams[byte * kTile + i] = in[8 * i + byte];
  }
}

void shuffle_impl(const std::uint8_t* in, std::uint8_t* out, std::size_t elements, std::size_t element_bytes) {
  const Bytes d;
  const std::size_t lanes = hn::Lanes(d);
  const std::size_t plane = elements / 8;
  std::size_t i = 0;
#if RASHPA_BITSHUFFLE_GFNI
  const bool wide = element_bytes < 8 && has_gfni();
  for (; wide && i + kTransposed <= elements; i += kTransposed) {
    split_planes(in + i * element_bytes, element_bytes, out + i / 8, plane);
  }
#endif
  if (element_bytes == 2) {
    for (; i + lanes <= elements; i += lanes) {
      Vector low, high;
      hn::LoadInterleaved2(d, in + 2 * i, low, high);
      store_planes(low, out + i / 8, plane);
      store_planes(high, out + 8 * plane + i / 8, plane);
    }
  } else if (element_bytes == 4) {
    for (; i + lanes <= elements; i += lanes) {
      Vector v0, v1, v2, v3;
      hn::LoadInterleaved4(d, in + 4 * i, v0, v1, v2, v3);
      store_planes(v0, out + i / 8, plane);
      store_planes(v1, out + 8 * plane + i / 8, plane);
      store_planes(v2, out + 16 * plane + i / 8, plane);
      store_planes(v3, out + 24 * plane + i / 8, plane);
    }
  } else if (element_bytes == 8) {
    HWY_ALIGN std::uint8_t streams[8 * kTile];
    while (i + lanes <= elements) {
      const std::size_t tile = std::min(kTile, (elements - i) / lanes * lanes);
      split_8(in + 8 * i, streams, tile);
      for (std::size_t byte = 0; byte < 8; ++byte) {
        for (std::size_t j = 0; j < tile; j += lanes) {
          store_planes(hn::LoadU(d, streams + byte * kTile + j), out + 8 * byte * plane + (i + j) / 8, plane);
        }
      }
      i += tile;
    }
  } else {
    for (; i + lanes <= elements; i += lanes) store_planes(hn::LoadU(d, in + i), out + i / 8, plane);
  }
  shuffle_tail(in, out, i, elements, element_bytes);
}

// ---- back

#if HWY_TARGET <= HWY_AVX3
/// A vector of bytes of its eight bit planes, each a mask of as many bits.
HWY_INLINE void join_planes(const std::uint8_t* in, std::size_t plane, std::uint8_t* HWY_RESTRICT to) {
  const Bytes d;
  auto bytes = hn::Zero(d);
  for (std::size_t b = 0; b < 8; ++b) {
    const auto mask = hn::LoadMaskBits(d, in + b * plane);
    bytes = hn::IfThenElse(mask, hn::Add(bytes, hn::Set(d, static_cast<std::uint8_t>(1U << b))), bytes);
  }
  hn::StoreU(bytes, d, to);
}
inline std::size_t joined_at_once() { return hn::Lanes(Bytes()); }
#else
/// Exchanges the bits of `x` and of `x` shifted by kShift that `mask` picks.
template <int kShift, class D, class V>
HWY_INLINE V swap_bits(D d, V x, std::uint64_t mask) {
  const auto t = hn::And(hn::Xor(x, hn::ShiftRight<kShift>(x)), hn::Set(d, mask));
  return hn::Xor(x, hn::Xor(t, hn::ShiftLeft<kShift>(t)));
}

/// 128 bytes of their eight bit planes, 16 bytes of each: the planes' bytes side by side, then 8 × 8 bits at a time.
HWY_INLINE void join_planes(const std::uint8_t* in, std::size_t plane, std::uint8_t* HWY_RESTRICT to) {
  const hn::CappedTag<std::uint8_t, 16> d8;
  const hn::Repartition<std::uint16_t, decltype(d8)> d16;
  const hn::Repartition<std::uint32_t, decltype(d8)> d32;
  const hn::Repartition<std::uint64_t, decltype(d8)> d64;
  const auto pair = [&](std::size_t b, bool upper) {
    const auto first = hn::LoadU(d8, in + b * plane), second = hn::LoadU(d8, in + (b + 1) * plane);
    return hn::BitCast(d16, upper ? hn::InterleaveUpper(d8, first, second) : hn::InterleaveLower(d8, first, second));
  };
  const auto store = [&](auto words, std::uint8_t* at) {
    auto x = hn::BitCast(d64, words);
    x = swap_bits<7>(d64, x, 0x00AA00AA00AA00AAULL);
    x = swap_bits<14>(d64, x, 0x0000CCCC0000CCCCULL);
    x = swap_bits<28>(d64, x, 0x00000000F0F0F0F0ULL);
    hn::StoreU(hn::BitCast(d8, x), d8, at);
  };
  for (const bool upper : {false, true}) {
    const auto p01 = pair(0, upper), p23 = pair(2, upper), p45 = pair(4, upper), p67 = pair(6, upper);
    const auto low_0123 = hn::BitCast(d32, hn::InterleaveLower(d16, p01, p23));
    const auto high_0123 = hn::BitCast(d32, hn::InterleaveUpper(d16, p01, p23));
    const auto low_4567 = hn::BitCast(d32, hn::InterleaveLower(d16, p45, p67));
    const auto high_4567 = hn::BitCast(d32, hn::InterleaveUpper(d16, p45, p67));
    std::uint8_t* at = to + (upper ? 64 : 0);
    store(hn::InterleaveLower(d32, low_0123, low_4567), at);
    store(hn::InterleaveUpper(d32, low_0123, low_4567), at + 16);
    store(hn::InterleaveLower(d32, high_0123, high_4567), at + 32);
    store(hn::InterleaveUpper(d32, high_0123, high_4567), at + 48);
  }
}
inline std::size_t joined_at_once() { return 128; }
#endif

/// Groups of eight elements that no vector has taken.
void unshuffle_tail(const std::uint8_t* in, std::uint8_t* out, std::size_t first, std::size_t elements,
                    std::size_t element_bytes) {
  const std::size_t plane = elements / 8;
  for (std::size_t i = first; i < elements; i += 8) {
    for (std::size_t byte = 0; byte < element_bytes; ++byte) {
      std::uint64_t bits = 0;
      for (std::size_t b = 0; b < 8; ++b) bits |= std::uint64_t{in[(byte * 8 + b) * plane + i / 8]} << (8 * b);
      bits = transpose_8x8(bits);
      for (std::size_t j = 0; j < 8; ++j) {
        out[(i + j) * element_bytes + byte] = static_cast<std::uint8_t>(bits >> (8 * j));
      }
    }
  }
}

/// Elements of their bytes, which lie in streams; `elements` is a multiple of a vector's lanes.
void interleave(const std::uint8_t* HWY_RESTRICT streams, std::uint8_t* out, std::size_t elements,
                std::size_t element_bytes) {
  const Bytes d;
  const std::size_t lanes = hn::Lanes(d);
  const auto stream = [&](std::size_t byte, std::size_t i) { return hn::LoadU(d, streams + byte * kTile + i); };
  if (element_bytes == 2) {
    for (std::size_t i = 0; i < elements; i += lanes) {
      hn::StoreInterleaved2(stream(0, i), stream(1, i), d, out + 2 * i);
    }
  } else if (element_bytes == 4) {
    for (std::size_t i = 0; i < elements; i += lanes) {
      hn::StoreInterleaved4(stream(0, i), stream(1, i), stream(2, i), stream(3, i), d, out + 4 * i);
    }
  } else {
    for (std::size_t i = 0; i < elements; ++i) {
      for (std::size_t byte = 0; byte < 8; ++byte) out[8 * i + byte] = streams[byte * kTile + i];
    }
  }
}

void unshuffle_impl(const std::uint8_t* in, std::uint8_t* out, std::size_t elements, std::size_t element_bytes) {
  const std::size_t plane = elements / 8;
  HWY_ALIGN std::uint8_t streams[8 * kTile];
  std::size_t i = 0;
  const auto take = [&](std::size_t at_once, auto join) {
    while (i + at_once <= elements) {
      const std::size_t tile = std::min(kTile, (elements - i) / at_once * at_once);
      for (std::size_t byte = 0; byte < element_bytes; ++byte) {
        std::uint8_t* to = element_bytes == 1 ? out + i : streams + byte * kTile;
        for (std::size_t j = 0; j < tile; j += at_once) join(in + 8 * byte * plane + (i + j) / 8, plane, to + j);
      }
      if (element_bytes > 1) interleave(streams, out + i * element_bytes, tile, element_bytes);
      i += tile;
    }
  };
#if RASHPA_BITSHUFFLE_GFNI
  if (has_gfni()) take(kTransposed, join_512);
#endif
  // Called by name: without optimisation a function that is handed over cannot be inlined, as this one must be.
  take(joined_at_once(),
       [](const std::uint8_t* from, std::size_t step, std::uint8_t* to) { join_planes(from, step, to); });
  unshuffle_tail(in, out, i, elements, element_bytes);
}

// ---- noise

std::size_t noise_planes_impl(const std::uint8_t* in, std::size_t plane, std::size_t planes) {
  const Bytes d;
  const std::size_t lanes = hn::Lanes(d);
  if (plane < 64) return 0;
  for (std::size_t number = 0; number < planes; ++number, in += plane) {
    std::size_t equal = 0, i = 0;
    for (; i + lanes + 1 <= plane; i += lanes) {
      equal += hn::CountTrue(d, hn::Eq(hn::LoadU(d, in + i), hn::LoadU(d, in + i + 1)));
    }
    for (; i + 1 < plane; ++i) equal += in[i] == in[i + 1] ? 1 : 0;
    if (16 * equal >= plane) return number;
  }
  return planes;
}

}  // namespace HWY_NAMESPACE
}  // namespace rashpa::kernel::bitshuffle_lz4
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rashpa::kernel::bitshuffle_lz4 {

HWY_EXPORT(shuffle_impl);
HWY_EXPORT(unshuffle_impl);
HWY_EXPORT(noise_planes_impl);

void shuffle(const std::byte* in, std::byte* out, std::size_t elements, std::size_t element_bytes) noexcept {
  HWY_DYNAMIC_DISPATCH(shuffle_impl)
  (reinterpret_cast<const std::uint8_t*>(in), reinterpret_cast<std::uint8_t*>(out), elements, element_bytes);
}

void unshuffle(const std::byte* in, std::byte* out, std::size_t elements, std::size_t element_bytes) noexcept {
  HWY_DYNAMIC_DISPATCH(unshuffle_impl)
  (reinterpret_cast<const std::uint8_t*>(in), reinterpret_cast<std::uint8_t*>(out), elements, element_bytes);
}

std::size_t noise_planes(const std::byte* in, std::size_t plane_bytes, std::size_t planes) noexcept {
  return HWY_DYNAMIC_DISPATCH(noise_planes_impl)(reinterpret_cast<const std::uint8_t*>(in), plane_bytes, planes);
}

}  // namespace rashpa::kernel::bitshuffle_lz4
#endif
