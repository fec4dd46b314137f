// SPDX-License-Identifier: Apache-2.0
#include "rashpa/unit/fpga/card_delivery.hpp"

#include <fmt/format.h>

#include <span>

#include "rashpa/core/error.hpp"

namespace rashpa::unit::fpga {

namespace {

constexpr std::size_t kPhotonBytes = 2;
constexpr std::size_t kPlacesAligned = 4096;
constexpr std::size_t kEntriesOfLine = 32;

std::size_t up_to_next(std::size_t value, std::size_t step) { return (value + step - 1) / step * step; }

memory::Buffer pageable(std::size_t bytes) {
  return bytes == 0 ? memory::Buffer() : memory::Buffer(bytes, memory::MemoryKind::pageable);
}

}  // namespace

CardDelivery::CardDelivery(const Config& config)
    : config_(config),
      image_bytes_(config.pixels * kPhotonBytes),
      photons_stride_(up_to_next(image_bytes_, kPlacesAligned)),
      list_stride_(config.list_pages == 0 ? 0 : up_to_next(config.list_capacity, kEntriesOfLine)),
      photons_(pageable(photons_stride_ * config.images)),
      beats_(pageable(config.list_pages * card::kCardPage)),
      indexes_(pageable(config.images * list_stride_ * sizeof(std::uint32_t))),
      values_(pageable(config.images * list_stride_ * sizeof(std::int16_t))) {}

void CardDelivery::fetch(card::Nodes& card, const Source& from, std::size_t place, StackImage& image) {
  if (config_.photons) {
    std::byte* const to = photons_.data() + place * photons_stride_;
    card.from_card(from.photons * card::kCardPage, {to, image_bytes_});
    image.pixels = to;
  }
  if (config_.list_pages != 0) fetch_list(card, from, place, image);
}

void CardDelivery::fetch_list(card::Nodes& card, const Source& from, std::size_t place, StackImage& image) {
  const std::size_t bytes = std::size_t{from.counts.list_beats} * card::kUnitListBeatBytes;
  const std::size_t entries = from.counts.listed;
  auto* const index = reinterpret_cast<std::uint32_t*>(indexes_.data()) + place * list_stride_;
  auto* const value = reinterpret_cast<std::int16_t*>(values_.data()) + place * list_stride_;
  if (bytes <= beats_.size() && entries <= list_stride_) {
    const std::span<std::byte> beats(beats_.data(), bytes);
    if (bytes != 0) card.from_card(from.list * card::kCardPage, beats);
    if (card::unpack_list(beats, config_.pixels, {{index, entries}, {value, entries}}) == entries) {
      image.sparse = {index, value, from.counts.listed};
      return;
    }
  }
  throw StateError(fmt::format("card: the list of an image does not hold {} pixels in {} beats; reset the card",
                               entries, from.counts.list_beats));
}

}  // namespace rashpa::unit::fpga
