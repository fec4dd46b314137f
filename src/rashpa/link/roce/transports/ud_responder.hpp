// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The responder of one Unreliable Datagram queue pair. It takes SEND ONLY packets with our line header before the
/// payload (schema/line_header.md), because UD names no memory. One thread.
#include <cstdint>
#include <optional>
#include <span>

#include "rashpa/link/roce/transports/accepted_write.hpp"
#include "rashpa/wire/headers.hpp"
#include "rashpa/wire/packet/packet_numbers.hpp"

namespace rashpa::link::roce {

enum class UdVerdict : std::uint8_t {
  accepted,
  malformed,  ///< not a UD SEND ONLY, no line header of this version, or a length that contradicts it
  refused,    ///< wrong Q_Key or out of bounds
  stranger,   ///< not from the connected queue pair
};

/// Returns the Q_Key for an endpoint's key. Its highest bit is clear, because RNICs treat that bit specially.
constexpr std::uint32_t qkey_of(std::uint32_t rkey) noexcept { return rkey & 0x7FFFFFFFU; }

class UdResponder {
 public:
  /// Creates the responder. `plain` is the content of a SEND without immediate: lines for a receiver, credits for a
  /// source.
  UdResponder(std::uint32_t pmtu, std::uint32_t rkey, std::uint64_t region_bytes,
              wire::LineHeader::Kind plain = wire::LineHeader::line) noexcept
      : pmtu_(pmtu), qkey_(qkey_of(rkey)), region_bytes_(region_bytes), plain_(plain) {}

  /// Accepts only datagrams of queue pair `source_qpn` from now on.
  void connect(std::uint32_t source_qpn) noexcept { source_qpn_ = source_qpn; }

  /// Checks a packet. `packet` is BTH … ICRC; its ICRC, P_Key, TVer and queue pair were checked.
  UdVerdict receive(const wire::Bth& bth, std::span<const std::byte> packet, AcceptedWrite& out) noexcept;

  /// Returns the number of packets that were missing when a later one came, by sequence number. Nothing is dropped for
  /// a gap, and a packet that only came late stays counted.
  [[nodiscard]] std::uint64_t gaps() const noexcept { return gaps_; }

 private:
  std::uint32_t pmtu_;
  std::uint32_t qkey_;
  std::uint64_t region_bytes_;
  wire::LineHeader::Kind plain_;
  std::optional<std::uint32_t> source_qpn_{};
  wire::PacketNumbers numbers_;
  std::uint64_t expected_ = 0;  // 0: no packet has come
  std::uint64_t gaps_ = 0;
};

}  // namespace rashpa::link::roce
