// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The processing unit in hardware (rtl/unit), as its driver sees it.
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "rashpa/card/nodes.hpp"
#include "rashpa/card/unit_registers.hpp"

namespace rashpa::card {

/// Addresses of the unit are multiples of it, counted in it.
inline constexpr std::uint64_t kCardPage = 4096;
inline constexpr std::uint32_t kUnitBlockPixels = 2048;
inline constexpr std::uint32_t kUnitBeatPixels = 32;
/// Pages of calibration of a block, for each half of the lanes.
inline constexpr std::uint32_t kUnitCalibrationPages = 6;

/// Blocks of an image: its raw words, and its photons, take as many pages.
constexpr std::uint32_t unit_blocks(std::uint64_t pixels) noexcept {
  return static_cast<std::uint32_t>((pixels + kUnitBlockPixels - 1) / kUnitBlockPixels);
}

/// A list of pixels consists of beats with this number of entries. The last beat of a block may have fewer.
inline constexpr std::uint32_t kUnitListEntries = 16;
inline constexpr std::uint32_t kUnitListBeatBytes = 64;

/// Returns the pages from one list to the next, with room for `capacity` entries at any places among the pixels.
constexpr std::uint32_t unit_list_pages(std::uint64_t pixels, std::uint64_t capacity) noexcept {
  constexpr std::uint64_t kBeatsOfBlock = kUnitBlockPixels / kUnitListEntries;
  constexpr std::uint64_t kBeatsOfPage = kCardPage / kUnitListBeatBytes;
  const std::uint64_t blocks = unit_blocks(pixels);
  const std::uint64_t most = capacity / kUnitListEntries + blocks;
  const std::uint64_t beats = most < blocks * kBeatsOfBlock ? most : blocks * kBeatsOfBlock;
  return static_cast<std::uint32_t>((beats + kBeatsOfPage - 1) / kBeatsOfPage);
}

/// Lists of the pixels at or above a threshold.
struct UnitLists {
  bool on = false;
  std::int16_t threshold = 0;  ///< photons
  std::uint32_t pages = 0;     ///< from list to list, and room of each: unit_list_pages() at least
};

/// The images of all stacks.
struct UnitSetup {
  std::uint64_t pixels = 0;
  std::uint32_t image_pages = 0;  ///< from image to image, at least unit_blocks(pixels)
  std::uint32_t calibration_low = 0;
  std::uint32_t calibration_high = 0;
  std::int16_t bright = 0;  ///< photons
  UnitLists lists{};
};

/// Describes where a stack lies in card memory, in pages.
struct UnitStack {
  std::uint32_t raw = 0;
  std::uint32_t photons = 0;
  std::uint32_t results = 0;  ///< one page: a UnitCounts an image
  std::uint32_t images = 0;
  std::uint32_t lists = 0;  ///< when there are
};

/// The unit's counts for each image.
struct UnitCounts {
  std::uint32_t masked = 0, saturated = 0, bright = 0;
  std::uint32_t listed = 0;  ///< pixels, whether they had room or not
  std::uint32_t list_beats =
      0;  ///< that they take; not all of them are there when they are more than there is room for
  std::uint32_t reserved[11] = {};
};
static_assert(sizeof(UnitCounts) == 64);

/// Describes where a list goes.
struct UnitEntries {
  std::span<std::uint32_t> index;  ///< of pixels, ascending
  std::span<std::int16_t> value;   ///< of as many
};
/// Takes the beats of a list apart; returns how many entries they have, nothing when they are no list of an image of
/// this size, or do not fit.
std::optional<std::size_t> unpack_list(std::span<const std::byte> beats, std::uint64_t pixels,
                                       const UnitEntries& out) noexcept;

struct UnitError {
  unit_registers::ErrorCode code = unit_registers::ErrorCode::none;
  std::uint32_t stack = 0;  ///< as posted() counts them
};
/// The error in words, and what to try.
std::string text_of(const UnitError& error);

/// An open card with a processing unit. Threads as of Nodes; posting and settings from one thread.
class UnitCard final : public Nodes {
 public:
  /// Throws what Nodes throws, and ResourceError when the card has other blocks than this program.
  explicit UnitCard(const std::filesystem::path& directory, const std::string& device = "xdma0");

  /// Images of a stack at most; stacks that may be posted and not done.
  [[nodiscard]] std::uint32_t most_images() const noexcept { return most_images_; }
  [[nodiscard]] std::uint32_t slots() const noexcept { return slots_; }

  /// Throws StateError while a stack is under way, ConfigError when images have no pixels, or more than there are
  /// places for.
  void set_up(const UnitSetup& setup);
  /// The card may begin with it. Returns what done() is when it is done. No more than slots() may be under way.
  std::uint32_t post(const UnitStack& stack) noexcept;
  [[nodiscard]] std::uint32_t posted() const noexcept { return posted_; }
  /// Stacks whose results are in card memory, modulo 2^32.
  [[nodiscard]] std::uint32_t done() const noexcept;
  [[nodiscard]] unit_registers::State state() const noexcept;
  /// The first error since the last abort(): nothing is done any more.
  [[nodiscard]] std::optional<UnitError> error() const noexcept;
  /// Drops all that is posted and takes errors back. Throws StateError when the card does not answer in `wait_us`.
  void abort(std::uint32_t wait_us = 1'000'000);

 private:
  std::uint32_t most_images_ = 0;
  std::uint32_t slots_ = 0;
  std::uint32_t posted_ = 0;
};

}  // namespace rashpa::card
