// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/fpga/descriptor_ring.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "rashpa/core/error.hpp"
#include "rashpa/core/log.hpp"

namespace rashpa::link::fpga {

namespace {

namespace registers = card::registers;
using card::Command;

constexpr std::uint32_t kPatienceUs = 10'000'000;  // of a command: a simulated card has the time of its processor
constexpr std::uint64_t kMostRoom = 64 << 10;
constexpr std::uint64_t kAligned = 64;  // bytes of a beat of card memory

}  // namespace

DescriptorRing::DescriptorRing(const std::filesystem::path& directory) : name_(directory.string()), card_(directory) {
  card_.claim();
  room_ = static_cast<std::uint32_t>(std::min(kMostRoom, card_.memory_bytes() / kEntries / kAligned * kAligned));
  if (room_ < FrameRecord::kBytes) {
    throw ResourceError(fmt::format("fpga: card {}: a memory of {} bytes; {} messages do not find a place in it", name_,
                                    card_.memory_bytes(), kEntries));
  }
}

DescriptorRing::~DescriptorRing() {
  try {
    card_.carry_out(Command::abort, kPatienceUs);
  } catch (const Error& error) {  // its simulator is gone: nothing is sent any more
    log::write(log::Level::warning, {}, "{}", error.what());
  }
}

bool DescriptorRing::simulated() const noexcept { return card_.read32(registers::identity::kClock) == 0; }

bool DescriptorRing::makes_faults() const noexcept {
  return registers::identity::kCapabilitiesFaultInjection.get(card_.read32(registers::identity::kCapabilities)) != 0;
}

std::uint32_t DescriptorRing::add(std::uint32_t id, const registers::DtpTable& table) {
  const std::scoped_lock lock(mutex_);
  const auto used = static_cast<std::size_t>(std::ranges::count_if(dtps_, &Dtp::used));
  if (used > 0 && (posted_ != begun_ || ended_)) {
    throw StateError(fmt::format(
        "fpga: card {}: DTP {} comes while others send; make all DTPs of a card before the first of them sends", name_,
        id));
  }
  if (used == kDtps) {
    throw ResourceError(fmt::format("fpga: card {}: it has places for {} DTPs, DTP {} is one more; use a second card",
                                    name_, kDtps, id));
  }
  const auto free = std::ranges::find_if(dtps_, [](const Dtp& dtp) { return !dtp.used; });
  *free = {.used = true, .id = id, .table = table};
  try {
    begin();
  } catch (...) {
    free->used = false;
    throw;
  }
  return static_cast<std::uint32_t>(free - dtps_.begin());
}

// The card begins anew with the tables of all DTPs, from any state.
void DescriptorRing::begin() {
  card_.carry_out(Command::abort, kPatienceUs);
  card_.write32(registers::settings::kMode, registers::settings::kModePushed.put(1));
  for (std::uint32_t place = 0; place < kDtps; ++place) {
    card_.write_table(place, dtps_[place].used ? dtps_[place].table : registers::DtpTable{});
    card_.write32(registers::doorbells::kGranted + 4 * place, 0);
  }
  if (makes_faults()) {
    for (std::size_t fault = 0; fault < registers::faults::kCount; ++fault) {
      card_.write32(registers::faults::at(fault) + registers::faults::kWhat, 0);
    }
  }
  begun_ = posted_ = done_ = card_.read32(registers::doorbells::kDescriptorsPosted);
  faults_.fill(begun_ - 1);
  card_.carry_out(Command::arm, kPatienceUs);
  card_.carry_out(Command::start, kPatienceUs);
  ended_ = false;
}

void DescriptorRing::remove(std::uint32_t place) noexcept {
  const std::scoped_lock lock(mutex_);
  dtps_[place].used = false;
}

// Returns true when there is room for one more descriptor and a number of faults of its packets.
bool DescriptorRing::has_room(std::size_t faults) noexcept {
  const auto there_is = [&] {
    const auto free = std::ranges::count_if(faults_, [&](std::uint32_t of) { return of - done_ >= kEntries; });
    return posted_ - done_ < kEntries && std::cmp_less_equal(faults, free);
  };
  if (!there_is()) settle();
  return !ended_ && there_is();
}

// Into entries of the card's table whose packets have left.
void DescriptorRing::put(std::uint32_t place, std::span<const CardFault> faults) noexcept {
  namespace words = registers::faults;
  std::size_t entry = 0;
  for (const CardFault& fault : faults) {
    while (faults_[entry] - done_ < kEntries) ++entry;
    card_.write32(words::at(entry) + words::kPacket, words::kPacketPsn.put(fault.psn) | words::kPacketDtp.put(place));
    card_.write32(words::at(entry) + words::kWhat,
                  words::kWhatBitNumber.put(fault.bit) | words::kWhatKind.put(static_cast<std::uint32_t>(fault.kind)));
    faults_[entry] = posted_;
  }
}

// Without the doorbell.
bool DescriptorRing::put(std::uint32_t place, const Message& message) noexcept {
  namespace words = registers::descriptors;
  Dtp& dtp = dtps_[place];
  const std::uint32_t slot = posted_ % kEntries;
  const std::uint64_t address = std::uint64_t{slot} * room_;
  try {
    card_.to_card(address, {message.source, message.bytes});
  } catch (const Error& error) {
    end(dtp.id, error.what());
    return false;
  }
  const std::uint32_t at = words::at(slot);
  card_.write32(at + words::kSource, static_cast<std::uint32_t>(address));
  card_.write32(at + words::kWhat, words::kWhatSourceHigh.put(static_cast<std::uint32_t>(address >> 32U)) |
                                       words::kWhatDtp.put(place) | words::kWhatEventRecord.put(message.event ? 1 : 0));
  card_.write32(at + words::kDestination, static_cast<std::uint32_t>(message.destination));
  card_.write32(at + words::kDestination + 4, static_cast<std::uint32_t>(message.destination >> 32U));
  card_.write32(at + words::kBytes, message.bytes);
  card_.write32(at + words::kImmediate, message.immediate);
  entries_[slot] = {.place = place,
                    .event = message.event,
                    .image = dtp.image,
                    .write = dtp.write,
                    .destination = message.destination,
                    .bytes = message.bytes};
  ++dtp.write;
  if (message.event) {
    ++dtp.image;
    dtp.write = 0;
  }
  ++posted_;
  return true;
}

void DescriptorRing::ring() noexcept { card_.write32(registers::doorbells::kDescriptorsPosted, posted_); }

std::size_t DescriptorRing::post(std::uint32_t place, std::span<const BufferDescriptor> writes,
                                 std::span<const CardFault> faults) noexcept {
  const std::scoped_lock lock(mutex_);
  std::size_t taken = 0;
  while (taken < writes.size() && has_room(faults.size())) {
    put(place, faults);
    faults = {};
    const BufferDescriptor& write = writes[taken];
    if (!put(place, {.source = write.source, .destination = write.destination, .bytes = write.bytes})) break;
    ++taken;
  }
  if (taken > 0) ring();
  return taken;
}

bool DescriptorRing::post(std::uint32_t place, const Event& event, std::span<const CardFault> faults) noexcept {
  const std::scoped_lock lock(mutex_);
  const Message message{.source = event.record,
                        .destination = event.destination,
                        .bytes = FrameRecord::kBytes,
                        .immediate = event.immediate,
                        .event = true};
  if (!has_room(faults.size())) return false;
  put(place, faults);
  if (!put(place, message)) return false;
  ring();
  return true;
}

CardProgress DescriptorRing::progress(std::uint32_t place) noexcept {
  namespace words = registers::dtp_status;
  const std::scoped_lock lock(mutex_);
  settle();
  const Dtp& dtp = dtps_[place];
  return {.writes = dtp.writes_done,
          .events = dtp.events_done,
          .granted = card_.read32(words::at(place) + words::kGranted),
          .ended = ended_};
}

// Books what the card has done, and sees whether it still runs.
void DescriptorRing::settle() noexcept {
  if (ended_) return;
  const std::uint32_t done = card_.read32(registers::status::kDescriptorsDone);
  if (done - done_ > posted_ - done_) {
    return end(entries_[done_ % kEntries].place, "it has done more than was posted; another program uses it");
  }
  for (; done_ != done; ++done_) {
    const Entry& entry = entries_[done_ % kEntries];
    ++(entry.event ? dtps_[entry.place].events_done : dtps_[entry.place].writes_done);
  }
  if (card_.state() == registers::State::running) return;
  try {
    const auto error = card_.error();
    end(error ? dtps_[error->dtp % kDtps].id : dtps_[entries_[done_ % kEntries].place].id, what_ended());
  } catch (const std::exception&) {
    ended_ = true;  // no memory for words
  }
}

void DescriptorRing::end(std::uint32_t dtp, const std::string& why) noexcept {
  ended_ = true;
  log::write(log::Level::error, {.dtp = dtp}, "fpga: card {}: {}; it sends nothing any more", name_, why);
}

std::string DescriptorRing::what_ended() const {
  using registers::ErrorCode;
  auto error = card_.error();
  if (!error) return "its run was ended by an Abort that is not ours";
  const std::uint32_t place = error->dtp % kDtps;
  error->dtp = dtps_[place].id;
  if (error->code != ErrorCode::memory) {
    return fmt::format("{}: {}", card::text_of(*error), text_of(begun_ + error->line));
  }
  // It does not say of which descriptor: no younger one than this.
  std::uint32_t number = done_;
  while (number != posted_ && entries_[number % kEntries].place != place) ++number;
  return fmt::format("DTP {}: card memory answered a read with an error: {}, or one behind it", error->dtp,
                     text_of(number));
}

// Which message descriptor `number` was, as far as it is known.
std::string DescriptorRing::text_of(std::uint32_t number) const {
  if (posted_ - number == 0 || posted_ - number > kEntries) return "one that we have not posted";
  const Entry& entry = entries_[number % kEntries];
  return fmt::format("{} of image {}, {} bytes to offset {:#x}",
                     entry.event ? std::string("the event") : fmt::format("write {}", entry.write), entry.image,
                     entry.bytes, entry.destination);
}

}  // namespace rashpa::link::fpga
