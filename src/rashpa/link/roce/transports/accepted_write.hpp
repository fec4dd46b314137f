// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>

namespace rashpa::link::roce {

/// One accepted packet of any transport, whose payload goes to `offset`.
struct AcceptedWrite {
  std::uint64_t offset = 0;
  std::span<const std::byte> payload;
  std::uint64_t message_bytes = 0;  ///< length in the RETH
  bool starts_message = false;      ///< opcode FIRST or ONLY
  bool has_immediate = false;       ///< the packet has immediate data: it ends the message and completes a receive
  std::uint32_t immediate = 0;
};

}  // namespace rashpa::link::roce
