// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The network of a simulated card, by UDP sockets of this machine: a frame's UDP payload leaves from the address and
/// port that stand in the frame, what comes to them goes to the card in a frame. The kernel makes IP headers of its
/// own; with identification 0, don't fragment and the same addresses the ICRC is right for them, too.
#include <poll.h>

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "card_model.hpp"
#include "network.hpp"
#include "rashpa/card/registers.hpp"

namespace rashpa::sim {

/// One thread.
class UdpPort : public Network {
 public:
  UdpPort() = default;
  ~UdpPort() override;
  UdpPort(const UdpPort&) = delete;
  UdpPort& operator=(const UdpPort&) = delete;

  /// Listens for credits where the DTPs send from: they may come before the first packet. Sockets of earlier runs are
  /// closed. Throws ResourceError.
  void listen(std::span<const card::registers::DtpTable> tables) override;
  /// Sends an Ethernet frame with an IPv4 or IPv6 UDP packet. False: the socket is full, give it again. Throws
  /// ResourceError when a socket cannot be had for its address and port. What is no such frame is counted and gone.
  bool send(std::span<const std::byte> frame) override;
  void receive(CardModel& model) override;
  void wait(std::uint32_t microseconds) override;
  [[nodiscard]] std::uint64_t refused() const noexcept override { return refused_; }

 private:
  /// As they stand in frames.
  struct Name {
    std::array<std::uint8_t, 16> ip{};  ///< IPv4: the first four
    std::array<std::uint8_t, 2> port{};
    bool v6 = false;
    auto operator<=>(const Name&) const = default;
  };
  static Name name_of(const card::registers::DtpTable& table);
  int socket_of(const Name& name);

  std::map<Name, int> sockets_;
  std::vector<pollfd> polled_;
  std::vector<std::byte> buffer_ = std::vector<std::byte>(65536);
  std::uint64_t refused_ = 0;
};

}  // namespace rashpa::sim
