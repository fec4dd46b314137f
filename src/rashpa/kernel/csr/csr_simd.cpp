// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "rashpa/kernel/csr/csr.hpp"
#include "rashpa/kernel/photons.hpp"

// Highway compiles this file once for each instruction set (foreach_target) and chooses at run time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rashpa/kernel/csr/csr_simd.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace rashpa::kernel::csr {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Bytes that are asked for before they are needed: the machine's own prefetch stops at the end of each page.
constexpr std::size_t kBytesAhead = 1024;

template <typename T>
struct List {
  std::uint32_t* HWY_RESTRICT index;
  T* HWY_RESTRICT value;
  std::size_t capacity;
};

/// Appends the pixels of the word `marks` (pixel `first` and the 63 that follow). One by one: compressing vectors of 64
/// pixels takes longer than 30 of them.
template <typename T>
HWY_INLINE std::size_t append(const T* HWY_RESTRICT image, std::size_t first, std::uint64_t marks, const List<T>& out,
                              std::size_t count) {
  for (; marks != 0; marks &= marks - 1) {
    const std::size_t pixel = first + static_cast<std::size_t>(std::countr_zero(marks));
    out.index[count] = static_cast<std::uint32_t>(pixel);
    out.value[count] = image[pixel];
    count += 1;
  }
  return count;
}

/// append() that writes nothing behind the capacity.
template <typename T>
std::size_t append_last(const T* image, std::size_t first, std::uint64_t marks, const List<T>& out, std::size_t count) {
  if (marks == 0) return count;
  if (count + static_cast<std::size_t>(std::popcount(marks)) > out.capacity) return kOverflow;
  return append(image, first, marks, out, count);
}

/// Appends the pixels of `words` words, of which `marks_at(word)` says which. Words with any are listed first: a branch
/// on what has just come from memory is guessed wrong too often.
template <typename T, class MarksAt>
HWY_INLINE std::size_t append_words(const T* HWY_RESTRICT image, std::size_t words, const MarksAt& marks_at,
                                    const List<T>& out) {
  constexpr std::size_t kTogether = 64;
  std::uint64_t marks[kTogether];
  std::uint8_t listed[kTogether];
  std::size_t count = 0;
  for (std::size_t first = 0; first < words; first += kTogether) {
    const std::size_t some = std::min(kTogether, words - first);
    std::size_t filled = 0;
    for (std::size_t word = 0; word < some; ++word) {
      marks[word] = marks_at(first + word);
      listed[filled] = static_cast<std::uint8_t>(word);
      filled += marks[word] != 0 ? 1U : 0U;
    }
    for (std::size_t i = 0; i < filled; ++i) {
      count = append(image, (first + listed[i]) * 64, marks[listed[i]], out, count);
      if (count > out.capacity) return kOverflow;  // append() wrote into the slack
    }
  }
  return count;
}

template <typename T>
std::size_t compact_marked_typed(const T* HWY_RESTRICT image, const std::uint64_t* HWY_RESTRICT marks,
                                 std::size_t pixels, const List<T>& out) {
  const std::size_t whole = pixels / 64;
  const std::size_t count = append_words(
      image, whole, [&](std::size_t word) HWY_ATTR { return marks[word]; }, out);
  if (count == kOverflow || whole * 64 == pixels) return count;
  return append_last(image, whole * 64, marks[whole], out, count);
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
  const std::size_t whole = pixels / 64;
  const auto marks_at = [&](std::size_t word) HWY_ATTR {
    const T* const at = image + word * 64;
    for (std::size_t line = 0; line < sizeof(T); ++line) {
      hwy::Prefetch(reinterpret_cast<const std::byte*>(at) + kBytesAhead + line * 64);
    }
    return marks_of(at, least, most);
  };
  const std::size_t count = append_words(image, whole, marks_at, out);
  if (count == kOverflow) return count;
  std::uint64_t marks = 0;
  for (std::size_t i = whole * 64; i < pixels; ++i) {
    if (image[i] >= least && image[i] <= most) marks |= std::uint64_t{1} << (i % 64);
  }
  return append_last(image, whole * 64, marks, out, count);
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
