// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The intake of packets by a link thread, in batches; a datagram is one packet or several.
#include <cstddef>
#include <span>

#include "rashpa/link/roce/packet_handler.hpp"

namespace rashpa::link::roce {

/// The source of a link thread's packets. One link thread uses it; the constructor takes all memory.
class Intake {
 public:
  virtual ~Intake() = default;
  /// Returns the file descriptor to poll for reading.
  [[nodiscard]] virtual int fd() const noexcept = 0;
  /// Takes waiting datagrams, at most a batch, without waiting. `drained`: there were no more. All but their time stays
  /// valid until the next call. A message that is no packet is counted and left out.
  virtual std::span<Datagram> receive(bool& drained) noexcept = 0;
};

}  // namespace rashpa::link::roce
