// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "rashpa/kernel/unpack/unpack.hpp"

// Highway compiles this file once for each instruction set (foreach_target) and chooses at run time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rashpa/kernel/unpack/unpack_simd.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace rashpa::kernel::unpack {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Bytes = hn::ScalableTag<std::uint8_t>;
using Words = hn::ScalableTag<std::uint32_t>;

/// 12 consecutive bytes in each block of 16: bytes of block k begin at 12 · k.
struct Spread {
  Spread() {
    const Words d;
    HWY_ALIGN std::uint32_t at[hn::MaxLanes(d)];
    for (std::uint32_t lane = 0; lane < hn::Lanes(d); ++lane) at[lane] = lane / 4 * 3 + lane % 4;
    // the last lane would lie beyond what is loaded; nobody looks at it
    for (std::uint32_t lane = 0; lane < hn::Lanes(d); ++lane) at[lane] %= static_cast<std::uint32_t>(hn::Lanes(d));
    indices = hn::IndicesFromVec(d, hn::Load(d, at));
  }
  decltype(hn::IndicesFromVec(Words(), hn::Zero(Words()))) indices;

  HWY_INLINE hn::Vec<Bytes> load(const std::uint8_t* in) const {
    const Bytes d;
    const auto loaded = hn::LoadU(d, in);
    if (hn::Lanes(d) == 16) return loaded;
    return hn::BitCast(d, hn::TableLookupLanes(hn::BitCast(Words(), loaded), indices));
  }
};

/// `kPast`: past the caches.
template <bool kPast>
HWY_INLINE void put(hn::Vec<Bytes> values, std::uint8_t* out) {
  const Bytes d;
  if constexpr (kPast) {
    hn::Stream(values, d, out);
  } else {
    hn::StoreU(values, d, out);
  }
}

// Bytes of the three-byte words of a block; 0x80: none.
HWY_ALIGN constexpr std::uint8_t kThreeToFour[16] = {0, 1, 2, 0x80, 3, 4, 5, 0x80, 6, 7, 8, 0x80, 9, 10, 11, 0x80};
HWY_ALIGN constexpr std::uint8_t kThreeToTwice[16] = {0, 1, 1, 2, 3, 4, 4, 5, 6, 7, 7, 8, 9, 10, 10, 11};

/// `made(in)` is a vector of pixels of the `taken` bytes at `in`, of which it loads a whole vector. The last bytes are
/// copied, so that nothing is read behind them.
template <bool kPast, class Made>
HWY_INLINE void unpack_all(const std::uint8_t* in, std::size_t bytes, std::size_t taken, std::uint8_t* out,
                           std::size_t out_bytes, const Made& made) {
  const Bytes d;
  const std::size_t lanes = hn::Lanes(d);
  // Four are loaded before the first is stored: a load waits for an earlier store whose address has the same low 12
  // bits, and counters and pixels run through their pages at different speeds.
  for (; bytes >= 3 * taken + lanes; in += 4 * taken, bytes -= 4 * taken, out += 4 * lanes, out_bytes -= 4 * lanes) {
    const auto first = made(in), second = made(in + taken), third = made(in + 2 * taken), fourth = made(in + 3 * taken);
    put<kPast>(first, out);
    put<kPast>(second, out + lanes);
    put<kPast>(third, out + 2 * lanes);
    put<kPast>(fourth, out + 3 * lanes);
  }
  for (; bytes >= lanes; in += taken, bytes -= taken, out += lanes, out_bytes -= lanes) put<kPast>(made(in), out);
  HWY_ALIGN std::uint8_t last[hn::MaxLanes(d)] = {};
  HWY_ALIGN std::uint8_t pixels[hn::MaxLanes(d)];
  while (bytes > 0) {
    const std::size_t some = std::min(taken, bytes), made_bytes = std::min(lanes, out_bytes);
    std::memcpy(last, in, some);
    hn::Store(made(last), d, pixels);
    std::memcpy(out, pixels, made_bytes);
    in += some;
    bytes -= some;
    out += made_bytes;
    out_bytes -= made_bytes;
  }
}

template <bool kPast>
void unpack_to(Bits bits, const std::uint8_t* in, std::uint8_t* out, std::size_t pixels) {
  const Bytes d;
  const Words d32;
  const hn::ScalableTag<std::uint16_t> d16;
  const std::size_t lanes = hn::Lanes(d);
  const std::size_t bytes = pixels / 8 * count_of(bits), out_bytes = pixels * pixel_bytes(type_of(bits));
  if (bits == Bits::one) {
    const auto one = hn::Set(d, std::uint8_t{1});
    std::size_t done = 0;
    for (; done + lanes <= pixels; done += lanes) {
      put<kPast>(hn::IfThenElseZero(hn::LoadMaskBits(d, in + done / 8), one), out + done);
    }
    for (; done < pixels; ++done) out[done] = in[done / 8] >> (done % 8) & 1U;
    return;
  }
  const Spread spread;
  const std::size_t taken = lanes / 16 * 12;
  const auto four = hn::LoadDup128(d, kThreeToFour);
  if (bits == Bits::twenty_four) {
    unpack_all<kPast>(in, bytes, taken, out, out_bytes,
                      [&](const std::uint8_t* at) { return hn::TableLookupBytesOr0(spread.load(at), four); });
  } else if (bits == Bits::twelve) {
    const auto twice = hn::LoadDup128(d, kThreeToTwice);
    const auto low12 = hn::Set(d16, std::uint16_t{0xFFF});
    unpack_all<kPast>(in, bytes, taken, out, out_bytes, [&](const std::uint8_t* at) {
      const auto pairs = hn::BitCast(d16, hn::TableLookupBytes(spread.load(at), twice));
      return hn::BitCast(d, hn::OddEven(hn::ShiftRight<4>(pairs), hn::And(pairs, low12)));
    });
  } else {
    const auto b0 = hn::Set(d32, 0x3FU), b1 = hn::Set(d32, 0x3F00U), b2 = hn::Set(d32, 0x3F0000U),
               b3 = hn::Set(d32, 0x3F000000U);
    unpack_all<kPast>(in, bytes, taken, out, out_bytes, [&](const std::uint8_t* at) {
      const auto words = hn::BitCast(d32, hn::TableLookupBytesOr0(spread.load(at), four));
      const auto low = hn::Or(hn::And(words, b0), hn::And(hn::ShiftLeft<2>(words), b1));
      const auto high = hn::Or(hn::And(hn::ShiftLeft<4>(words), b2), hn::And(hn::ShiftLeft<6>(words), b3));
      return hn::BitCast(d, hn::Or(low, high));
    });
  }
}

/// Copies past the caches: whole cache lines of `to`; its ends go through them.
void stream(std::uint8_t* to, const std::uint8_t* from, std::size_t bytes) {
  constexpr std::size_t kLine = 64;
  const hn::CappedTag<std::uint8_t, kLine> d;
  const std::size_t head = std::min(bytes, (kLine - reinterpret_cast<std::uintptr_t>(to) % kLine) % kLine);
  std::memcpy(to, from, head);
  std::size_t at = head;
  for (; at + kLine <= bytes; at += kLine) {
    for (std::size_t v = 0; v < kLine; v += hn::Lanes(d)) hn::Stream(hn::LoadU(d, from + at + v), d, to + at + v);
  }
  std::memcpy(to + at, from + at, bytes - at);
}

void unpack_impl(Bits bits, const std::uint8_t* in, std::uint8_t* out, std::size_t pixels) {
  if (reinterpret_cast<std::uintptr_t>(out) % hn::Lanes(Bytes()) == 0) return unpack_to<true>(bits, in, out, pixels);
  // A row that is not aligned: through a stage in the first-level cache, whole lines past the caches.
  constexpr std::size_t kStaged = 2048;
  HWY_ALIGN std::uint8_t stage[kStaged * sizeof(std::uint32_t)];
  const std::size_t pixel = pixel_bytes(type_of(bits));
  for (std::size_t done = 0; done < pixels; done += kStaged) {
    const std::size_t some = std::min(kStaged, pixels - done);
    unpack_to<false>(bits, in + done / 8 * count_of(bits), stage, some);
    stream(out + done * pixel, stage, some * pixel);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace rashpa::kernel::unpack
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rashpa::kernel::unpack {

HWY_EXPORT(unpack_impl);

void unpack(Bits bits, const std::byte* in, std::byte* out, std::size_t pixels) noexcept {
  HWY_DYNAMIC_DISPATCH(unpack_impl)
  (bits, reinterpret_cast<const std::uint8_t*>(in), reinterpret_cast<std::uint8_t*>(out), pixels);
}

void flush() noexcept { hwy::FlushStream(); }

}  // namespace rashpa::kernel::unpack
#endif  // HWY_ONCE
