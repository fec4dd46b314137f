// SPDX-License-Identifier: Apache-2.0
#include "rashpa/kernel/jungfrau/assembly/assembly.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "rashpa/core/error.hpp"
#include "rashpa/core/image/fill.hpp"

namespace rashpa::kernel::jungfrau {

namespace {

/// Returns true when the column, or row, before (or behind) this one is its other half, in a module of `whole` of them.
constexpr bool wide_before(std::uint32_t at) noexcept { return at > 0 && at % kChip == 0; }
constexpr bool wide_behind(std::uint32_t at, std::uint32_t whole) noexcept {
  return at % kChip == kChip - 1 && at + 1 < whole;
}
/// Returns where a column, or row, lies in the assembled module; the first and the last place that it fills.
constexpr std::uint32_t spread(std::uint32_t at) noexcept { return at + at / kChip * 2; }
constexpr std::uint32_t first_place(std::uint32_t at) noexcept { return spread(at) - (wide_before(at) ? 1 : 0); }
constexpr std::uint32_t last_place(std::uint32_t at, std::uint32_t whole) noexcept {
  return spread(at) + (wide_behind(at, whole) ? 1 : 0);
}
/// Places that `count` columns from `first` on fill.
constexpr std::uint32_t places(std::uint32_t first, std::uint32_t count, std::uint32_t whole) noexcept {
  return last_place(first + count - 1, whole) + 1 - first_place(first);
}

constexpr bool overlap(std::uint32_t a, std::uint32_t a_count, std::uint32_t b, std::uint32_t b_count) noexcept {
  return a < b + b_count && b < a + a_count;
}

/// Two shares of a value, together the value; the codes for masked and saturated stay what they are.
struct Shares {
  std::int16_t less;
  std::int16_t more;
};
constexpr Shares shares(std::int16_t value) noexcept {
  if (value == kMaskedPhotons || value == kSaturatedPhotons) return {value, value};
  const auto less = static_cast<std::int16_t>(value >> 1);
  return {less, static_cast<std::int16_t>(value - less)};
}
struct Halves {
  float less;
  float more;
};
constexpr Halves shares(float value) noexcept { return {0.5F * value, 0.5F * value}; }

template <typename T>
constexpr T masked_value() noexcept {
  if constexpr (std::is_same_v<T, float>) return std::numeric_limits<float>::quiet_NaN();
  return static_cast<T>(kMaskedPhotons);
}

template <typename T>
void assemble(const Assembly& assembly, const T* converted, T* out) {
  const bool shared = assembly.borders() == Borders::shared;
  const std::uint32_t width = assembly.shape().width;
  std::fill(out, out + assembly.shape().pixels(), masked_value<T>());
  for (const Assembly::Span& span : assembly.spans()) {
    for (std::uint32_t i = 0; i < span.count; ++i) {
      const T value = converted[span.first + i];
      const std::uint32_t at = span.out + i;
      // one or two places in its row, the second of them in the gap between chips
      T here[2] = {value, value};
      std::uint32_t where[2] = {at, at};
      std::size_t count = 1;
      const bool left = span.left && i == 0;
      if (left || (span.right && i + 1 == span.count)) {
        count = 2;
        where[1] = left ? at - 1 : at + 1;
        if (shared) {
          const auto parts = shares(value);
          here[0] = span.odd ? parts.less : parts.more;
          here[1] = span.odd ? parts.more : parts.less;
        }
      }
      for (std::size_t k = 0; k < count; ++k) {
        out[where[k]] = here[k];
        if (span.twin == 0) continue;
        const auto twin = static_cast<std::size_t>(std::int64_t{where[k]} + span.twin);
        const auto parts = shares(here[k]);
        const bool odd = where[k] % width % 2 != 0;
        out[twin] = shared ? (odd ? parts.more : parts.less) : here[k];
        if (shared) out[where[k]] = odd ? parts.less : parts.more;
      }
    }
  }
}

}  // namespace

Region Assembly::made(const Module& module) const noexcept {
  return {module.x, module.y, places(module.sx, module.width, module_whole_.width),
          places(module.sy, module.height, module_whole_.height)};
}

Assembly::Assembly(const Shape& seen, const Shape& module, std::span<const ModulePart> parts, Borders borders)
    : seen_(seen), made_(seen), module_whole_(module), borders_(borders) {
  if (parts.empty()) {
    throw ConfigError(
        "kernel jungfrau: borders: the places of the modules are missing; give the geometry of the detector");
  }
  collect_modules(parts);
  check_overlaps();
  for (const Module& one : modules_) {
    const Region at = made(one);
    made_.width = std::max(made_.width, at.x + at.width);
    made_.height = std::max(made_.height, at.y + at.height);
  }
  for (const ModulePart& part : parts) make_spans(part);
  std::sort(spans_.begin(), spans_.end(), [](const Span& a, const Span& b) { return a.first < b.first; });
  make_gaps();
}

void Assembly::collect_modules(std::span<const ModulePart> parts) {
  for (const ModulePart& part : parts) {
    const Region& source = part.source;
    if (!inside(source, module_whole_.width, module_whole_.height) ||
        !inside({part.x, part.y, source.width, source.height}, seen_.width, seen_.height)) {
      throw ConfigError(fmt::format(
          "kernel jungfrau: borders: a part of module {} is outside the module or the image; correct its place",
          part.module));
    }
    const auto found = std::find_if(modules_.begin(), modules_.end(),
                                    [&](const Module& module) { return module.number == part.module; });
    if (found == modules_.end()) {
      modules_.push_back({part.module, part.x, part.y, source.x, source.y, source.width, source.height});
      continue;
    }
    Module& module = *found;
    if (std::int64_t{part.x} - source.x != std::int64_t{module.x} - module.sx ||
        std::int64_t{part.y} - source.y != std::int64_t{module.y} - module.sy) {
      throw ConfigError(
          fmt::format("kernel jungfrau: borders: parts of module {} lie apart in the buffer's image; the "
                      "assembled image needs them as they are in the module",
                      part.module));
    }
    const std::uint32_t right = std::max(module.sx + module.width, source.x + source.width);
    const std::uint32_t bottom = std::max(module.sy + module.height, source.y + source.height);
    module.x = std::min(module.x, part.x);
    module.y = std::min(module.y, part.y);
    module.sx = std::min(module.sx, source.x);
    module.sy = std::min(module.sy, source.y);
    module.width = right - module.sx;
    module.height = bottom - module.sy;
  }
}

void Assembly::check_overlaps() const {
  for (std::size_t i = 0; i < modules_.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const Region a = made(modules_[j]);
      const Region b = made(modules_[i]);
      if (!overlap(a.x, a.width, b.x, b.width) || !overlap(a.y, a.height, b.y, b.height)) continue;
      throw ConfigError(fmt::format(
          "kernel jungfrau: borders: module {} at ({}, {}) would lie on module {} at ({}, {}), which is {} × "
          "{} pixels when it is assembled; give it x ≥ {} or y ≥ {} in [[detector.module]]",
          modules_[i].number, b.x, b.y, modules_[j].number, a.x, a.y, a.width, a.height, a.x + a.width,
          a.y + a.height));
    }
  }
}

const Assembly::Module& Assembly::module_of(const ModulePart& part) const noexcept {
  return *std::find_if(modules_.begin(), modules_.end(),
                       [&](const Module& module) { return module.number == part.module; });
}

void Assembly::make_spans(const ModulePart& part) {
  const Module& module = module_of(part);
  const Region& source = part.source;
  for (std::uint32_t line = 0; line < source.height; ++line) {
    const std::uint32_t row = source.y + line;
    const std::uint32_t out_row = module.y + spread(row) - first_place(module.sy);
    const auto width = static_cast<std::int32_t>(made_.width);
    const std::int32_t twin = wide_before(row) ? -width : wide_behind(row, module_whole_.height) ? width : 0;
    for (std::uint32_t column = source.x; column < source.x + source.width;) {
      const std::uint32_t end = std::min((column / kChip + 1) * kChip, source.x + source.width);
      spans_.push_back({.first = (part.y + line) * seen_.width + part.x + column - source.x,
                        .count = end - column,
                        .out = out_row * made_.width + module.x + spread(column) - first_place(module.sx),
                        .twin = twin,
                        .left = wide_before(column),
                        .right = wide_behind(end - 1, module_whole_.width),
                        .odd = row % 2 != 0});
      column = end;
    }
  }
}

void Assembly::make_gaps() {
  std::vector<bool> filled(made_.pixels());
  for (const Span& span : spans_) {
    const std::size_t first = span.out - (span.left ? 1U : 0U);
    const std::size_t last = std::size_t{span.out} + span.count + (span.right ? 1U : 0U);
    for (std::size_t at = first; at < last; ++at) {
      filled[at] = true;
      if (span.twin != 0) filled[static_cast<std::size_t>(static_cast<std::int64_t>(at) + span.twin)] = true;
    }
  }
  for (std::size_t at = 0; at < filled.size();) {
    if (filled[at]) {
      ++at;
      continue;
    }
    const std::size_t first = at;
    while (at < filled.size() && !filled[at] && at - first < kLongestGap) ++at;
    gaps_.push_back({static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(at - first)});
  }
}

Region Assembly::place(const Region& region) const {
  std::uint32_t left = std::numeric_limits<std::uint32_t>::max();
  std::uint32_t top = left;
  std::uint32_t right = 0;
  std::uint32_t bottom = 0;
  for (const Module& module : modules_) {
    const std::uint32_t x = std::max(region.x, module.x);
    const std::uint32_t y = std::max(region.y, module.y);
    const std::uint32_t x_end = std::min(region.x + region.width, module.x + module.width);
    const std::uint32_t y_end = std::min(region.y + region.height, module.y + module.height);
    if (x >= x_end || y >= y_end) continue;
    const std::uint32_t column = module.sx + x - module.x;
    const std::uint32_t row = module.sy + y - module.y;
    const std::uint32_t at_x = module.x + first_place(column) - first_place(module.sx);
    const std::uint32_t at_y = module.y + first_place(row) - first_place(module.sy);
    left = std::min(left, at_x);
    top = std::min(top, at_y);
    right = std::max(right, at_x + places(column, x_end - x, module_whole_.width));
    bottom = std::max(bottom, at_y + places(row, y_end - y, module_whole_.height));
  }
  if (right == 0) return region;  // a gap stays where it is
  return {left, top, right - left, bottom - top};
}

std::vector<std::uint32_t> Assembly::mask(std::span<const std::uint32_t> seen) const {
  std::vector<std::uint32_t> made(made_.pixels(), kGapBetweenModules);
  const std::uint32_t bit = borders_ == Borders::shared ? kVirtual : kUserMasked;
  for (const Span& span : spans_) {
    for (std::uint32_t i = 0; i < span.count; ++i) {
      const bool left = span.left && i == 0;
      const bool right = span.right && i + 1 == span.count;
      const std::uint32_t value = seen[span.first + i] | (left || right || span.twin != 0 ? bit : 0);
      const std::size_t first = span.out + i - (left ? 1U : 0U);
      const std::size_t last = std::size_t{span.out} + i + (right ? 1U : 0U);
      for (std::size_t at = first; at <= last; ++at) {
        made[at] = value;
        if (span.twin != 0) made[static_cast<std::size_t>(static_cast<std::int64_t>(at) + span.twin)] = value;
      }
    }
  }
  return made;
}

bool Assembly::is_double(std::size_t pixel) const noexcept {
  const auto behind = std::upper_bound(spans_.begin(), spans_.end(), pixel,
                                       [](std::size_t at, const Span& span) { return at < span.first; });
  if (behind == spans_.begin()) return false;
  const Span& span = *(behind - 1);
  const std::size_t i = pixel - span.first;
  if (i >= span.count) return false;
  return span.twin != 0 || (span.left && i == 0) || (span.right && i + 1 == span.count);
}

void assemble_reference(const Assembly& assembly, Output output, const void* converted, void* out) {
  if (output == Output::kev) {
    assemble(assembly, static_cast<const float*>(converted), static_cast<float*>(out));
  } else {
    assemble(assembly, static_cast<const std::int16_t*>(converted), static_cast<std::int16_t*>(out));
  }
}

std::vector<Origin> origins_of(const Assembly& assembly) {
  const bool shared = assembly.borders() == Borders::shared;
  const std::uint32_t width = assembly.shape().width;
  std::vector<Origin> origins(assembly.shape().pixels());
  const auto put = [&](const Assembly::Span& span, std::uint32_t at, std::uint32_t pixel, Origin::Part across) {
    const bool odd = at % width % 2 != 0;
    const bool splits = shared && span.twin != 0;
    origins[at] = {pixel, across, !splits ? Origin::whole : odd ? Origin::less : Origin::more};
    if (span.twin == 0) return;
    const auto twin = static_cast<std::size_t>(std::int64_t{at} + span.twin);
    origins[twin] = {pixel, across, !splits ? Origin::whole : odd ? Origin::more : Origin::less};
  };
  for (const Assembly::Span& span : assembly.spans()) {
    for (std::uint32_t i = 0; i < span.count; ++i) {
      const std::uint32_t pixel = span.first + i, at = span.out + i;
      const bool left = span.left && i == 0;
      if (!left && !(span.right && i + 1 == span.count)) {
        put(span, at, pixel, Origin::whole);
        continue;
      }
      const std::uint32_t beside = left ? at - 1 : at + 1;
      put(span, at, pixel, !shared ? Origin::whole : span.odd ? Origin::less : Origin::more);
      put(span, beside, pixel, !shared ? Origin::whole : span.odd ? Origin::more : Origin::less);
    }
  }
  return origins;
}

}  // namespace rashpa::kernel::jungfrau
