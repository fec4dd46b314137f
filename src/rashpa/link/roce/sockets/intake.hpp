// SPDX-License-Identifier: Apache-2.0
#pragma once
/// How a link thread gets its packets from the system: in batches, each datagram one packet or several.
#include <cstddef>
#include <span>

#include "rashpa/link/roce/packet_handler.hpp"

namespace rashpa::link::roce {

/// Used by one link thread; takes all memory in the constructor.
class Intake {
 public:
  virtual ~Intake() = default;
  /// The descriptor to poll for reading.
  [[nodiscard]] virtual int fd() const noexcept = 0;
  /// Takes what has come without waiting, at most a batch; `drained`: there was no more. The datagrams, all but their
  /// time, stay until the next call. A message that is no packet is counted and left out.
  virtual std::span<Datagram> receive(bool& drained) noexcept = 0;
};

}  // namespace rashpa::link::roce
