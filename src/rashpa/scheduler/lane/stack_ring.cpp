// SPDX-License-Identifier: Apache-2.0
#include "rashpa/scheduler/lane/stack_ring.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "rashpa/core/error.hpp"
#include "rashpa/core/frame/storage_cell.hpp"
#include "rashpa/scheduler/lane/lost_lines.hpp"

namespace rashpa::scheduler {

StackRing::StackRing(const LaneConfig& config, const SlotGuard& guard, bool compared)
    : config_(config), compared_(compared) {
  if (config_.stack == 0 || config_.slots % config_.stack != 0 || config_.slots < 2 * config_.stack) {
    throw ConfigError(fmt::format(
        "buffer '{}': {} slots do not hold a whole number of at least two stacks of {} images; try slots = {}",
        config_.name, config_.slots, config_.stack, std::max(4U * config_.stack, 4U)));
  }
  if (config_.dtps.empty())
    throw ConfigError(fmt::format("buffer '{}': no DTP writes into it; connect one", config_.name));
  for (const LaneDtp& dtp : config_.dtps) lost_per_image_ += most_lost_runs(dtp.placement.lines);
  states_.resize(config_.slots);
  lost_.resize(static_cast<std::size_t>(config_.slots) * lost_per_image_);
  sums_.resize(static_cast<std::size_t>(config_.slots) * config_.dtps.size());
  stacks_.resize(config_.slots / config_.stack);
  for (std::size_t slot = 0; slot < stacks_.size(); ++slot) {
    stacks_[slot].slot = static_cast<std::uint32_t>(slot);
    stacks_[slot].guard = &guard;
    stacks_[slot].images.resize(config_.stack);
    for (std::uint32_t i = 0; i < config_.stack; ++i) {
      const std::size_t image = slot * config_.stack + i;
      if (config_.device_images == nullptr) {
        stacks_[slot].images[i].raw = config_.memory + config_.pixels_offset + image * config_.slot_bytes;
      }
      stacks_[slot].images[i].lost = lost_.data() + image * lost_per_image_;
    }
  }
}

// Clears the stack's inputs and results; it has been released, nobody else looks at it.
void StackRing::open(std::uint64_t number, std::uint64_t limit) noexcept {
  Stack& stack = of(number);
  stack.number = number;
  stack.count = static_cast<std::uint32_t>(end_of(number, limit) - number * config_.stack);
  for (std::uint32_t i = 0; i < stack.count; ++i) {
    StackImage& image = stack.images[i];
    std::byte* raw = image.raw;
    LostRun* lost = image.lost;
    image = StackImage{};
    image.raw = raw;
    image.lost = lost;
    image.index = number * config_.stack + i;
    image.frame_number = config_.slice.frame(image.index);
    const std::size_t slot = image.index % config_.slots;
    states_[slot] = ImageState{};
    const std::span<PayloadSum> sums(sums_.data() + slot * config_.dtps.size(), config_.dtps.size());
    for (std::size_t dtp = 0; dtp < sums.size(); ++dtp) {
      const Placement& placement = config_.dtps[dtp].placement;
      sums[dtp] = {placement.first_line_offset, placement.pitch, placement.line_bytes, placement.lines};
    }
    image.sums = sums;
  }
}

void StackRing::add_lost(StackImage& image, std::size_t dtp, const link::Arrival& arrival) noexcept {
  const LaneDtp& lane_dtp = config_.dtps[dtp];
  const std::span<LostRun> room(image.lost + image.lost_count, lost_per_image_ - image.lost_count);
  if (arrival.completeness == Completeness::partial && arrival.loss == link::Loss::lines && arrival.map != nullptr) {
    image.lost_count += list_lost_runs(*arrival.map, lane_dtp.id, room);
  } else if (!room.empty()) {
    room[0] = {lane_dtp.id, 0, lane_dtp.placement.lines};  // nothing of it is proven
    ++image.lost_count;
  }
}

link::Arrival StackRing::refused(const link::Arrival& arrival) const noexcept {
  link::Arrival lost = arrival;
  lost.completeness = Completeness::missing;
  lost.loss = link::Loss::corrupt;
  lost.proof = link::Proof::none;
  lost.lines_missing = config_.dtps.front().placement.lines;
  lost.map = nullptr;
  return lost;
}

void StackRing::take(std::size_t dtp, const link::Arrival& arrival) noexcept {
  StackImage& image = this->image(arrival.index);
  const std::size_t slot = arrival.index % config_.slots;
  ImageState& seen = states_[slot];
  if (arrival.completeness == Completeness::complete) {
    ++seen.complete;
    PayloadSum& sum = sums_[slot * config_.dtps.size() + dtp];
    sum.crc32c = arrival.record.payload_crc32c;
    sum.known = arrival.record.payload_bytes == config_.dtps[dtp].placement.payload_bytes();
    sum.compared = sum.known && compared_ && arrival.proof == link::Proof::crc;
  } else {
    if (arrival.completeness == Completeness::missing) ++seen.missing;
    if (seen.first.loss == link::Loss::none) seen.first = {static_cast<std::uint32_t>(dtp), arrival.loss};
    add_lost(image, dtp, arrival);
  }
  if (arrival.completeness != Completeness::missing) {
    if (config_.slice == kToldByRecords) image.frame_number = arrival.record.frame_number;
    image.flags = image.has_header ? joined_flags(image.flags, arrival.record.flags) : arrival.record.flags;
    if (image.timestamp_ns == 0) image.timestamp_ns = arrival.record.timestamp_ns;
    image.last_packet_ns = std::max(image.last_packet_ns, arrival.last_packet_ns);
    if (!image.has_header || dtp < seen.header_dtp) {  // whichever came first: the same one in every run
      image.header = arrival.record.user;
      image.has_header = true;
      seen.header_dtp = dtp;
    }
  }
}

Stack& StackRing::close(std::uint64_t number, std::uint64_t limit) noexcept {
  Stack& stack = of(number);
  stack.count = static_cast<std::uint32_t>(end_of(number, limit) - number * config_.stack);
  const std::size_t dtps = config_.dtps.size();
  for (StackImage& image : stack.view()) {
    const ImageState& seen = states_[image.index % config_.slots];
    image.completeness = seen.complete == dtps  ? Completeness::complete
                         : seen.missing == dtps ? Completeness::missing
                                                : Completeness::partial;
  }
  return stack;
}

}  // namespace rashpa::scheduler
