// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>

#include "rashpa/card/unit_card.hpp"
#include "rashpa/core/frame/stack.hpp"
#include "rashpa/memory/buffer.hpp"

namespace rashpa::unit::fpga {

/// Copies photons and lists out of card memory into host memory, which has a place for each image of the ring. It makes
/// no decisions. One thread. The constructor takes all memory.
class CardDelivery {
 public:
  struct Config {
    std::size_t pixels = 0;         ///< pixels of an image
    std::size_t images = 0;         ///< images of the ring
    bool photons = true;            ///< true: photons leave the card
    std::size_t list_capacity = 0;  ///< entries
    std::uint32_t list_pages = 0;   ///< pages from list to list in card memory; 0: there are no lists
  };
  explicit CardDelivery(const Config& config);

  /// The place of an image in card memory.
  struct Source {
    std::uint32_t photons = 0, list = 0;  ///< first page of each
    card::UnitCounts counts{};
  };
  /// Fetches an accepted image into place `place` of the ring. Throws as from_card(), and StateError when the card's
  /// list is invalid.
  void fetch(card::Nodes& card, const Source& from, std::size_t place, StackImage& image);

 private:
  void fetch_list(card::Nodes& card, const Source& from, std::size_t place, StackImage& image);

  Config config_;
  std::size_t image_bytes_;
  std::size_t photons_stride_;
  std::size_t list_stride_;          // entries
  memory::Buffer photons_;           // [place]
  memory::Buffer beats_;             // of the list that comes
  memory::Buffer indexes_, values_;  // [place][list_stride_]
};

}  // namespace rashpa::unit::fpga
