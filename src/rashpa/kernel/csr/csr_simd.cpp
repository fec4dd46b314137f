// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "rashpa/kernel/csr/csr.hpp"
#include "rashpa/kernel/photons/photons.hpp"

// Highway compiles this file once for each instruction set (foreach_target) and chooses at run time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rashpa/kernel/csr/csr_simd.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "rashpa/kernel/photons/mask_bits-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace rashpa::kernel::csr {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using kernel::HWY_NAMESPACE::mask_bits;

/// Bytes that are asked for before they are needed: the machine's own prefetch stops at the end of each page.
constexpr std::size_t kBytesAhead = 2048;

#if HWY_TARGET <= HWY_AVX3
/// Compressing all vectors of a word is faster from this many kept pixels a word on.
constexpr std::size_t kDense = 2;

/// Entries whose place is asked for before they are written.
constexpr std::size_t kEntriesAhead = 128;
#endif

template <typename T>
struct List {
  std::uint32_t* HWY_RESTRICT index;
  T* HWY_RESTRICT value;
  std::size_t capacity;
};

/// Appends the pixels of the word `marks` (pixel `first` and the 63 that follow), kStep at a time whether there are as
/// many or not: a loop that ends at the last pixel is guessed wrong too often. Up to 64 entries are written.
template <std::size_t kStep, typename T>
HWY_INLINE std::size_t append(const T* HWY_RESTRICT image, std::size_t first, std::uint64_t marks, const List<T>& out,
                              std::size_t count) {
  static_assert(64 % kStep == 0 && kSlack >= 64);
  const std::size_t end = count + static_cast<std::size_t>(std::popcount(marks));
  for (; marks != 0; count += kStep) {
#pragma GCC unroll 16
    for (std::size_t i = 0; i < kStep; ++i) {
      const std::size_t pixel = first + static_cast<std::size_t>(std::countr_zero(marks)) % 64;  // 0 without any
      out.index[count + i] = static_cast<std::uint32_t>(pixel);
      out.value[count + i] = image[pixel];
      marks &= marks - 1;
    }
  }
  return kStep == 1 ? count : end;
}

/// append() that writes nothing behind the capacity.
template <typename T>
std::size_t append_last(const T* image, std::size_t first, std::uint64_t marks, const List<T>& out, std::size_t count) {
  if (marks == 0) return count;
  if (count + static_cast<std::size_t>(std::popcount(marks)) > out.capacity) return kOverflow;
  return append<1>(image, first, marks, out, count);
}

#if HWY_TARGET <= HWY_AVX3
/// append() without a branch. A pixel's place in its word and its value are compressed as one number where they fit.
template <typename T>
HWY_INLINE std::size_t append_by_vectors(const T* HWY_RESTRICT image, std::size_t first, std::uint64_t marks,
                                         const List<T>& out, std::size_t count) {
  using Bits = std::make_unsigned_t<T>;
  const hn::ScalableTag<std::uint32_t> d;
  const hn::Rebind<Bits, decltype(d)> narrow;
  constexpr std::size_t kLanes = 16;
  const auto* const values = reinterpret_cast<const Bits*>(image + first);
  auto* const value = reinterpret_cast<Bits*>(out.value);
  const auto base = hn::Set(d, static_cast<std::uint32_t>(first));
  for (std::size_t v = 0; v < 64; v += kLanes) {
    const auto bits = static_cast<std::uint16_t>(marks >> v);
    const auto mask = hn::LoadMaskBits(d, reinterpret_cast<const std::uint8_t*>(&bits));
    const auto place = hn::Iota(d, static_cast<std::uint32_t>(v));
    if constexpr (sizeof(T) < 4) {
      const auto pixels = hn::PromoteTo(d, hn::LoadU(narrow, values + v));
      const auto both = hn::Compress(hn::Or(pixels, hn::ShiftLeft<16>(place)), mask);
      hn::StoreU(hn::Add(hn::ShiftRight<16>(both), base), d, out.index + count);
      hn::StoreU(hn::TruncateTo(narrow, both), narrow, value + count);
    } else {
      hn::StoreU(hn::Compress(hn::Add(place, base), mask), d, out.index + count);
      hn::StoreU(hn::Compress(hn::LoadU(d, values + v), mask), d, value + count);
    }
    count += static_cast<std::size_t>(std::popcount(bits));
  }
  return count;
}
#endif

/// Appends the pixels of the listed words; kOverflow when there is no room.
template <std::size_t kStep, typename T>
HWY_INLINE std::size_t append_listed(const T* HWY_RESTRICT image, std::size_t first, const std::uint64_t* marks,
                                     const std::uint8_t* listed, std::size_t words, const List<T>& out,
                                     std::size_t count) {
  for (std::size_t i = 0; i < words; ++i) {
    count = append<kStep>(image, (first + listed[i]) * 64, marks[listed[i]], out, count);
    if (count > out.capacity) return kOverflow;  // append() wrote into the slack
  }
  return count;
}

/// Appends the pixels of `words` words, of which `marks_at(word)` says which. Words with any are listed first: a branch
/// on a value that has just come from memory is mispredicted too often. Where many are kept, nothing is listed; whether
/// they are is taken from the words before. `kTogether` words at once; `kFew`: entries written at once where few are
/// kept.
template <std::size_t kTogether, std::size_t kFew, typename T, class MarksAt>
HWY_INLINE std::size_t append_words(const T* HWY_RESTRICT image, std::size_t words, const MarksAt& marks_at,
                                    const List<T>& out) {
  std::uint64_t marks[kTogether];
  std::uint8_t listed[kTogether];
  std::size_t count = 0;
#if HWY_TARGET <= HWY_AVX3
  bool dense = false;
#endif
  for (std::size_t first = 0; first < words; first += kTogether) {
    const std::size_t some = std::min(kTogether, words - first);
#if HWY_TARGET <= HWY_AVX3
    const std::size_t before = count;
    if (dense) {
      for (std::size_t word = first; word < first + some; ++word) {
        __builtin_prefetch(out.index + count + kEntriesAhead, 1);
        __builtin_prefetch(out.value + count + 2 * kEntriesAhead, 1);
        count = append_by_vectors(image, word * 64, marks_at(word), out, count);
        if (count > out.capacity) return kOverflow;  // written into the slack
      }
      dense = count - before > kDense * some;
      continue;
    }
#endif
    std::size_t filled = 0, kept = 0;
    for (std::size_t word = 0; word < some; ++word) {
      marks[word] = marks_at(first + word);
      listed[filled] = static_cast<std::uint8_t>(word);
      filled += marks[word] != 0 ? 1U : 0U;
      if constexpr (kFew > 1) kept += static_cast<std::size_t>(std::popcount(marks[word]));
    }
    if (kFew == 1 || kept <= 2 * filled) {
      count = append_listed<kFew>(image, first, marks, listed, filled, out, count);
    } else if (kept <= 6 * filled) {
      count = append_listed<8>(image, first, marks, listed, filled, out, count);
    } else {
      count = append_listed<16>(image, first, marks, listed, filled, out, count);
    }
    if (count == kOverflow) return count;
#if HWY_TARGET <= HWY_AVX3
    dense = count - before > kDense * some;
#endif
  }
  return count;
}

template <typename T>
std::size_t compact_marked_typed(const T* HWY_RESTRICT image, const std::uint64_t* HWY_RESTRICT marks,
                                 std::size_t pixels, const List<T>& out) {
  const std::size_t whole = pixels / 64;
  // One by one: pixels come from memory here, and entries that wait for them fill the processor's queue of stores.
  const std::size_t count = append_words<64, 1>(
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
    if constexpr (std::is_signed_v<T>) {
      marks |= mask_bits(d, hn::Gt(values, below)) << v;
    } else {
      marks |= mask_bits(d, hn::Gt(width, hn::Sub(values, low))) << v;
    }
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
  const std::size_t count = append_words<32, 4>(image, whole, marks_at, out);
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
  if (holds_all(format.type, range)) return compact_reference(image, format, pixels, threshold, out);
  return HWY_DYNAMIC_DISPATCH(compact_impl)(image, format.type, pixels, range, out);
}

std::size_t compact_marked(const void* image, PixelFormat format, const std::uint64_t* marks, std::size_t pixels,
                           const Entries& out) noexcept {
  return HWY_DYNAMIC_DISPATCH(compact_marked_impl)(image, format.type, marks, pixels, out);
}

}  // namespace rashpa::kernel::csr
#endif  // HWY_ONCE
