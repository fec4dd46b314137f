// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The frames of an emulator's modules in card memory: one ring for each module; a frame is a record template and
/// pixels.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "rashpa/card/card.hpp"
#include "rashpa/emulator/module_frames.hpp"
#include "rashpa/link/fpga/dtp_table.hpp"

namespace rashpa::emulator {

/// Writes frames into card memory. Pixels are written only where different ones lie: once, if the ring's length is a
/// multiple of the dataset's. Throws as Card::to_card() does. One thread.
class FrameStore {
 public:
  /// Divides card memory evenly among `modules` and fills the rings with pixels. Each module occurs once, turned or
  /// not. `frames` is that of the run. The card and the modules' memory outlive it. Throws ConfigError when a frame of
  /// each module does not fit.
  FrameStore(card::Card& card, std::span<const ModuleFrames> modules, std::uint64_t frames);

  /// Returns the ring of the module at `place` of the list.
  [[nodiscard]] const link::fpga::FrameRing& ring(std::size_t place) const noexcept { return rings_[place].ring; }
  /// Writes frame number `frame` over the one ring().frames before it, which nobody reads any more.
  void put(std::size_t place, std::uint64_t frame, std::uint64_t timestamp_ns);
  /// Returns the number of frames written with their pixels so far.
  [[nodiscard]] std::uint64_t pixels_written() const noexcept { return pixels_written_; }

 private:
  struct Ring {
    ModuleFrames module{};
    link::fpga::FrameRing ring{};
    std::vector<std::uint64_t> holds{};  ///< by place in the ring: number of the dataset's frame there
  };
  void put_pixels(Ring& ring, std::uint64_t frame);

  card::Card& card_;
  std::vector<Ring> rings_;
  std::uint64_t pixels_written_ = 0;
};

}  // namespace rashpa::emulator
