// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "rashpa/link/roce/transports/requester.hpp"

namespace rashpa::link::roce {

/// The requester of Unreliable Connected: RDMA WRITE without acknowledgements.
class UcRequester final : public Unacknowledged {
 public:
  UcRequester(const MemoryKeys& keys, std::uint64_t window_bytes) noexcept
      : Unacknowledged(window_bytes), headers_(keys) {}

  void line(const Piece& piece, Outgoing& packet) const noexcept { headers_.line(piece, packet); }
  void event(const Event& event, Outgoing& packet) const noexcept { headers_.event(event, packet); }

 private:
  WriteHeaders headers_;
};

}  // namespace rashpa::link::roce
