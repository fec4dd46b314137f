// SPDX-License-Identifier: Apache-2.0
#include "rashpa/card/unit_card.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstring>

#include "rashpa/core/error.hpp"

namespace rashpa::card {

namespace {

namespace identity = unit_registers::identity;
namespace status = unit_registers::status;
namespace settings = unit_registers::settings;
namespace stacks = unit_registers::stacks;
namespace doorbells = unit_registers::doorbells;

constexpr std::uint32_t kUnitMagic = 0x55505352;  // "RSPU" in memory
constexpr std::uint32_t kUnitVersion = 2;
constexpr std::uint32_t kMostBlocks = 0xFFFF;
constexpr std::uint32_t kMostListPages = 0x3FFFF;

/// A beat of a list, as unit_list_writer.sv puts it together: the bits above the 11 of a place are the same for all.
struct ListBeat {
  std::int16_t value[kUnitListEntries];
  std::uint16_t place[kUnitListEntries];
};
static_assert(sizeof(ListBeat) == kUnitListBeatBytes);
constexpr std::uint32_t kPlaceBits = 11;
constexpr std::uint32_t kAboveBits = 16 - kPlaceBits;
constexpr std::size_t kBlockParts = 4;  // of the number of its block
static_assert(std::uint32_t{1} << kPlaceBits == kUnitBlockPixels);

}  // namespace

std::optional<std::size_t> unpack_list(std::span<const std::byte> beats, std::uint64_t pixels,
                                       const UnitEntries& out) noexcept {
  std::size_t count = 0;
  std::uint64_t least = 0;  // that the next index may be
  for (; beats.size() >= kUnitListBeatBytes; beats = beats.subspan(kUnitListBeatBytes)) {
    ListBeat beat;
    std::memcpy(&beat, beats.data(), sizeof beat);
    std::uint32_t block = 0;
    for (std::size_t part = 0; part < kBlockParts; ++part) {
      block |= std::uint32_t{beat.place[part]} >> kPlaceBits << (kAboveBits * part);
    }
    const std::size_t entries = beat.place[kBlockParts] >> kPlaceBits;
    if (entries > kUnitListEntries || entries > out.index.size() - count) return std::nullopt;
    const std::uint64_t first = std::uint64_t{block} * kUnitBlockPixels;
    for (std::size_t i = 0; i < entries; ++i) {
      const std::uint64_t index = first + (beat.place[i] & (kUnitBlockPixels - 1));
      if (index < least || index >= pixels) return std::nullopt;
      least = index + 1;
      out.index[count + i] = static_cast<std::uint32_t>(index);
      out.value[count + i] = beat.value[i];
    }
    count += entries;
  }
  return beats.empty() ? std::optional(count) : std::nullopt;
}

std::string text_of(const UnitError& error) {
  using unit_registers::ErrorCode;
  switch (error.code) {
    case ErrorCode::none:
      return "no error";
    case ErrorCode::images:
      return fmt::format("stack {} has no image, or more than the card takes", error.stack);
    case ErrorCode::blocks:
      return fmt::format("stack {}: images have no block; the card has not been set up", error.stack);
    case ErrorCode::read:
      return fmt::format("card memory answered a read of raw images of stack {} or the next with an error",
                         error.stack);
    case ErrorCode::calibration:
      return fmt::format("card memory answered a read of the calibration with an error, at stack {} or the next",
                         error.stack);
    case ErrorCode::write:
      return fmt::format("card memory answered a write of results of stack {} or the next with an error", error.stack);
  }
  return fmt::format("error {} at stack {}, which this version does not know", static_cast<std::uint32_t>(error.code),
                     error.stack);
}

UnitCard::UnitCard(const std::filesystem::path& directory, const std::string& device)
    : Nodes(directory, device, {"a processing unit", kUnitMagic, kUnitVersion}) {
  const std::uint32_t capabilities = read32(identity::kCapabilities);
  most_images_ = identity::kCapabilitiesMostImages.get(capabilities);
  slots_ = identity::kCapabilitiesSlots.get(capabilities);
  const std::uint32_t lanes = identity::kCapabilitiesLanes.get(capabilities);
  if (read32(identity::kBlockPixels) != kUnitBlockPixels || lanes != kUnitBeatPixels || slots_ != stacks::kCount) {
    throw ResourceError(
        fmt::format("card: {}: it has blocks of {} pixels, {} lanes and {} places for stacks, this program knows {}, "
                    "{} and {}; load "
                    "the card again",
                    path().string(), read32(identity::kBlockPixels), lanes, slots_, kUnitBlockPixels, kUnitBeatPixels,
                    stacks::kCount));
  }
  posted_ = read32(doorbells::kStacksPosted);
}

void UnitCard::set_up(const UnitSetup& setup) {
  if (done() != posted_) {
    throw StateError(fmt::format("card: {}: settings cannot change while {} stacks are in flight; wait for their end",
                                 path().string(), posted_ - done()));
  }
  const std::uint32_t blocks = unit_blocks(setup.pixels);
  if (setup.pixels == 0 || setup.pixels > std::uint64_t{kMostBlocks} * kUnitBlockPixels) {
    throw ConfigError(fmt::format("card: images of {} pixels are not possible; use 1 to {}", setup.pixels,
                                  std::uint64_t{kMostBlocks} * kUnitBlockPixels));
  }
  if (setup.image_pages < blocks) {
    throw ConfigError(fmt::format("card: {} pages from image to image; each has {}", setup.image_pages, blocks));
  }
  if (setup.lists.on && (setup.lists.pages == 0 || setup.lists.pages > kMostListPages)) {
    throw ConfigError(
        fmt::format("card: lists of {} pages are not possible; use 1 to {}", setup.lists.pages, kMostListPages));
  }
  const auto rest = static_cast<std::uint32_t>(setup.pixels - std::uint64_t{blocks - 1} * kUnitBlockPixels);
  const std::uint32_t beats = (rest + kUnitBeatPixels - 1) / kUnitBeatPixels;
  const std::uint32_t lanes = rest - (beats - 1) * kUnitBeatPixels;
  write32(settings::kBlocks, blocks);
  write32(settings::kLast, settings::kLastBeats.put(beats - 1));
  write32(settings::kLastLanes, lanes == kUnitBeatPixels ? ~std::uint32_t{0} : (std::uint32_t{1} << lanes) - 1);
  write32(settings::kImagePages, setup.image_pages);
  write32(settings::kCalibrationLow, setup.calibration_low);
  write32(settings::kCalibrationHigh, setup.calibration_high);
  write32(settings::kBright, static_cast<std::uint16_t>(setup.bright));
  write32(settings::kList, settings::kListThreshold.put(static_cast<std::uint16_t>(setup.lists.threshold)) |
                               settings::kListOn.put(setup.lists.on ? 1 : 0));
  write32(settings::kListPages, setup.lists.pages);
}

std::uint32_t UnitCard::post(const UnitStack& stack) noexcept {
  const std::uint32_t at = stacks::at(posted_ % slots_);
  write32(at + stacks::kRawPage, stack.raw);
  write32(at + stacks::kPhotonsPage, stack.photons);
  write32(at + stacks::kResultsPage, stack.results);
  write32(at + stacks::kImages, stack.images);
  write32(at + stacks::kListsPage, stack.lists);
  write32(doorbells::kStacksPosted, ++posted_);
  return posted_;
}

std::uint32_t UnitCard::done() const noexcept { return read32(status::kStacksDone); }

unit_registers::State UnitCard::state() const noexcept {
  return static_cast<unit_registers::State>(read32(status::kState));
}

std::optional<UnitError> UnitCard::error() const noexcept {
  const auto code = static_cast<unit_registers::ErrorCode>(status::kErrorCode.get(read32(status::kError)));
  if (code == unit_registers::ErrorCode::none) return std::nullopt;
  return UnitError{.code = code, .stack = read32(status::kErrorStack)};
}

void UnitCard::abort(std::uint32_t wait_us) {
  using Clock = std::chrono::steady_clock;
  constexpr std::uint32_t kLookUs = 1000;  // events may be late
  const auto until = Clock::now() + std::chrono::microseconds(wait_us);
  const std::uint32_t count = read32(doorbells::kAbort) + 1;
  write32(doorbells::kAbort, count);
  while (read32(status::kAbortDone) != count) {
    if (Clock::now() >= until) {
      throw StateError(
          fmt::format("card: {}: Abort has not been carried out in {} ms, the unit's state is {}; check that it runs",
                      path().string(), wait_us / 1000, read32(status::kState)));
    }
    wait(kLookUs);
  }
}

}  // namespace rashpa::card
