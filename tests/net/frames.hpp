// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Single packets between two hosts: frames made by the codec, and a receiver that shows its counters.
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "network.hpp"
#include "rashpa/link/roce/receiver.hpp"
#include "rashpa/link/testing/testing.hpp"
#include "rashpa/wire/gid.hpp"
#include "rashpa/wire/packet/packet.hpp"

namespace rashpa::net {

/// Sends whole Ethernet frames, right or wrong, from a host's end of the cable.
class FrameSender {
 public:
  explicit FrameSender(const Host& host);
  ~FrameSender();
  FrameSender(const FrameSender&) = delete;
  FrameSender& operator=(const FrameSender&) = delete;
  void send(std::span<const std::byte> frame) const;

 private:
  int fd_ = -1;
};

/// A started receiver of one DTP on host two, without flow control.
class Target {
 public:
  /// `make_source` is given the target's endpoint and returns where its answers go; none: nowhere.
  Target(const Cable& cable, const link::roce::Options& options, const std::string& address,
         const std::function<link::Endpoint(const link::Endpoint&)>& make_source = {});
  ~Target() { receiver_->stop(); }
  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;

  /// A line of image 0 on the wire from host one to the target, UDP source port 5000; change it as you like.
  [[nodiscard]] wire::Packet line(std::uint32_t number = 0) const;
  /// The counters once `packets` have come; fails after 10 s.
  [[nodiscard]] link::Counts after(std::uint64_t packets) const;
  [[nodiscard]] link::Counts stats() const { return receiver_->stats(); }
  [[nodiscard]] const link::Endpoint& endpoint() const noexcept { return endpoint_; }

 private:
  link::roce::Framing framing_;
  wire::MacAddress source_mac_;
  wire::MacAddress destination_mac_;
  std::string source_address_;
  link::ReceiverDtp dtp_ = link::testing::small_dtp(1, 100, 64, 256, 4);
  std::vector<std::byte> region_ = std::vector<std::byte>(link::testing::end_of(dtp_));
  link::ArrivalQueues queues_{1, 256};
  Doorbell bell_;
  std::unique_ptr<link::roce::RoceReceiver> receiver_;
  link::Endpoint endpoint_;
};

}  // namespace rashpa::net
