// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Ethernet frames with a UDP datagram, made byte by byte as RFC 791, 768 and 1071 say.
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rashpa::link::sls::testing {

class UdpFrame {
 public:
  struct Way {
    std::array<std::uint8_t, 6> to_mac{};
    std::array<std::uint8_t, 4> from{10, 77, 0, 1};
    std::array<std::uint8_t, 4> to{10, 77, 0, 2};
    std::uint16_t port = 50001;
  };
  explicit UdpFrame(std::span<const std::byte> payload, const Way& way) {
    for (const std::uint8_t byte : way.to_mac) put8(byte);
    for (int i = 0; i < 6; ++i) put8(2);
    put16(0x0800);
    put8(0x45);
    put8(0);
    put16(28 + payload.size());
    put16(0);
    put16(0);
    put8(64);
    put8(17);
    put16(0);
    for (const std::uint8_t byte : way.from) put8(byte);
    for (const std::uint8_t byte : way.to) put8(byte);
    put16(32410);
    put16(way.port);
    put16(8 + payload.size());
    put16(0);
    bytes_.insert(bytes_.end(), payload.begin(), payload.end());
    sum_up();
  }
  explicit UdpFrame(std::span<const std::byte> payload) : UdpFrame(payload, Way{}) {}
  [[nodiscard]] const std::vector<std::byte>& bytes() const noexcept { return bytes_; }
  /// Changes a byte of the headers, with right checksums.
  void set(std::size_t at, std::uint8_t value) {
    bytes_[at] = std::byte{value};
    sum_up();
  }
  /// Leaves the sum of the addresses in the UDP checksum, as Linux does for a card that makes it.
  void leave_checksum_to_card() { store(40, fold(addresses())); }

 private:
  void put8(unsigned value) { bytes_.push_back(static_cast<std::byte>(value)); }
  void put16(std::size_t value) {
    put8(static_cast<unsigned>(value >> 8 & 0xFF));
    put8(static_cast<unsigned>(value & 0xFF));
  }
  void store(std::size_t at, std::uint16_t value) {
    bytes_[at] = static_cast<std::byte>(value >> 8);
    bytes_[at + 1] = static_cast<std::byte>(value & 0xFF);
  }
  [[nodiscard]] std::uint64_t sum(std::size_t from, std::size_t end) const {
    std::uint64_t total = 0;
    for (std::size_t i = from; i < end; ++i)
      total += std::to_integer<std::uint64_t>(bytes_[i]) << ((i - from) % 2 ? 0 : 8);
    return total;
  }
  [[nodiscard]] std::uint64_t addresses() const { return sum(26, 34) + 17 + sum(38, 40); }
  static std::uint16_t fold(std::uint64_t total) {
    while (total >> 16 != 0) total = (total & 0xFFFF) + (total >> 16);
    return static_cast<std::uint16_t>(total);
  }
  void sum_up() {
    store(24, 0);
    store(24, static_cast<std::uint16_t>(~fold(sum(14, 34))));
    store(40, 0);
    const auto udp = static_cast<std::uint16_t>(~fold(addresses() + sum(34, bytes_.size())));
    store(40, udp == 0 ? 0xFFFF : udp);
  }
  std::vector<std::byte> bytes_;
};

}  // namespace rashpa::link::sls::testing
