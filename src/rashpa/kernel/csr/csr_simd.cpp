#include <algorithm>
#include <bit>

#include "rashpa/core/fill.hpp"
#include "rashpa/kernel/csr/csr.hpp"

// Highway compiles this file once for each instruction set (foreach_target) and chooses at run time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rashpa/kernel/csr/csr_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace rashpa::kernel::csr {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Marked pixels in a word of 64 from which on the vectors win over one pixel after the other.
constexpr int kDense = 12;

/// Appends the pixels of the word `marks` (pixel `first` and the 63 that follow): few by bit, many by vector
/// compression. Writes up to 64 entries behind `count`.
HWY_INLINE std::size_t append(const std::int16_t* HWY_RESTRICT photons, std::size_t first, std::uint64_t marks,
                              const Entries& out, std::size_t count) {
  const int marked = std::popcount(marks);
  if (marked < kDense) {
    for (; marks != 0; marks &= marks - 1) {
      const std::size_t pixel = first + static_cast<std::size_t>(std::countr_zero(marks));
      out.index[count] = static_cast<std::uint32_t>(pixel);
      out.value[count] = photons[pixel];
      count += 1;
    }
    return count;
  }
  // Eight pixels at once: a 128-bit vector of values, a 256-bit or two 128-bit vectors of indices.
  const hn::CappedTag<std::int16_t, 8> dv;
  const hn::CappedTag<std::uint32_t, 8> di;
  const std::size_t lanes = hn::Lanes(di);
  for (std::size_t v = 0; v < 64; v += 8) {
    const auto bits = static_cast<std::uint8_t>(marks >> v);
    if (bits == 0) continue;
    const std::uint8_t value_bits[8] = {bits};
    hn::StoreU(hn::Compress(hn::LoadU(dv, photons + first + v), hn::LoadMaskBits(dv, value_bits)), dv,
               out.value + count);
    for (std::size_t part = 0; part < 8; part += lanes) {
      const auto part_bits = static_cast<std::uint8_t>((bits >> part) & ((1U << lanes) - 1));
      const std::uint8_t index_bits[8] = {part_bits};
      const auto index = hn::Iota(di, static_cast<std::uint32_t>(first + v + part));
      hn::StoreU(hn::Compress(index, hn::LoadMaskBits(di, index_bits)), di, out.index + count);
      count += static_cast<std::size_t>(std::popcount(part_bits));
    }
  }
  return count;
}

/// append() where the vectors may neither read behind the last pixel nor write behind the slack.
std::size_t append_last(const std::int16_t* photons, std::size_t first, std::uint64_t marks, const Entries& out,
                        std::size_t count) {
  for (; marks != 0; marks &= marks - 1) {
    if (count == out.capacity) return kOverflow;
    const std::size_t pixel = first + static_cast<std::size_t>(std::countr_zero(marks));
    out.index[count] = static_cast<std::uint32_t>(pixel);
    out.value[count] = photons[pixel];
    count += 1;
  }
  return count;
}

std::size_t compact_marked_impl(const std::int16_t* HWY_RESTRICT photons, const std::uint64_t* HWY_RESTRICT marks,
                                std::size_t pixels, const Entries& out) {
  std::size_t count = 0;
  const std::size_t whole = pixels / 64;
  for (std::size_t word = 0; word < whole; ++word) {
    if (marks[word] == 0) continue;
    count = append(photons, word * 64, marks[word], out, count);
    if (count > out.capacity) return kOverflow;  // append() wrote into the slack
  }
  return whole * 64 < pixels ? append_last(photons, whole * 64, marks[whole], out, count) : count;
}

std::size_t compact_impl(const std::int16_t* HWY_RESTRICT photons, std::size_t pixels, std::int16_t threshold,
                         const Entries& out) {
  const hn::ScalableTag<std::int16_t> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto below = hn::Set(d, static_cast<std::int16_t>(threshold - 1));
  std::size_t count = 0;
  std::size_t first = 0;
  for (; first + 64 <= pixels; first += 64) {
    std::uint64_t marks = 0;
    for (std::size_t v = 0; v < 64; v += lanes) {
      hn::StoreMaskBits(d, hn::Gt(hn::LoadU(d, photons + first + v), below),
                        reinterpret_cast<std::uint8_t*>(&marks) + v / 8);
    }
    if (marks == 0) continue;
    count = append(photons, first, marks, out, count);
    if (count > out.capacity) return kOverflow;
  }
  std::uint64_t marks = 0;
  for (std::size_t i = first; i < pixels; ++i) {
    if (photons[i] >= threshold) marks |= std::uint64_t{1} << (i - first);
  }
  return append_last(photons, first, marks, out, count);
}

}  // namespace HWY_NAMESPACE
}  // namespace rashpa::kernel::csr
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rashpa::kernel::csr {

HWY_EXPORT(compact_impl);
HWY_EXPORT(compact_marked_impl);

std::size_t compact(const std::int16_t* photons, std::size_t pixels, std::int16_t threshold,
                    const Entries& out) noexcept {
  const std::int16_t above_masked = std::max<std::int16_t>(threshold, kMaskedPhotons + 1);
  return HWY_DYNAMIC_DISPATCH(compact_impl)(photons, pixels, above_masked, out);
}

std::size_t compact_marked(const std::int16_t* photons, const std::uint64_t* marks, std::size_t pixels,
                           const Entries& out) noexcept {
  return HWY_DYNAMIC_DISPATCH(compact_marked_impl)(photons, marks, pixels, out);
}

}  // namespace rashpa::kernel::csr
#endif  // HWY_ONCE
