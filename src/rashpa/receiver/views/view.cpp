// SPDX-License-Identifier: Apache-2.0
#include "rashpa/receiver/views/view.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

namespace rashpa::receiver {

namespace {

/// Type in which the largest pixel is looked for: one value below all that pixels can have says that there is none.
template <typename Pixel>
using Wide = std::conditional_t<(sizeof(Pixel) < 4), std::int32_t, float>;

template <typename Pixel>
constexpr Wide<Pixel> kNothing = std::is_same_v<Wide<Pixel>, float> ? -std::numeric_limits<Wide<Pixel>>::infinity()
                                                                    : std::numeric_limits<Wide<Pixel>>::min();

template <typename Pixel>
bool is_none(Pixel value, NoValue::Signed of_signed) noexcept {
  if constexpr (std::is_floating_point_v<Pixel>) {
    return std::isnan(value);
  } else if constexpr (std::is_unsigned_v<Pixel>) {
    return value == std::numeric_limits<Pixel>::max();
  } else {
    return of_signed == NoValue::Signed::negative ? value < 0 : value == std::numeric_limits<Pixel>::min();
  }
}

// Loops over one line that stays in the first cache, each simple enough for the compiler to make vectors of.
template <typename Pixel>
void look_at_line(const Pixel* line, const std::uint8_t* gaps, std::uint32_t width, const NoValue& none,
                  std::uint8_t* absent, Wide<Pixel>* largest) noexcept {
  for (std::uint32_t x = 0; x < width; ++x) absent[x] = is_none(line[x], none.of_signed) ? 1 : 0;
  for (const double value : none.special) {
    for (std::uint32_t x = 0; x < width; ++x) absent[x] |= static_cast<double>(line[x]) == value ? 1 : 0;
  }
  if (gaps != nullptr) {
    for (std::uint32_t x = 0; x < width; ++x) absent[x] |= gaps[x];
  }
  for (std::uint32_t x = 0; x < width; ++x) {
    const auto value = absent[x] != 0 ? kNothing<Pixel> : static_cast<Wide<Pixel>>(line[x]);
    largest[x] = std::max(largest[x], value);
  }
}

template <typename Pixel, typename Out>
std::vector<std::byte> reduced(const Seen& seen, const NoValue& none, std::uint32_t step) {
  constexpr Out kAbsent = std::is_floating_point_v<Out> ? std::numeric_limits<Out>::quiet_NaN()
                          : std::is_unsigned_v<Out>     ? std::numeric_limits<Out>::max()
                                                        : std::numeric_limits<Out>::min();
  const std::uint32_t columns = (seen.width + step - 1) / step, rows = (seen.height + step - 1) / step;
  std::vector<std::byte> out(std::size_t{columns} * rows * sizeof(Out));
  std::vector<std::uint8_t> absent(seen.width);
  std::vector<Wide<Pixel>> largest(std::size_t{columns} * step);
  const auto* first = reinterpret_cast<const Pixel*>(seen.pixels);
  for (std::uint32_t row = 0; row < rows; ++row) {
    std::fill(largest.begin(), largest.end(), kNothing<Pixel>);
    for (std::uint32_t y = row * step; y < std::min(seen.height, (row + 1) * step); ++y) {
      const std::size_t at = y * seen.pitch;
      look_at_line(first + at, seen.gaps == nullptr ? nullptr : seen.gaps + at, seen.width, none, absent.data(),
                   largest.data());
    }
    for (std::uint32_t column = 0; column < columns; ++column) {
      const Wide<Pixel>* block = largest.data() + std::size_t{column} * step;
      const Wide<Pixel> value = *std::max_element(block, block + step);
      const Out said = value == kNothing<Pixel> ? kAbsent : static_cast<Out>(value);
      std::memcpy(out.data() + (std::size_t{row} * columns + column) * sizeof(Out), &said, sizeof(Out));
    }
  }
  return out;
}

}  // namespace

std::vector<std::byte> view_of(const Seen& seen, const NoValue& none, std::uint32_t step) {
  switch (seen.pixel) {
    case PixelType::u8:
      return reduced<std::uint8_t, std::uint16_t>(seen, none, step);
    case PixelType::u16:
      return reduced<std::uint16_t, std::uint16_t>(seen, none, step);
    case PixelType::i16:
      return reduced<std::int16_t, std::int16_t>(seen, none, step);
    case PixelType::u32:
      return reduced<std::uint32_t, float>(seen, none, step);
    case PixelType::i32:
      return reduced<std::int32_t, float>(seen, none, step);
    default:
      return reduced<float, float>(seen, none, step);
  }
}

}  // namespace rashpa::receiver
