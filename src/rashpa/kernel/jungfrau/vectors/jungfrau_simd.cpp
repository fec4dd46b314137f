// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "rashpa/core/image/fill.hpp"
#include "rashpa/kernel/jungfrau/constants.hpp"
#include "rashpa/kernel/jungfrau/jungfrau.hpp"

// Highway compiles this file once for each instruction set (foreach_target) and chooses at run time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rashpa/kernel/jungfrau/vectors/jungfrau_simd.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "rashpa/kernel/jungfrau/vectors/jungfrau_lines-inl.hpp"
#include "rashpa/kernel/jungfrau/vectors/jungfrau_staged-inl.hpp"
#include "rashpa/kernel/jungfrau/vectors/jungfrau_vectors-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace rashpa::kernel::jungfrau {
namespace HWY_NAMESPACE {

template <class T>
void convert_block(const Block& block, const Part* parts, std::size_t count) {
  if constexpr (whole_lines<T>()) {
    if (block.stream && !block.wild) return convert_lines<T>(block, parts, count);
  }
  convert_staged<T>(block, parts, count);
}

void convert_block(const Block& block, const Part* parts, std::size_t count) {
  if (block.calibration->output() == Output::kev) {
    convert_block<float>(block, parts, count);
  } else {
    convert_block<std::int16_t>(block, parts, count);
  }
}

Part part_of(const Images& images, std::size_t i, std::size_t pixel, std::size_t out_bytes, bool mark) {
  return {images.raw[i] + pixel, static_cast<std::byte*>(images.out[i]) + pixel * out_bytes,
          mark ? images.marks[i] + pixel / kGroup : nullptr, images.counts + i};
}

/// The last group of an image whose size is no multiple of kGroup, through a padded copy.
void convert_tail(const Block& block, const Images& images, std::size_t first, std::size_t pixels,
                  std::size_t out_bytes) {
  const std::uint64_t real = (std::uint64_t{1} << pixels) - 1;
  const auto invalid = static_cast<std::uint32_t>(std::popcount(block.calibration->invalid_g0(block.group) & real));
  for (std::size_t i = 0; i < images.count; ++i) {
    alignas(64) std::uint16_t raw[kGroup] = {};
    alignas(64) std::byte out[kGroup * sizeof(float)];
    Part part = part_of(images, i, first, out_bytes, block.taps.mark);
    void* destination = part.out;
    std::memcpy(raw, part.raw, pixels * sizeof(std::uint16_t));
    part.raw = raw;
    part.out = out;
    convert_block(block, &part, 1);
    part.counts->masked += invalid;
    std::memcpy(destination, out, pixels * out_bytes);
  }
}

void convert_impl(const Prepared& calibration, const Images& images, const Taps& taps, std::size_t first,
                  std::size_t last) {
  constexpr std::size_t kAtOnce = 16;  // images whose parts are kept on the stack
  const std::size_t out_bytes = calibration.output() == Output::kev ? sizeof(float) : sizeof(std::int16_t);
  Block block{&calibration, 0, 0, taps, images.past_caches, false};
  block.taps.bright_threshold = std::max<std::int16_t>(taps.bright_threshold, kMaskedPhotons + 1);
  block.taps.mark_threshold = std::max<std::int16_t>(taps.mark_threshold, kMaskedPhotons + 1);
  for (std::size_t i = 0; i < images.count; ++i) {
    if (reinterpret_cast<std::uintptr_t>(images.out[i]) % 64 != 0) block.stream = false;
  }
  const std::size_t whole = first + (last - first) / kGroup * kGroup;
  for (std::size_t begin = first; begin < whole; begin += kBlock) {
    block.group = begin / kGroup;
    block.groups = (std::min(begin + kBlock, whole) - begin) / kGroup;
    std::uint32_t invalid = 0;
    block.wild = false;
    for (std::size_t g = 0; g < block.groups; ++g) {
      block.wild = block.wild || calibration.wild(block.group + g);
      invalid += static_cast<std::uint32_t>(std::popcount(calibration.invalid_g0(block.group + g)));
    }
    for (std::size_t i = 0; i < images.count; i += kAtOnce) {
      const std::size_t count = std::min(kAtOnce, images.count - i);
      Part parts[kAtOnce];
      for (std::size_t j = 0; j < count; ++j) {
        parts[j] = part_of(images, i + j, begin, out_bytes, taps.mark);
        parts[j].counts->masked += invalid;
      }
      convert_block(block, parts, count);
    }
  }
  if (block.stream) hwy::FlushStream();
  if (whole < last) {
    block.stream = false;
    block.group = whole / kGroup;
    block.groups = 1;
    block.wild = calibration.wild(block.group);
    convert_tail(block, images, whole, last - whole, out_bytes);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace rashpa::kernel::jungfrau
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rashpa::kernel::jungfrau {
HWY_EXPORT(convert_impl);

void convert(const Prepared& calibration, const Images& images, const Taps& taps, std::size_t first,
             std::size_t last) noexcept {
  HWY_DYNAMIC_DISPATCH(convert_impl)(calibration, images, taps, first, last);
}

}  // namespace rashpa::kernel::jungfrau
#endif  // HWY_ONCE
