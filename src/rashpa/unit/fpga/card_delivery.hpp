// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>

#include "rashpa/card/unit_card.hpp"
#include "rashpa/core/frame/stack.hpp"
#include "rashpa/memory/buffer.hpp"

namespace rashpa::unit::fpga {

/// The way of photons and lists out of card memory, and the host memory that they go to, a place for each image of the
/// ring. Decides nothing. One thread. Takes all memory in its constructor.
class CardDelivery {
 public:
  struct Config {
    std::size_t pixels = 0;         ///< of an image
    std::size_t images = 0;         ///< of the ring
    bool photons = true;            ///< they leave
    std::size_t list_capacity = 0;  ///< entries
    std::uint32_t list_pages = 0;   ///< from list to list in card memory; 0: there are none
  };
  explicit CardDelivery(const Config& config);

  /// Describes where an image of a stack lies in card memory.
  struct Source {
    std::uint32_t photons = 0, list = 0;  ///< pages
    card::UnitCounts counts{};
  };
  /// Fetches an accepted image into place `place` of the ring. Throws as from_card(), and StateError when it is no
  /// list that comes.
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
