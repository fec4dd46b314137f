// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <type_traits>

#include "rashpa/kernel/csr/csr.hpp"
#include "rashpa/kernel/photons.hpp"

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

template <typename T>
struct List {
  std::uint32_t* HWY_RESTRICT index;
  T* HWY_RESTRICT value;
  std::size_t capacity;
};

template <typename T>
HWY_INLINE std::size_t append_by_bit(const T* HWY_RESTRICT image, std::size_t first, std::uint64_t marks,
                                     const List<T>& out, std::size_t count) {
  for (; marks != 0; marks &= marks - 1) {
    const std::size_t pixel = first + static_cast<std::size_t>(std::countr_zero(marks));
    out.index[count] = static_cast<std::uint32_t>(pixel);
    out.value[count] = image[pixel];
    count += 1;
  }
  return count;
}

/// Those of eight elements of which the bit is set, to `to`; returns how many.
template <class D, class Load>
HWY_INLINE std::size_t compress_eight(D d, std::uint8_t bits, Load load, hn::TFromD<D>* to) {
  const std::size_t lanes = hn::Lanes(d);
  std::size_t count = 0;
  for (std::size_t part = 0; part < 8; part += lanes) {
    const auto some = static_cast<std::uint8_t>((bits >> part) & ((1U << lanes) - 1));
    const std::uint8_t mask_bits[8] = {some};
    hn::StoreU(hn::Compress(load(part), hn::LoadMaskBits(d, mask_bits)), d, to + count);
    count += static_cast<std::size_t>(std::popcount(some));
  }
  return count;
}

/// Appends the pixels of the word `marks` (pixel `first` and the 63 that follow): few by bit, many by vector
/// compression. Writes up to 64 entries behind `count`.
template <typename T>
HWY_INLINE std::size_t append(const T* HWY_RESTRICT image, std::size_t first, std::uint64_t marks, const List<T>& out,
                              std::size_t count) {
  // Bytes are not compressed by any machine's vectors.
  if (sizeof(T) == 1 || std::popcount(marks) < kDense) return append_by_bit(image, first, marks, out, count);
  if constexpr (sizeof(T) > 1) {
    // Eight pixels at once, as far as the vectors are wide.
    const hn::CappedTag<T, 8> dv;
    const hn::CappedTag<std::uint32_t, 8> di;
    for (std::size_t v = 0; v < 64; v += 8) {
      const auto bits = static_cast<std::uint8_t>(marks >> v);
      if (bits == 0) continue;
      const std::size_t at = first + v;
      compress_eight(
          dv, bits, [&](std::size_t part) { return hn::LoadU(dv, image + at + part); }, out.value + count);
      count += compress_eight(
          di, bits, [&](std::size_t part) { return hn::Iota(di, static_cast<std::uint32_t>(at + part)); },
          out.index + count);
    }
  }
  return count;
}

/// append() where the vectors may neither read behind the last pixel nor write behind the slack.
template <typename T>
std::size_t append_last(const T* image, std::size_t first, std::uint64_t marks, const List<T>& out, std::size_t count) {
  if (marks == 0) return count;
  if (count + static_cast<std::size_t>(std::popcount(marks)) > out.capacity) return kOverflow;
  return append_by_bit(image, first, marks, out, count);
}

template <typename T>
std::size_t compact_marked_typed(const T* HWY_RESTRICT image, const std::uint64_t* HWY_RESTRICT marks,
                                 std::size_t pixels, const List<T>& out) {
  std::size_t count = 0;
  const std::size_t whole = pixels / 64;
  for (std::size_t word = 0; word < whole; ++word) {
    if (marks[word] == 0) continue;
    count = append(image, word * 64, marks[word], out, count);
    if (count > out.capacity) return kOverflow;  // append() wrote into the slack
  }
  return whole * 64 < pixels ? append_last(image, whole * 64, marks[whole], out, count) : count;
}

/// One bit a pixel of the 64 from `image` on: `least` to `most`, which is the largest value of signed pixels.
template <typename T>
HWY_INLINE std::uint64_t marks_of(const T* HWY_RESTRICT image, T least, T most) {
  const hn::ScalableTag<T> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto low = hn::Set(d, least);
  const auto width = hn::Set(d, static_cast<T>(most - least + 1));  // of unsigned pixels, below their largest value
  const auto below = hn::Set(d, static_cast<T>(least - 1));
  std::uint64_t marks = 0;
  for (std::size_t v = 0; v < 64; v += lanes) {
    const auto values = hn::LoadU(d, image + v);
    std::uint64_t bits = 0;
    if constexpr (std::is_signed_v<T>) {
      hn::StoreMaskBits(d, hn::Gt(values, below), reinterpret_cast<std::uint8_t*>(&bits));
    } else {
      hn::StoreMaskBits(d, hn::Gt(width, hn::Sub(values, low)), reinterpret_cast<std::uint8_t*>(&bits));
    }
    marks |= bits << v;
  }
  return marks;
}

template <typename T>
std::size_t compact_typed(const T* HWY_RESTRICT image, std::size_t pixels, T least, T most, const List<T>& out) {
  std::size_t count = 0;
  std::size_t first = 0;
  for (; first + 64 <= pixels; first += 64) {
    const std::uint64_t marks = marks_of(image + first, least, most);
    if (marks == 0) continue;
    count = append(image, first, marks, out, count);
    if (count > out.capacity) return kOverflow;
  }
  std::uint64_t marks = 0;
  for (std::size_t i = first; i < pixels; ++i) {
    if (image[i] >= least && image[i] <= most) marks |= std::uint64_t{1} << (i - first);
  }
  return append_last(image, first, marks, out, count);
}

template <typename T>
List<T> list_of(const Entries& out) {
  return {out.index, static_cast<T*>(out.value), out.capacity};
}

std::size_t compact_marked_impl(const void* image, PixelType type, const std::uint64_t* marks, std::size_t pixels,
                                const Entries& out) {
  return with_type(type, [&]<typename T>(T) {
    return compact_marked_typed<T>(static_cast<const T*>(image), marks, pixels, list_of<T>(out));
  });
}

std::size_t compact_impl(const void* image, PixelType type, std::size_t pixels, const PhotonRange& range,
                         const Entries& out) {
  return with_type(type, [&]<typename T>(T) {
    return compact_typed<T>(static_cast<const T*>(image), pixels, static_cast<T>(range.least),
                            static_cast<T>(range.most), list_of<T>(out));
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace rashpa::kernel::csr
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rashpa::kernel::csr {

HWY_EXPORT(compact_impl);
HWY_EXPORT(compact_marked_impl);

std::size_t compact(const void* image, PixelFormat format, std::size_t pixels, std::int32_t threshold,
                    const Entries& out) noexcept {
  format = looked_at(format);
  const PhotonRange range = from_threshold(format, threshold);
  if (range.least > range.most) return 0;
  return HWY_DYNAMIC_DISPATCH(compact_impl)(image, format.type, pixels, range, out);
}

std::size_t compact_marked(const void* image, PixelFormat format, const std::uint64_t* marks, std::size_t pixels,
                           const Entries& out) noexcept {
  return HWY_DYNAMIC_DISPATCH(compact_marked_impl)(image, format.type, marks, pixels, out);
}

}  // namespace rashpa::kernel::csr
#endif  // HWY_ONCE
