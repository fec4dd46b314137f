// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The receiving side of one Unreliable Datagram queue pair: SEND ONLY, with a line header of ours in front of the
/// payload (schema/line_header.md), because UD names no memory. Used by one thread.
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
  stranger,   ///< not from the queue pair that this one is used with
};

/// The Q_Key that goes with an endpoint's key: its highest bit is kept clear, as it means something else to an RNIC.
constexpr std::uint32_t qkey_of(std::uint32_t rkey) noexcept { return rkey & 0x7FFFFFFFU; }

class UdResponder {
 public:
  /// `plain`: the required content of a SEND without immediate: lines to a receiver, credits to a source.
  UdResponder(std::uint32_t pmtu, std::uint32_t rkey, std::uint64_t region_bytes,
              wire::LineHeader::Kind plain = wire::LineHeader::line) noexcept
      : pmtu_(pmtu), qkey_(qkey_of(rkey)), region_bytes_(region_bytes), plain_(plain) {}

  /// Takes only datagrams of this queue pair from now on.
  void connect(std::uint32_t source_qpn) noexcept { source_qpn_ = source_qpn; }

  /// `packet` is BTH … ICRC with a checked ICRC, P_Key, TVer and queue pair.
  UdVerdict receive(const wire::Bth& bth, std::span<const std::byte> packet, AcceptedWrite& out) noexcept;

  /// Packets that were missing each time a later one came, by their sequence numbers. Nothing is dropped for them; one
  /// that only came late stays counted.
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
