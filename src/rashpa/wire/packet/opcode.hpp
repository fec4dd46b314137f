// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

namespace rashpa::wire {

/// The extended headers that follow the BTH for an opcode, in this order: DETH, RETH or AtomicETH, AETH, AtomicAckETH,
/// ImmDt, IETH.
struct OpcodeHeaders {
  bool known = false;
  bool deth = false;
  bool reth = false;
  bool atomic = false;
  bool aeth = false;
  bool atomic_ack = false;
  bool immediate = false;
  bool invalidate = false;
};

OpcodeHeaders headers_of(std::uint8_t opcode) noexcept;

}  // namespace rashpa::wire
