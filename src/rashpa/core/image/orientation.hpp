// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <utility>

namespace rashpa {

/// The orientation of a module in the image. Its frame, with row 0 on top, is turned clockwise and then, if flipped,
/// mirrored left to right. This covers all eight orientations of a rectangle.
struct Orientation {
  std::uint32_t turn = 0;  ///< degrees: 0, 90, 180 or 270
  bool flip = false;
  [[nodiscard]] constexpr bool upright() const noexcept { return turn == 0 && !flip; }
  /// Returns true when turning exchanges the width and the height of a frame.
  [[nodiscard]] constexpr bool swaps_sides() const noexcept { return turn % 180 != 0; }
  [[nodiscard]] constexpr bool valid() const noexcept { return turn % 90 == 0 && turn < 360; }
  friend constexpr auto operator<=>(const Orientation&, const Orientation&) = default;
};

/// Returns the width and height of a frame of width × height pixels after turning.
constexpr std::pair<std::uint32_t, std::uint32_t> turned_sides(Orientation way, std::uint32_t width,
                                                               std::uint32_t height) noexcept {
  return way.swaps_sides() ? std::pair{height, width} : std::pair{width, height};
}

/// The mapping of a frame of width × height pixels to the turned frame. Column c, row r of the frame goes to (x +
/// c·column_x + r·row_x, y + c·column_y + r·row_y). Steps are −1, 0 or 1, and the inverse has the same steps.
struct TurnedAxes {
  std::int64_t x = 0, y = 0;
  std::int64_t column_x = 1, column_y = 0;
  std::int64_t row_x = 0, row_y = 1;

  constexpr TurnedAxes(Orientation way, std::uint32_t width, std::uint32_t height) noexcept {
    constexpr std::int64_t kCosine[4] = {1, 0, -1, 0};
    const std::uint32_t quarters = way.turn / 90 % 4;
    const std::int64_t cosine = kCosine[quarters], sine = kCosine[(quarters + 3) % 4];
    const std::int64_t mirror = way.flip ? -1 : 1;
    column_x = cosine * mirror, column_y = sine;
    row_x = -sine * mirror, row_y = cosine;
    const auto [right, bottom] = turned_sides(way, width, height);
    x = column_x + row_x < 0 ? std::int64_t{right} - 1 : 0;
    y = column_y + row_y < 0 ? std::int64_t{bottom} - 1 : 0;
  }
};

}  // namespace rashpa
