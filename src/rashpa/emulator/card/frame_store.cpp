// SPDX-License-Identifier: Apache-2.0
#include "rashpa/emulator/card/frame_store.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <utility>

#include "rashpa/core/error.hpp"

namespace rashpa::emulator {

namespace {

using link::fpga::FrameRing;

constexpr std::uint64_t kAligned = 64;
constexpr std::uint64_t kAhead = 64;  // frames in memory that are enough, where the dataset has no more
constexpr std::uint64_t kNothing = std::numeric_limits<std::uint64_t>::max();

std::uint64_t aligned(std::uint64_t bytes) noexcept { return (bytes + kAligned - 1) / kAligned * kAligned; }

/// Whole turns of the dataset where there is room for one.
std::uint64_t frames_of_ring(std::uint64_t room, std::uint64_t dataset, std::uint64_t run) noexcept {
  const std::uint64_t turns = std::max<std::uint64_t>(1, std::min((kAhead + dataset - 1) / dataset, room / dataset));
  return std::min({room, run, turns * dataset});
}

}  // namespace

FrameStore::FrameStore(card::Card& card, std::span<const ModuleFrames> modules, std::uint64_t frames) : card_(card) {
  // a turned module has other lines, and the same number of bytes
  const std::uint64_t stride = aligned(FrameRing::kPixels + modules.front().shape().frame_bytes());
  const std::uint64_t share = card.memory_bytes() / modules.size() / kAligned * kAligned;
  const std::uint64_t room = share / stride;
  if (room == 0) {
    throw ConfigError(
        fmt::format("emulator: card memory of {} bytes has no room for a frame of {} bytes of each of {} modules; use "
                    "fewer modules, or fewer orientations of them, a card",
                    card.memory_bytes(), stride, modules.size()));
  }
  for (std::size_t place = 0; place < modules.size(); ++place) {
    Ring ring{.module = modules[place],
              .ring = {.address = place * share,
                       .stride = stride,
                       .frames = frames_of_ring(room, modules[place].frames(), frames),
                       .pitch_bytes = modules[place].shape().pitch_bytes(),
                       .pixel_bytes = pixel_bytes(modules[place].shape().pixel)}};
    ring.holds.assign(ring.ring.frames, kNothing);
    for (std::uint64_t frame = 0; frame < ring.ring.frames; ++frame) put_pixels(ring, frame);
    rings_.push_back(std::move(ring));
  }
}

void FrameStore::put_pixels(Ring& ring, std::uint64_t frame) {
  std::uint64_t& holds = ring.holds[frame % ring.ring.frames];
  const std::uint64_t wanted = frame % ring.module.frames();
  if (holds == wanted) return;
  const std::uint64_t address = ring.ring.address + frame % ring.ring.frames * ring.ring.stride + FrameRing::kPixels;
  card_.to_card(address, {ring.module.frame(wanted), ring.module.shape().frame_bytes()});
  holds = wanted;
  ++pixels_written_;
}

void FrameStore::put(std::size_t place, std::uint64_t frame, std::uint64_t timestamp_ns) {
  Ring& ring = rings_[place];
  put_pixels(ring, frame);
  std::array<std::byte, FrameRecord::kBytes> record;
  link::fpga::record_template(record, frame, timestamp_ns, ring.module.flags(frame % ring.module.frames()));
  card_.to_card(ring.ring.address + frame % ring.ring.frames * ring.ring.stride, record);
}

}  // namespace rashpa::emulator
