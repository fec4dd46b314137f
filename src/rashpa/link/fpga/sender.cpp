// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/fpga/sender.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <thread>
#include <utility>

#include "rashpa/core/error.hpp"
#include "rashpa/core/log.hpp"
#include "rashpa/core/system/pause.hpp"
#include "rashpa/core/time/clock.hpp"
#include "rashpa/link/fpga/descriptor_ring.hpp"
#include "rashpa/link/fpga/dtp_table.hpp"
#include "rashpa/link/roce/sockets/route.hpp"
#include "rashpa/wire/address.hpp"
#include "rashpa/wire/headers.hpp"
#include "rashpa/wire/random_numbers.hpp"

namespace rashpa::link::fpga {

namespace {

constexpr std::int64_t kNapUs = 50;

/// Returns true when a socket of this machine has this address and port.
bool taken(const wire::Address& address) {
  const int fd = socket(address.v6() ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  const bool in_use = bind(fd, address.get(), address.bytes()) != 0 && errno == EADDRINUSE;
  ::close(fd);
  return in_use;
}

/// Returns where packets come from: another port for each DTP, so that switches spread them, of those that RoCE is sent
/// from and the kernel gives to nobody by itself. A simulated card's socket has it, too.
std::uint16_t source_port(wire::Address address) {
  constexpr std::uint32_t kFirst = 61000, kEnd = 65536;
  constexpr int kTries = 64;
  for (int i = 0; i < kTries; ++i) {
    address.set_port(static_cast<std::uint16_t>(kFirst + wire::random_below(kEnd - kFirst)));
    if (!taken(address)) break;
  }
  return address.port();
}

wire::Address card_address(const SenderConfig& config) {
  const wire::Address address(config.address, 0);
  if (!address.wildcard()) return address;
  return roce::local_towards(wire::Address(config.destination.address, config.destination.port));
}

std::uint32_t largest_message_of(const SenderConfig& config) {
  const Options& options = config.options;
  const std::uint32_t room = config.card->room();
  if (room < options.pmtu) {
    throw ConfigError(
        fmt::format("fpga: a path MTU of {}; the card's memory has room for messages of {} bytes", options.pmtu, room));
  }
  if (options.packetisation == Packetisation::only) return options.pmtu;
  const std::uint32_t packets = room / options.pmtu;
  return options.pmtu * (config.faults ? std::min(packets, DescriptorRing::kMostFaults / 4) : packets);
}

/// The card's settings for a DTP with lines placed by software. Throws ConfigError.
card::registers::DtpTable table_of(const SenderConfig& config, const wire::Address& here, const Endpoint& self) {
  const Options& options = config.options;
  check_one_key("fpga", config.destination);
  const wire::Address there(config.destination.address, config.destination.port);
  if (here.v6() != there.v6()) {
    throw ConfigError(fmt::format("fpga: the card has the address {}, the destination {}; both IPv4, or both IPv6",
                                  here.text(), there.text()));
  }
  if (!config.card->simulated() && options.destination_mac.empty()) {
    throw ConfigError(
        "fpga: destination_mac is empty; a card cannot ask for it: give that of the destination, or of the first "
        "router");
  }
  card::registers::DtpTable table;
  table.mtu_path_mtu = options.pmtu;
  table.mtu_first_middle_last = options.packetisation == Packetisation::first_middle_last;
  table.dtp_id = config.dtp;
  table.dtp_enabled = true;
  table.dtp_paced = config.flow == Flow::paced;
  set_path(table, {.source_mac = mac_of("source_mac", options.source_mac),
                   .destination_mac = mac_of("destination_mac", options.destination_mac),
                   .source_ip = here.ip(),
                   .destination_ip = there.ip(),
                   .ipv6 = here.v6(),
                   .source_port = here.port(),
                   .destination_port = there.port(),
                   .qpn = config.destination.qpn,
                   .rkey = config.destination.rkey,
                   .first_psn = self.psn});
  table.credit_qpn = self.qpn;
  table.credit_key = self.rkey;
  table.credit_address = self.credit_offset;
  return table;
}

}  // namespace

FpgaSender::FpgaSender(const SenderConfig& config) : config_(config) {
  check(config.options);
  largest_message_ = largest_message_of(config);
  wire::Address here = card_address(config);
  here.set_port(source_port(here));
  self_ = {here.text(),
           config.credit_port != 0 ? config.credit_port : here.port(),
           wire::random_qpn(),
           wire::random_key(),
           0,
           0,
           wire::random_psn()};
  const auto table = table_of(config, here, self_);
  granted_ = config.flow == Flow::paced ? kUnlimited : 0;
  if (config.faults) {
    if (!config.card->makes_faults()) {
      throw ConfigError(
          "fpga: this card makes no faults on order; set all packet faults to 0, or use a simulated card");
    }
    faults_.emplace(*config.faults, config.dtp, config.images, config.payload_bytes,
                    PacketShape{.pmtu = config.options.pmtu,
                                .packetisation = config.options.packetisation,
                                .ipv6 = here.v6(),
                                .first_psn = table.first_psn});
  }
  place_ = config.card->add(config.dtp, table);
}

FpgaSender::~FpgaSender() { config_.card->remove(place_); }

// Lost, as if on the wire.
void FpgaSender::refuse(const BufferDescriptor& write) noexcept {
  log::write(refusals_, log::Level::error, {.dtp = config_.dtp},
             "fpga: a write of {} bytes to offset {:#x} of image {}: a card takes 1 to {}; it is lost, and counted",
             write.bytes, write.destination, events_posted_, largest_message_);
  counters_.send_errors.add(1);
  ++done_;
}

void FpgaSender::count(std::uint32_t bytes) noexcept {
  counters_.messages.add(1);
  counters_.packets.add((bytes + config_.options.pmtu - 1) / config_.options.pmtu);
  counters_.payload_bytes.add(bytes);
}

std::size_t FpgaSender::post_good(std::span<const BufferDescriptor> writes) {
  std::size_t posted = 0;
  while (posted < writes.size()) {
    const auto rest = writes.subspan(posted, faults_ ? 1 : writes.size() - posted);
    const std::size_t more =
        config_.card->post(place_, rest, faults_ ? faults_->of_write(rest[0].bytes) : std::span<const CardFault>{});
    if (faults_ && more > 0) faults_->posted();
    for (const BufferDescriptor& write : rest.first(more)) count(write.bytes);
    posted += more;
    if (more < rest.size()) break;
  }
  writes_posted_ += posted;
  return posted;
}

std::size_t FpgaSender::post(std::span<const BufferDescriptor> writes) {
  if (ended_) {
    counters_.send_errors.add(writes.size());
    done_ += writes.size();
    return writes.size();
  }
  std::size_t taken = 0;
  while (taken < writes.size()) {
    const auto rest = writes.subspan(taken);
    const auto wrong = std::ranges::find_if(
        rest, [&](const BufferDescriptor& write) { return write.bytes == 0 || write.bytes > largest_message_; });
    const auto good = rest.first(static_cast<std::size_t>(wrong - rest.begin()));
    const std::size_t posted = post_good(good);
    taken += posted;
    if (posted < good.size()) {
      counters_.waits.add(1);
      break;
    }
    if (wrong == rest.end()) break;
    refuse(*wrong);
    ++taken;
  }
  return taken;
}

bool FpgaSender::post_event(const Event& event) {
  if (ended_) {
    counters_.send_errors.add(1);
    return true;
  }
  std::span<const CardFault> faults;
  if (faults_) {
    const auto record = decode_frame_record({event.record, FrameRecord::kBytes});
    const bool of_image = record && (record->flags & FrameRecord::skipped) == 0;
    faults = faults_->of_event(of_image ? record->index : config_.images);
  }
  if (!config_.card->post(place_, event, faults)) {
    counters_.waits.add(1);
    return false;
  }
  if (faults_) faults_->posted();
  count(FrameRecord::kBytes);
  credits_.announce(event.immediate);
  ++events_posted_;
  return true;
}

void FpgaSender::look() noexcept {
  if (ended_) return;
  const CardProgress progress = config_.card->progress(place_);
  done_ += progress.writes - writes_done_;
  writes_done_ = progress.writes;
  events_done_ = progress.events;
  if (config_.flow == Flow::credits) {
    const auto more = static_cast<std::int32_t>(progress.granted - static_cast<std::uint32_t>(granted_));
    granted_ = credits_.granted(granted_ + static_cast<std::uint64_t>(std::int64_t{more}));
  }
  if (!progress.ended) return;
  ended_ = true;
  counters_.connection_errors.add(1);
  counters_.send_errors.add(pending());
  done_ += writes_posted_ - writes_done_;
  writes_done_ = writes_posted_;
  events_done_ = events_posted_;
  granted_ = kUnlimited;
}

std::size_t FpgaSender::poll(std::uint32_t wait_us) {
  const std::int64_t until = now_ns() + std::int64_t{wait_us} * 1000;
  const std::uint64_t granted = granted_;
  const std::uint64_t events = events_done_;
  look();
  // No interrupt tells of descriptors or credits: a nap, or a spin, between looks.
  while (done_ == 0 && events_done_ == events && granted_ == granted && !ended_ && now_ns() < until) {
    if (config_.poll == Poll::spin) {
      pause_spinning();
    } else {
      std::this_thread::sleep_for(std::chrono::microseconds(kNapUs));
    }
    look();
  }
  return std::exchange(done_, 0);
}

std::size_t FpgaSender::pending() const noexcept {
  return writes_posted_ - writes_done_ + (events_posted_ - events_done_);
}

Counts FpgaSender::stats() const {
  Counts counts;
  counters_.add_to(counts);
  return counts;
}

}  // namespace rashpa::link::fpga
