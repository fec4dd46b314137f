// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/roce/faults/fault_injector.hpp"

#include <algorithm>
#include <cstring>

#include "rashpa/core/error.hpp"
#include "rashpa/core/numbers/checksum.hpp"
#include "rashpa/link/roce/outlet.hpp"

namespace rashpa::link::roce {

namespace {
// The most packets that one can cause: itself twice, and all that were held back.
constexpr std::size_t kWorst = 12;
}  // namespace

FaultInjector::FaultInjector(const FaultConfig& config, std::uint32_t dtp, std::uint64_t images,
                             std::uint64_t payload_bytes, const Options& options, PacketBatch& batch)
    : dice_(config, dtp),
      log_(images, payload_bytes),  // no packet of a line is shorter than one byte
      transport_(options.transport),
      checked_(options.icrc != IcrcMode::off),
      batch_(&batch),
      images_(images),
      copy_size_(std::max<std::size_t>(options.pmtu, FrameRecord::kBytes)) {
  if (images == 0 || payload_bytes == 0) {
    throw ConfigError(
        "roce: fault injection has no images, or images without bytes; give the number of images and the bytes of one");
  }
  if (config.corrupt > 0 && transport_ == Transport::rc && !checked_) {
    throw ConfigError(
        "roce: with transport rc and icrc off a damaged packet is acknowledged like any other, so that the bytes of an "
        "image cannot be predicted; use icrc modulo_id or full, or faults.corrupt = 0");
  }
  copy_bytes_.resize(kCopies * copy_size_);
}

bool FaultInjector::ready() const noexcept { return batch_->room() >= kWorst && free_copies_ >= kWorst; }

void FaultInjector::batch_sent() noexcept {
  for (Copy& copy : copies_) {
    if (copy != Copy::sending) continue;
    copy = Copy::free;
    ++free_copies_;
  }
}

// Moves the payload of `item` to a copy of our own; ready() has promised that there is one.
int FaultInjector::take_copy(Item& item, Copy use) noexcept {
  const auto found = std::find(copies_.begin(), copies_.end(), Copy::free);
  const auto index = static_cast<std::size_t>(found - copies_.begin());
  *found = use;
  --free_copies_;
  std::byte* const bytes = copy_bytes_.data() + index * copy_size_;
  std::memcpy(bytes, item.packet.payload, item.packet.bytes);
  item.packet.payload = bytes;
  return static_cast<int>(index);
}

std::uint32_t FaultInjector::line(const Outgoing& packet, std::uint32_t crc) noexcept {
  crc = crc32c({packet.payload, packet.bytes}, crc);
  inject({packet, false, lines_++}, dice_.draw());
  return crc;
}

void FaultInjector::event(const Outgoing& packet, std::uint64_t index) noexcept {
  if (index == kPartOfImage) return inject({packet, true, index}, dice_.draw());
  release_held();
  log_.lines_end(index, lines_);
  lines_ = 0;
  inject({packet, true, index}, dice_.draw());
  if (index + 1 >= images_) release_held();  // nothing will follow
}

void FaultInjector::inject(const Item& item, Fault fault) noexcept {
  switch (fault) {
    case Fault::none:
      wire(item);
      break;
    case Fault::drop:
      dropped_.add(1);
      break;
    case Fault::duplicate:
      duplicated_.add(1);
      wire(item);
      wire(item);
      break;
    case Fault::corrupt:
      wire_corrupt(item);
      break;
    case Fault::reorder:
      reordered_.add(1);
      let_pass();
      return hold(item);
  }
  let_pass();
}

void FaultInjector::wire(const Item& item) noexcept {
  batch_->append(item.packet);
  tell_log(item);
}

void FaultInjector::tell_log(const Item& item) noexcept {
  if (transport_ == Transport::rc) return;
  if (item.event) {
    log_.event_arrives(item.packet.psn, item.number);
  } else {
    const std::uint8_t opcode = item.packet.opcode;
    const bool only = opcode == wire::write_only || opcode == wire::ud_send_only;
    log_.line_arrives(item.packet.psn, item.number, only || opcode == wire::write_first,
                      only || opcode == wire::write_last);
  }
}

void FaultInjector::wire_corrupt(const Item& item) noexcept {
  corrupted_.add(1);
  Item own = item;
  std::byte* payload = nullptr;
  if (!own.event) {
    payload = copy_bytes_.data() + static_cast<std::size_t>(take_copy(own, Copy::sending)) * copy_size_;
  }
  batch_->append(own.packet);
  if (checked_) {
    while (!batch_->corrupt_last(payload, dice_.below(batch_->last_bits()))) {
    }
    return;
  }
  // Headers are left alone: no log can tell the effects of a wrong one.
  const std::uint32_t first = batch_->last_header_bits();
  while (!batch_->corrupt_last(payload, first + dice_.below(8 * item.packet.bytes))) {
  }
  if (item.event) return;  // its record is refused: the event is lost
  tell_log(item);
  log_.spoil();
}

void FaultInjector::hold(const Item& item) noexcept {
  if (held_count_ == kHeld) return wire(item);
  Held& held = held_[held_count_++];
  held.item = item;
  held.wait = 1 + dice_.below(4);
  held.copy = take_copy(held.item, Copy::held);
}

void FaultInjector::wire_held(Held& held) noexcept {
  copies_[static_cast<std::size_t>(held.copy)] = Copy::sending;
  wire(held.item);
}

// One more packet has passed those held back; those that have waited long enough follow it.
void FaultInjector::let_pass() noexcept {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < held_count_; ++i) {
    if (--held_[i].wait == 0) {
      wire_held(held_[i]);
    } else {
      held_[kept++] = held_[i];
    }
  }
  held_count_ = kept;
}

void FaultInjector::release_held() noexcept {
  for (std::size_t i = 0; i < held_count_; ++i) wire_held(held_[i]);
  held_count_ = 0;
}

}  // namespace rashpa::link::roce
