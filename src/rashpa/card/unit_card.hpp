// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The processing unit of a card (rtl/unit) as its driver accesses it.
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "rashpa/card/nodes.hpp"
#include "rashpa/card/unit_registers.hpp"

namespace rashpa::card {

/// The page size of card memory in bytes. The unit's addresses are given in pages.
inline constexpr std::uint64_t kCardPage = 4096;
inline constexpr std::uint32_t kUnitBlockPixels = 2048;
inline constexpr std::uint32_t kUnitBeatPixels = 32;
/// The calibration pages of one block for each half of the lanes.
inline constexpr std::uint32_t kUnitCalibrationPages = 6;

/// Returns the number of blocks of an image. Its raw words take this number of pages, and so do its photons.
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

/// The settings for lists of pixels at or above a threshold.
struct UnitLists {
  bool on = false;
  std::int16_t threshold = 0;  ///< photons
  std::uint32_t pages = 0;     ///< pages reserved for each list and distance between lists, at least unit_list_pages()
};

/// The settings of the images, the same for all stacks.
struct UnitSetup {
  std::uint64_t pixels = 0;
  std::uint32_t image_pages = 0;  ///< distance between images in pages, at least unit_blocks(pixels)
  std::uint32_t calibration_low = 0;
  std::uint32_t calibration_high = 0;
  std::int16_t bright = 0;  ///< pixels at or above this number of photons count as bright
  UnitLists lists{};
};

/// The places of one stack in card memory, in pages.
struct UnitStack {
  std::uint32_t raw = 0;
  std::uint32_t photons = 0;
  std::uint32_t results = 0;  ///< one page with a UnitCounts for each image
  std::uint32_t images = 0;
  std::uint32_t lists = 0;  ///< place of the lists; unused when the unit makes none
};

/// The unit's counts for each image.
struct UnitCounts {
  std::uint32_t masked = 0, saturated = 0, bright = 0;
  std::uint32_t listed = 0;      ///< listed pixels, including those that found no room
  std::uint32_t list_beats = 0;  ///< beats that all listed pixels need; the list has fewer where its room was too small
  std::uint32_t reserved[11] = {};
};
static_assert(sizeof(UnitCounts) == 64);

/// The destination of the entries of an unpacked list.
struct UnitEntries {
  std::span<std::uint32_t> index;  ///< pixel indices, ascending
  std::span<std::int16_t> value;   ///< pixel values, one for each index
};
/// Unpacks the beats of a list into `out` and returns the number of entries. Returns nothing when the beats are no list
/// of an image of this size, or when the entries do not fit into `out`.
std::optional<std::size_t> unpack_list(std::span<const std::byte> beats, std::uint64_t pixels,
                                       const UnitEntries& out) noexcept;

struct UnitError {
  unit_registers::ErrorCode code = unit_registers::ErrorCode::none;
  std::uint32_t stack = 0;  ///< number of the stack, as posted() counts
};
/// Returns the error as text, with a remedy.
std::string text_of(const UnitError& error);

/// An open card with a processing unit. The thread rules of Nodes hold; one thread posts stacks and changes settings.
class UnitCard final : public Nodes {
 public:
  /// Opens the card. Throws as the constructor of Nodes does, and ResourceError when the card's block size differs from
  /// that of this program.
  explicit UnitCard(const std::filesystem::path& directory, const std::string& device = "xdma0");

  /// Returns the most images of a stack. slots() returns the most stacks that may be in flight.
  [[nodiscard]] std::uint32_t most_images() const noexcept { return most_images_; }
  [[nodiscard]] std::uint32_t slots() const noexcept { return slots_; }

  /// Writes the settings of all stacks. Throws StateError while a stack is in flight, and ConfigError when images have
  /// no pixels or more than the card has room for.
  void set_up(const UnitSetup& setup);
  /// Posts a stack to the card, which may begin at once. Returns the value that done() has when the stack is complete.
  /// At most slots() stacks may be in flight.
  std::uint32_t post(const UnitStack& stack) noexcept;
  [[nodiscard]] std::uint32_t posted() const noexcept { return posted_; }
  /// Returns the number of stacks whose results are in card memory, modulo 2^32.
  [[nodiscard]] std::uint32_t done() const noexcept;
  [[nodiscard]] unit_registers::State state() const noexcept;
  /// Returns the first error since the last abort(). After an error the card completes no more stacks.
  [[nodiscard]] std::optional<UnitError> error() const noexcept;
  /// Discards all posted stacks and clears errors. Throws StateError when the card does not answer within `wait_us`
  /// microseconds.
  void abort(std::uint32_t wait_us = 1'000'000);

 private:
  std::uint32_t most_images_ = 0;
  std::uint32_t slots_ = 0;
  std::uint32_t posted_ = 0;
};

}  // namespace rashpa::card
