// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What is behind the MAC of a simulated card.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "rashpa/card/registers.hpp"

namespace rashpa::sim {

class CardModel;

/// Takes frames of the card, and brings it others. Frames are without FCS. One thread.
class Network {
 public:
  Network() = default;
  virtual ~Network() = default;
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  /// Called at every Arm with the DTPs of the run that begins: frames for them may come from now on, and for no other.
  virtual void listen(std::span<const card::registers::DtpTable> /*tables*/) {}
  /// False: not now, give it again. What the network cannot carry is counted and gone.
  virtual bool send(std::span<const std::byte> frame) = 0;
  /// Hands everything that has come to the card.
  virtual void receive(CardModel& model) = 0;
  /// Sleeps until something has come, at most `microseconds`.
  virtual void wait(std::uint32_t microseconds) = 0;
  /// Frames that were gone: of no use to this network, or refused by it.
  [[nodiscard]] virtual std::uint64_t refused() const noexcept = 0;
};

/// The one that `text` names: `udp`, or `unix:HERE,THERE`. Throws ConfigError for another, ResourceError when it cannot
/// be had.
std::unique_ptr<Network> make_network(const std::string& text);

}  // namespace rashpa::sim
