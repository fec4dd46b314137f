// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The frames of an emulator's modules in card memory: a ring a module, each frame a record's template and pixels.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "rashpa/card/card.hpp"
#include "rashpa/emulator/module_frames.hpp"
#include "rashpa/link/fpga/dtp_table.hpp"

namespace rashpa::emulator {

/// One thread. Pixels are written where other ones lie; while the ring's length is a multiple of the dataset's, that is
/// once. Throws what Card::to_card() throws.
class FrameStore {
 public:
  /// Shares card memory evenly among `modules`, of one dataset or turned, each named once, and fills the rings' pixels.
  /// `frames`: of the run. The card and the modules' memory outlive it. Throws ConfigError when a frame of each module
  /// does not fit.
  FrameStore(card::Card& card, std::span<const ModuleFrames> modules, std::uint64_t frames);

  /// The ring of the module at place `place` in the list.
  [[nodiscard]] const link::fpga::FrameRing& ring(std::size_t place) const noexcept { return rings_[place].ring; }
  /// Frame number `frame` takes the place of the one ring().frames before it, which nobody reads any more.
  void put(std::size_t place, std::uint64_t frame, std::uint64_t timestamp_ns);
  /// Frames written with their pixels so far.
  [[nodiscard]] std::uint64_t pixels_written() const noexcept { return pixels_written_; }

 private:
  struct Ring {
    ModuleFrames module{};
    link::fpga::FrameRing ring{};
    std::vector<std::uint64_t> holds{};  ///< by place: the dataset's frame
  };
  void put_pixels(Ring& ring, std::uint64_t frame);

  card::Card& card_;
  std::vector<Ring> rings_;
  std::uint64_t pixels_written_ = 0;
};

}  // namespace rashpa::emulator
