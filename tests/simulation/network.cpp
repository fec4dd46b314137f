// SPDX-License-Identifier: Apache-2.0
#include "network.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <optional>

#include "memory.hpp"
#include "rashpa/core/frame/frame_record.hpp"

namespace rashpa::simulation {

namespace {

constexpr std::size_t kOverhead = 512;  // of a datagram in a socket's buffer
constexpr std::size_t kBth = 12;
constexpr std::size_t kIcrc = 4;

std::uint8_t byte_at(std::span<const std::byte> packet, std::size_t at) noexcept {
  return std::to_integer<std::uint8_t>(packet[at]);
}

std::uint32_t number_at(std::span<const std::byte> packet, std::size_t at) noexcept {
  return static_cast<std::uint32_t>(byte_at(packet, at)) << 16U |
         static_cast<std::uint32_t>(byte_at(packet, at + 1)) << 8U | byte_at(packet, at + 2);
}

// A write or a message that carries an immediate: it brings a frame record.
bool is_event(std::span<const std::byte> packet) noexcept {
  constexpr std::array<std::uint8_t, 5> kOpcodes{0x09, 0x0B, 0x29, 0x2B, 0x65};
  return std::find(kOpcodes.begin(), kOpcodes.end(), byte_at(packet, 0)) != kOpcodes.end();
}

std::optional<FrameRecord> record_of(std::span<const std::byte> packet) noexcept {
  if (!is_event(packet) || packet.size() < kBth + FrameRecord::kBytes + kIcrc) return std::nullopt;
  return decode_frame_record(packet.subspan(packet.size() - kIcrc - FrameRecord::kBytes, FrameRecord::kBytes));
}

}  // namespace

Network*& network() noexcept {
  static Network* the = nullptr;
  return the;
}

void Network::open(int fd) {
  const memory::Spared spared;
  Socket socket;
  socket.process = world::process();
  socket.local.sin_family = AF_INET;
  sockets_[fd] = std::move(socket);
}

void Network::close_all(Process process) noexcept {
  for (auto& [fd, socket] : sockets_) {
    if (socket.process == process) {
      socket.local.sin_port = 0;
      socket.queue.clear();
    }
  }
}

Network::Socket* Network::at_port(std::uint16_t port) noexcept {
  for (auto& [fd, socket] : sockets_) {
    if (socket.local.sin_port != 0 && ntohs(socket.local.sin_port) == port) return &socket;
  }
  return nullptr;
}

int Network::bind(int fd, const sockaddr* address) {
  const memory::Spared spared;
  sockaddr_in wanted{};
  std::memcpy(&wanted, address, sizeof wanted);
  if (wanted.sin_family != AF_INET) return EAFNOSUPPORT;
  std::uint16_t port = ntohs(wanted.sin_port);
  if (port == 0) {
    do {
      port = next_port_++;
    } while (at_port(port) != nullptr);
  } else if (at_port(port) != nullptr) {
    return EADDRINUSE;
  }
  sockets_[fd].local = wanted;
  sockets_[fd].local.sin_port = htons(port);
  return 0;
}

int Network::connect(int fd, const sockaddr* /*address*/) {
  const memory::Spared spared;
  Socket& socket = sockets_[fd];
  if (socket.local.sin_addr.s_addr == 0) socket.local.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return 0;
}

sockaddr_in Network::name(int fd) const { return sockets_.at(fd).local; }
void Network::set_buffer(int fd, std::size_t bytes) { sockets_[fd].limit = 2 * bytes; }
std::size_t Network::buffer(int fd) const { return sockets_.at(fd).limit; }

bool Network::send(int fd, const sockaddr* to, std::span<const std::byte> datagram, std::size_t segment) {
  const memory::Spared spared;
  if (faults.full > 0 && dice_.chance(faults.full)) return false;
  sockaddr_in target{};
  std::memcpy(&target, to, sizeof target);
  const std::uint16_t port = ntohs(target.sin_port);
  if (segment == 0) segment = datagram.size();
  for (std::size_t begin = 0; begin < datagram.size(); begin += segment) {
    carry(sockets_[fd], port, datagram.subspan(begin, std::min(segment, datagram.size() - begin)));
  }
  world::notify(channel(), INT_MAX);
  return true;
}

void Network::carry(const Socket& from, std::uint16_t port, std::span<const std::byte> bytes) {
  if (bytes.size() < kBth) return;
  const std::uint32_t qpn = number_at(bytes, 5);
  const bool answer = ntohs(from.local.sin_port) < port;  // receivers take their ports before their sources
  PathLog& log = logs_[{port, qpn}];
  const std::uint64_t image = log.images;
  if (log.harmed.size() <= image) log.harmed.resize(image + 1, false);
  const auto record = record_of(bytes);
  if (record) log.images = std::max(log.images, record->index + 1);
  const bool of_an_image = !record || (record->flags & FrameRecord::skipped) == 0;
  Packet packet{.at = world::now() + faults.delay_ns + dice_.between(0, faults.jitter_ns),
                .from = from.local,
                .bytes = {bytes.begin(), bytes.end()}};
  Socket* const to = at_port(port);
  const bool parted = world::now() < parted_until;
  const bool lost = parted || to == nullptr || dice_.chance(answer ? faults.drop_answers : faults.drop);
  if (lost) {
    ++log.lost;
    if (of_an_image) log.harmed[image] = true;
    world::trace(fmt::format("network: loses packet {} of queue pair {:#x}, opcode {:#04x}, image {}{}",
                             number_at(bytes, 9), qpn, byte_at(bytes, 0), image,
                             parted          ? " (parted)"
                             : to == nullptr ? " (nobody is there)"
                                             : ""));
    return;
  }
  bool overtakes = false;
  if (!answer && dice_.chance(faults.corrupt)) {
    // The identification lets one bit of a few pass, as on a real way: bits of the payload of images are not among
    // them.
    const std::size_t bit = dice_.below(packet.bytes.size() * 8);
    if (bit / 8 != 4) {
      packet.bytes[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
      ++log.corrupted;
      if (of_an_image) log.harmed[image] = true;
      world::trace(fmt::format("network: turns bit {} of packet {} of queue pair {:#x}, image {}", bit,
                               number_at(bytes, 9), qpn, image));
    }
  }
  if (dice_.chance(faults.reorder)) {
    packet.at += dice_.between(1, faults.late_ns);
    overtakes = true;
    log.unordered = true;
    world::trace(fmt::format("network: packet {} of queue pair {:#x} comes late", number_at(bytes, 9), qpn));
  }
  if (dice_.chance(faults.duplicate)) {
    Packet copy = packet;
    copy.at += dice_.between(0, faults.late_ns);
    log.unordered = true;
    world::trace(fmt::format("network: packet {} of queue pair {:#x} comes twice", number_at(bytes, 9), qpn));
    put(*to, std::move(copy), true);
  }
  if (to->held + packet.bytes.size() + kOverhead > to->limit) {
    ++log.lost;
    log.harmed[image] = true;
    world::trace(
        fmt::format("network: no room for packet {} of queue pair {:#x}, image {}", number_at(bytes, 9), qpn, image));
    return;
  }
  put(*to, std::move(packet), overtakes);
}

void Network::put(Socket& to, Packet packet, bool may_overtake) {
  if (!may_overtake) {
    packet.at = std::max(packet.at, to.last);
    to.last = packet.at;
  }
  to.held += packet.bytes.size() + kOverhead;
  const auto place = std::upper_bound(to.queue.begin(), to.queue.end(), packet.at,
                                      [](std::int64_t at, const Packet& other) { return at < other.at; });
  to.queue.insert(place, std::move(packet));
}

std::ptrdiff_t Network::receive(int fd, std::span<std::byte> room, sockaddr* from) {
  Socket& socket = sockets_[fd];
  if (socket.queue.empty() || socket.queue.front().at > world::now()) return -1;
  const Packet packet = std::move(socket.queue.front());
  socket.queue.pop_front();
  socket.held -= packet.bytes.size() + kOverhead;
  const std::size_t bytes = std::min(room.size(), packet.bytes.size());
  std::memcpy(room.data(), packet.bytes.data(), bytes);
  if (from != nullptr) std::memcpy(from, &packet.from, sizeof packet.from);
  return static_cast<std::ptrdiff_t>(bytes);
}

bool Network::readable(int fd) const { return readable_at(fd) <= world::now(); }

std::int64_t Network::readable_at(int fd) const {
  const Socket& socket = sockets_.at(fd);
  return socket.queue.empty() ? kNever : socket.queue.front().at;
}

const PathLog* Network::log(std::uint16_t port, std::uint32_t qpn) const {
  const auto found = logs_.find({port, qpn});
  return found == logs_.end() ? nullptr : &found->second;
}

}  // namespace rashpa::simulation
