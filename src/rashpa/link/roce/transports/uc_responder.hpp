// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The responder of one Unreliable Connected queue pair for RDMA WRITE, by the specification's rules (volume 1, 9.8)
/// with one exception. FIRST and MIDDLE packets may be shorter than the path MTU, all of a message alike, because
/// software senders cut to the MTU that they see. It knows no images and no memory; its user writes accepted packets.
#include <cstdint>
#include <span>

#include "rashpa/link/roce/transports/accepted_write.hpp"
#include "rashpa/wire/headers.hpp"

namespace rashpa::link::roce {

enum class UcVerdict : std::uint8_t {
  accepted,
  malformed,      ///< not a UC WRITE, or its length contradicts its opcode, the path MTU or its RETH
  sequence_drop,  ///< not the next packet of an open message
  refused,        ///< wrong key or out of bounds
};

class UcResponder {
 public:
  UcResponder(std::uint32_t pmtu, std::uint32_t rkey, std::uint64_t region_bytes) noexcept
      : pmtu_(pmtu), rkey_(rkey), region_bytes_(region_bytes) {}

  /// Checks a packet. `packet` is BTH … ICRC; its ICRC, P_Key, TVer and queue pair were checked.
  UcVerdict receive(const wire::Bth& bth, std::span<const std::byte> packet, AcceptedWrite& out) noexcept;

 private:
  UcVerdict start(const wire::Bth& bth, std::span<const std::byte> body, AcceptedWrite& out) noexcept;
  UcVerdict go_on(const wire::Bth& bth, std::span<const std::byte> body, AcceptedWrite& out) noexcept;

  std::uint32_t pmtu_;
  std::uint32_t rkey_;
  std::uint64_t region_bytes_;
  std::uint32_t expected_psn_ = 0;
  bool open_ = false;               // a message was started and not ended; false also while everything is dropped
  std::uint32_t packet_bytes_ = 0;  // of each packet of the open message but the last
  std::uint64_t offset_ = 0;        // of the open message's next byte
  std::uint64_t left_ = 0;          // bytes of the open message still to come
  std::uint64_t message_bytes_ = 0;
};

}  // namespace rashpa::link::roce
