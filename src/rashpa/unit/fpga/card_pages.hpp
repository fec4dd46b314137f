// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <vector>

#include "rashpa/card/unit_card.hpp"

namespace rashpa::unit::fpga {

/// The pages of card memory: calibration first, then a bench for each stack in flight. Only arithmetic.
struct CardPages {
  /// Computes the pages. `list_pages` is the distance between lists; 0: there are none.
  CardPages(std::size_t pixels, std::uint32_t stack, std::uint32_t stacks, std::uint32_t list_pages)
      : image(card::unit_blocks(pixels)), list(list_pages), benches(stacks) {
    const std::uint64_t calibration = std::uint64_t{card::kUnitCalibrationPages} * image;
    calibration_low = take(calibration);
    calibration_high = take(calibration);
    for (card::UnitStack& bench : benches) {
      bench.raw = take(std::uint64_t{stack} * image);
      bench.photons = take(std::uint64_t{stack} * image);
      bench.results = take(1);
      bench.lists = take(std::uint64_t{stack} * list);
    }
  }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return taken * card::kCardPage; }

  std::uint32_t image;  ///< pages from image to image
  std::uint32_t list;   ///< pages from list to list
  std::uint32_t calibration_low = 0, calibration_high = 0;
  std::vector<card::UnitStack> benches;
  std::uint64_t taken = 0;

 private:
  std::uint32_t take(std::uint64_t pages) {
    const std::uint64_t page = taken;
    taken += pages;
    return static_cast<std::uint32_t>(page);
  }
};

}  // namespace rashpa::unit::fpga
