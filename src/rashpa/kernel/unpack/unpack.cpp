// SPDX-License-Identifier: Apache-2.0
#include "rashpa/kernel/unpack/unpack.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "rashpa/core/error.hpp"
#include "rashpa/kernel/photons/photons.hpp"

namespace rashpa::kernel::unpack {

namespace {

// The largest value of each type says masked.
void mask(std::byte* out, std::size_t bytes) noexcept { std::memset(out, 0xFF, bytes); }

}  // namespace

void check(const Config& config) {
  if (config.module_width == 0 || config.module_width % 8 != 0) {
    throw ConfigError(
        fmt::format("kernel unpack: module_width: {} is no multiple of 8; give one, above 0", config.module_width));
  }
  if (config.module_height == 0 || config.modules_across == 0 || config.modules_down == 0) {
    throw ConfigError("kernel unpack: module_height, modules_across or modules_down is 0; give 1 or more");
  }
}

void unpack_reference(Bits bits, const std::byte* in, std::byte* out, std::size_t pixels) noexcept {
  with_type(type_of(bits), [&]<typename T>(T) {
    const std::size_t n = count_of(bits);
    for (std::size_t p = 0; p < pixels; ++p) {
      T value = 0;
      for (std::size_t b = 0; b < n; ++b) {
        const std::size_t bit = p * n + b;
        const auto set = std::to_integer<unsigned>(in[bit / 8]) >> (bit % 8) & 1U;
        value = static_cast<T>(value | set << b);
      }
      std::memcpy(out + p * sizeof(T), &value, sizeof(T));
    }
  });
}

void unpack_lines(const Config& config, const std::byte* in, std::byte* out, std::size_t first,
                  std::size_t last) noexcept {
  const std::size_t pixel = pixel_bytes(type_of(config.bits));
  const std::size_t row_bytes = std::size_t{config.made().width} * pixel;
  const std::size_t packed_bytes = config.packed().width;
  for (std::size_t line = first; line < last;) {
    const std::size_t module = line / config.module_height;
    // lines without gaps between them are one
    const std::size_t end =
        config.gap_x == 0 ? std::min<std::size_t>(last, (module + 1) * config.module_height) : line + 1;
    std::byte* row = out + (line + module * config.gap_y) * row_bytes;
    const std::byte* from = in + line * packed_bytes;
    std::byte* to = row;
    if (config.gap_x == 0) {
      unpack(config.bits, from, to, (end - line) * config.module_width * config.modules_across);
    } else {
      for (std::uint32_t across = 0; across < config.modules_across; ++across) {
        unpack(config.bits, from, to, config.module_width);
        from += config.line_bytes();
        to += config.module_width * pixel;
        if (across + 1 == config.modules_across) break;
        mask(to, config.gap_x * pixel);
        to += config.gap_x * pixel;
      }
    }
    const bool ends_module = end % config.module_height == 0;
    if (ends_module && module + 1 < config.modules_down) mask(row + (end - line) * row_bytes, config.gap_y * row_bytes);
    line = end;
  }
  flush();
}

}  // namespace rashpa::kernel::unpack
