// SPDX-License-Identifier: Apache-2.0
/// Converted pixels to their places in the assembled image: by blocks that stay in the second-level cache, by lines
/// that go past the caches.
#include <algorithm>
#include <cstring>
#include <limits>

#include "rashpa/core/image/fill.hpp"
#include "rashpa/core/system/cache_line.hpp"
#include "rashpa/kernel/jungfrau/assembly/assembly.hpp"

// Highway compiles this file once for each instruction set (foreach_target) and chooses at run time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rashpa/kernel/jungfrau/assembly/assembly_simd.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace rashpa::kernel::jungfrau {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t kChunk = 4096;  // pixels that are converted, then assembled
constexpr std::size_t kAtOnce = 16;   // images of a chunk

/// Copies past the caches: whole cache lines of `to`; its ends go through them.
void stream(void* to, const void* from, std::size_t bytes) {
  using Bytes = hn::CappedTag<std::uint8_t, kCacheLine>;
  const Bytes d;
  auto* out = static_cast<std::uint8_t*>(to);
  const auto* in = static_cast<const std::uint8_t*>(from);
  const std::size_t head =
      std::min(bytes, (kCacheLine - reinterpret_cast<std::uintptr_t>(out) % kCacheLine) % kCacheLine);
  std::memcpy(out, in, head);
  std::size_t at = head;
  for (; at + kCacheLine <= bytes; at += kCacheLine) {
    for (std::size_t v = 0; v < kCacheLine; v += hn::Lanes(d)) hn::Stream(hn::LoadU(d, in + at + v), d, out + at + v);
  }
  std::memcpy(out + at, in + at, bytes - at);
}

template <typename T>
constexpr T masked_value() {
  if constexpr (std::is_same_v<T, float>) return std::numeric_limits<float>::quiet_NaN();
  return static_cast<T>(kMaskedPhotons);
}

/// The smaller of two shares of a value; codes stay what they are.
HWY_INLINE std::int16_t less_of(std::int16_t value) {
  return value == kMaskedPhotons || value == kSaturatedPhotons ? value : static_cast<std::int16_t>(value >> 1);
}
HWY_INLINE std::int16_t more_of(std::int16_t value) {
  return value == kMaskedPhotons || value == kSaturatedPhotons ? value
                                                               : static_cast<std::int16_t>(value - (value >> 1));
}
HWY_INLINE float less_of(float value) { return 0.5F * value; }
HWY_INLINE float more_of(float value) { return 0.5F * value; }

/// Pixels on their way to one row, or several that follow each other, of the assembled image.
template <typename T>
class Line {
 public:
  static constexpr std::size_t kPixels = 2 * kChunk;

  Line(const Assembly& assembly, T* pixels, T* out)
      : shared_(assembly.borders() == Borders::shared), width_(assembly.shape().width), pixels_(pixels), out_(out) {}

  /// Pixels [first, last) of a span; `converted`: of its pixel `first`.
  HWY_INLINE void add(const Assembly::Span& span, std::size_t first, std::size_t last, const T* converted) {
    const bool left = span.left && first == span.first;
    const bool right = span.right && last == std::size_t{span.first} + span.count;
    const std::size_t at = span.out + (first - span.first) - (left ? 1U : 0U);
    const std::size_t count = last - first + (left ? 1U : 0U) + (right ? 1U : 0U);
    if (count_ != 0 && (begin_ + count_ != at || twin_ != span.twin || count_ + count > kPixels)) flush();
    if (count_ == 0) {
      begin_ = at;
      twin_ = span.twin;
    }
    T* here = pixels_ + count_;
    std::memcpy(here + (left ? 1 : 0), converted, (last - first) * sizeof(T));
    if (left) here[0] = split(converted[0], span.odd, here[1]);
    if (right) here[count - 1] = split(converted[last - first - 1], span.odd, here[count - 2]);
    count_ += count;
  }

  void flush() {
    if (count_ == 0) return;
    if (twin_ != 0) {
      T* twin = pixels_ + kPixels;
      if (shared_) {
        const std::size_t odd = begin_ % width_ % 2;  // of the column: a double row is one row of the image
        for (std::size_t i = 0; i < count_; ++i) {
          const bool more = (i + odd) % 2 != 0;
          const T value = pixels_[i];
          twin[i] = more ? more_of(value) : less_of(value);
          pixels_[i] = more ? less_of(value) : more_of(value);
        }
        stream(out_ + static_cast<std::ptrdiff_t>(begin_) + twin_, twin, count_ * sizeof(T));
      } else {
        stream(out_ + static_cast<std::ptrdiff_t>(begin_) + twin_, pixels_, count_ * sizeof(T));
      }
    }
    stream(out_ + begin_, pixels_, count_ * sizeof(T));
    count_ = 0;
  }

 private:
  /// The part of a value of double width that goes into the gap; the other one is put into `chip`.
  HWY_INLINE T split(T value, bool odd, T& chip) const {
    if (!shared_) return value;
    chip = odd ? less_of(value) : more_of(value);
    return odd ? more_of(value) : less_of(value);
  }

  bool shared_;
  std::size_t width_;
  T* pixels_;
  T* out_;
  std::size_t begin_ = 0;
  std::size_t count_ = 0;
  std::int32_t twin_ = 0;
};

template <typename T>
void fill_gaps(const Assembly& assembly, T* line, T* out, std::size_t first, std::size_t last) {
  const std::size_t pixels = assembly.seen().pixels();
  const auto gaps = assembly.gaps();
  const std::size_t begin = gaps.size() * first / pixels;
  const std::size_t end = gaps.size() * last / pixels;
  if (begin == end) return;
  std::fill(line, line + Assembly::kLongestGap, masked_value<T>());
  for (std::size_t g = begin; g < end; ++g) stream(out + gaps[g].out, line, gaps[g].count * sizeof(T));
}

template <typename T>
void convert_chunk(const Assembly& assembly, const Prepared& calibration, const Images& images, std::size_t first,
                   std::size_t last, T* scratch) {
  void* converted[kAtOnce];
  T* line = scratch + kAtOnce * kChunk;
  for (std::size_t i = 0; i < images.count; ++i) {
    // where pixel 0 of the image would be
    // NOLINTNEXTLINE(performance-no-int-to-ptr): it may lie before the scratch
    converted[i] = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(scratch + i * kChunk) - first * sizeof(T));
  }
  Images part = images;
  part.out = converted;
  part.past_caches = false;
  convert(calibration, part, {}, first, last);
  const auto spans = assembly.spans();
  const auto behind = std::upper_bound(spans.begin(), spans.end(), first,
                                       [](std::size_t at, const Assembly::Span& span) { return at < span.first; });
  const std::size_t begin = behind == spans.begin() ? 0 : static_cast<std::size_t>(behind - spans.begin()) - 1;
  for (std::size_t i = 0; i < images.count; ++i) {
    Line<T> out(assembly, line, static_cast<T*>(images.out[i]));
    for (std::size_t s = begin; s < spans.size() && spans[s].first < last; ++s) {
      const std::size_t from = std::max<std::size_t>(spans[s].first, first);
      const std::size_t to = std::min(std::size_t{spans[s].first} + spans[s].count, last);
      if (from < to) out.add(spans[s], from, to, scratch + i * kChunk + (from - first));
    }
    out.flush();
    fill_gaps(assembly, line, static_cast<T*>(images.out[i]), first, last);
  }
}

template <typename T>
void assemble(const Assembly& assembly, const Prepared& calibration, const Images& images, std::size_t first,
              std::size_t last, std::byte* scratch) {
  for (std::size_t at = first; at < last; at += kChunk) {
    const std::size_t end = std::min(at + kChunk, last);
    for (std::size_t i = 0; i < images.count; i += kAtOnce) {
      const Images some{std::min(kAtOnce, images.count - i), images.raw + i, images.out + i, nullptr,
                        images.counts + i};
      convert_chunk(assembly, calibration, some, at, end, reinterpret_cast<T*>(scratch));
    }
  }
  hwy::FlushStream();
}

void assemble_impl(const Assembly& assembly, const Prepared& calibration, const Images& images, std::size_t first,
                   std::size_t last, std::byte* scratch) {
  if (calibration.output() == Output::kev) {
    assemble<float>(assembly, calibration, images, first, last, scratch);
  } else {
    assemble<std::int16_t>(assembly, calibration, images, first, last, scratch);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace rashpa::kernel::jungfrau
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rashpa::kernel::jungfrau {
HWY_EXPORT(assemble_impl);

namespace {
/// Scratch pixels of one worker: a chunk of several images, a line, its twin. Not a power of two, so that workers do
/// not meet in the sets of a cache.
constexpr std::size_t kScratchPixels = std::size_t{16} * 4096 + std::size_t{4} * 4096 + 256;
}  // namespace

Assembler::Assembler(const Assembly& assembly, Output output, unsigned workers)
    : assembly_(&assembly),
      output_(output),
      worker_bytes_(kScratchPixels * (output == Output::kev ? sizeof(float) : sizeof(std::int16_t))),
      scratch_(workers * worker_bytes_, memory::MemoryKind::huge) {}

void Assembler::convert(unsigned worker, const Prepared& calibration, const Images& images, std::size_t first,
                        std::size_t last) noexcept {
  HWY_DYNAMIC_DISPATCH(assemble_impl)
  (*assembly_, calibration, images, first, last, scratch_.data() + worker * worker_bytes_);
}

}  // namespace rashpa::kernel::jungfrau
#endif  // HWY_ONCE
