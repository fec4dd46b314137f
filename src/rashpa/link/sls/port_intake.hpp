// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The datagrams of one UDP port, from the socket or engine that takes them from the network.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "rashpa/link/arrivals/scattered_bytes.hpp"
#include "rashpa/link/sls/port_counters.hpp"

namespace rashpa::link::sls {

/// One datagram, or several of `segment` bytes each that the kernel has merged (0: one).
struct Intake {
  ScatteredBytes bytes;
  std::size_t segment = 0;
};

/// The source of a port's datagrams. One thread uses it.
class PortIntake {
 public:
  virtual ~PortIntake() = default;
  /// Takes waiting datagrams, at most a batch; they stay valid until the next call. `drained`: there were no more.
  virtual std::span<const Intake> receive(bool& drained) noexcept = 0;
  /// Copies the first bytes of the next datagram, which may have none, without taking it.
  virtual std::optional<std::span<const std::byte>> peek(std::span<std::byte> room) noexcept = 0;
  /// Discards the datagram that peek() has shown.
  virtual void discard() noexcept = 0;
  /// Adds to the counters the datagrams that this host has dropped since the last call.
  virtual void count_drops(PortCounters& counters) noexcept = 0;
  /// Returns the file descriptor to poll for reading.
  [[nodiscard]] virtual int fd() const noexcept = 0;
  /// Returns the bytes of datagrams that can wait.
  [[nodiscard]] virtual std::uint64_t buffer() const noexcept = 0;
};

}  // namespace rashpa::link::sls
