// SPDX-License-Identifier: Apache-2.0
#include "rashpa/kernel/bitshuffle_lz4/bitshuffle.hpp"

// Highway compiles this file once for each instruction set (foreach_target) and chooses at run time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rashpa/kernel/bitshuffle_lz4/bitshuffle_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

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

void shuffle_impl(const std::uint8_t* in, std::uint8_t* out, std::size_t elements, std::size_t element_bytes) {
  const Bytes d;
  const std::size_t lanes = hn::Lanes(d);
  const std::size_t plane = elements / 8;
  std::size_t i = 0;
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
  } else {
    for (; i + lanes <= elements; i += lanes) store_planes(hn::LoadU(d, in + i), out + i / 8, plane);
  }
  shuffle_tail(in, out, i, elements, element_bytes);
}

}  // namespace HWY_NAMESPACE
}  // namespace rashpa::kernel::bitshuffle_lz4
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rashpa::kernel::bitshuffle_lz4 {

HWY_EXPORT(shuffle_impl);

void shuffle(const std::byte* in, std::byte* out, std::size_t elements, std::size_t element_bytes) noexcept {
  HWY_DYNAMIC_DISPATCH(shuffle_impl)
  (reinterpret_cast<const std::uint8_t*>(in), reinterpret_cast<std::uint8_t*>(out), elements, element_bytes);
}

}  // namespace rashpa::kernel::bitshuffle_lz4
#endif
