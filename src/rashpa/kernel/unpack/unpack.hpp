// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Unpacks counters of 1, 6, 12 or 24 bits to pixels and puts modules in their places. See README.md.
#include <cstddef>
#include <cstdint>
#include <memory>

#include "rashpa/kernel/contract/step.hpp"

namespace rashpa::kernel::unpack {

/// Bits of a counter.
enum class Bits : std::uint8_t { one, six, twelve, twenty_four };

constexpr std::uint32_t count_of(Bits bits) noexcept {
  constexpr std::uint32_t kCounts[] = {1, 6, 12, 24};
  return kCounts[static_cast<std::size_t>(bits)];
}
/// Returns the type of the output pixels: uint8, uint8, uint16, uint32.
constexpr PixelType type_of(Bits bits) noexcept {
  constexpr PixelType kTypes[] = {PixelType::u8, PixelType::u8, PixelType::u16, PixelType::u32};
  return kTypes[static_cast<std::size_t>(bits)];
}

struct Config {
  Bits bits = Bits::twelve;
  std::uint32_t module_width = 1536;   ///< pixels, a multiple of 8
  std::uint32_t module_height = 1536;  ///< pixels
  std::uint32_t modules_across = 1;
  std::uint32_t modules_down = 1;
  std::uint32_t gap_x = 0;  ///< pixels between modules side by side; masked
  std::uint32_t gap_y = 0;  ///< rows between modules one below another; masked

  [[nodiscard]] constexpr std::uint32_t line_bytes() const noexcept {  ///< bytes of a module's packed line
    return module_width / 8 * count_of(bits);
  }
  /// Returns the shape of the packed images, in bytes and lines.
  [[nodiscard]] constexpr Shape packed() const noexcept {
    return {line_bytes() * modules_across, module_height * modules_down};
  }
  [[nodiscard]] constexpr Shape made() const noexcept {
    return {module_width * modules_across + gap_x * (modules_across - 1),
            module_height * modules_down + gap_y * (modules_down - 1)};
  }
};

/// Throws ConfigError that names the parameter.
void check(const Config& config);

/// Makes a pipeline step. Throws as check().
std::shared_ptr<const Step> step_of(const Config& config);

/// Unpacks `pixels` counters, a multiple of 8, from consecutive bits of `in`. Counter p has bits p · n to (p + 1) · n −
/// 1; bit b is bit b mod 8, from the least significant, of byte b / 8. The plain reference: one bit at a time.
void unpack_reference(Bits bits, const std::byte* in, std::byte* out, std::size_t pixels) noexcept;
/// Unpacks as unpack_reference() does, with the machine's widest vectors, past the caches where `out` is aligned as a
/// vector.
void unpack(Bits bits, const std::byte* in, std::byte* out, std::size_t pixels) noexcept;
/// Makes the pixels that this thread has unpacked visible to other threads.
void flush() noexcept;

/// Unpacks packed lines [first, last) of an image to their places, with the gaps beside and below them.
void unpack_lines(const Config& config, const std::byte* in, std::byte* out, std::size_t first,
                  std::size_t last) noexcept;

}  // namespace rashpa::kernel::unpack
