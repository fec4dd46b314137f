// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The network of a simulated card, by a UNIX datagram socket: each datagram is a frame, as QEMU's `-netdev dgram` has
/// them. At the other end is a machine with a network interface.
#include <sys/un.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "network.hpp"

namespace rashpa::sim {

/// One thread.
class UnixPort : public Network {
 public:
  /// Frames come to the socket `here`, which is made, and taken away at the end; they go to `there`, which need not be
  /// there yet: until then frames are lost, as behind a cable that is not plugged in. Throws ConfigError for a path
  /// that is too long, ResourceError when the socket cannot be had.
  UnixPort(std::filesystem::path here, const std::filesystem::path& there);
  ~UnixPort() override;
  UnixPort(const UnixPort&) = delete;
  UnixPort& operator=(const UnixPort&) = delete;

  bool send(std::span<const std::byte> frame) override;
  void receive(CardModel& model) override;
  void wait(std::uint32_t microseconds) override;
  [[nodiscard]] std::uint64_t refused() const noexcept override { return refused_; }

 private:
  std::filesystem::path here_;
  sockaddr_un there_{};
  int fd_ = -1;
  std::vector<std::byte> buffer_ = std::vector<std::byte>(65536);
  std::uint64_t refused_ = 0;
};

}  // namespace rashpa::sim
