// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The common part of the requesters of all transports. A sender has one requester, whose type is chosen at set-up. It
/// makes the headers of packets, and limits the bytes in flight. Only the DTP's thread uses it.
#include <cstddef>
#include <cstdint>
#include <utility>

#include "rashpa/link/link.hpp"
#include "rashpa/link/roce/sockets/packet_batch.hpp"
#include "rashpa/link/sending/sender_window.hpp"
#include "rashpa/wire/headers.hpp"

namespace rashpa::link::roce {

/// The unit of work that a packet completes.
enum class Ends : std::uint8_t { nothing, write, event };

/// The part of a write that becomes one packet.
struct Piece {
  const std::byte* payload = nullptr;
  std::uint64_t destination = 0;
  std::uint32_t bytes = 0;
  std::uint32_t message_bytes = 0;  ///< bytes of the whole write
  bool first = false;
  bool last = false;
};

/// The keys of a destination's memory, which are one key where lines and records are one block.
struct MemoryKeys {
  std::uint32_t lines = 0;
  std::uint32_t records = 0;
};

/// The headers of UC: RDMA WRITE with the keys of lines and records.
class WriteHeaders {
 public:
  explicit WriteHeaders(const MemoryKeys& keys) noexcept : keys_(keys) {}

  void line(const Piece& piece, Outgoing& packet) const noexcept {
    constexpr std::uint8_t kOpcodes[2][2] = {{wire::write_middle, wire::write_last},
                                             {wire::write_first, wire::write_only}};
    packet.opcode = kOpcodes[piece.first ? 1 : 0][piece.last ? 1 : 0];
    packet.has_reth = piece.first;
    packet.reth = {piece.destination, keys_.lines, piece.message_bytes};
  }
  void event(const Event& event, Outgoing& packet) const noexcept {
    packet.opcode = wire::write_only_imm;
    packet.has_reth = true;
    packet.reth = {event.destination, keys_.records, static_cast<std::uint32_t>(FrameRecord::kBytes)};
  }

 private:
  MemoryKeys keys_;
};

/// The base for transports without acknowledgements. A write is done when the kernel has taken its packets, and the
/// receiver's credits open the window of bytes.
class Unacknowledged {
 public:
  static constexpr bool kReliable = false;
  /// Creates the window. The receiver repeats its credits as long as it runs, so that silence means nothing for the
  /// bytes in flight.
  explicit Unacknowledged(std::uint64_t window_bytes) noexcept : window_(window_bytes, 0, 0) {}

  [[nodiscard]] SenderWindow& window() noexcept { return window_; }
  [[nodiscard]] bool open(std::uint64_t bytes, std::uint64_t known) const noexcept {
    return window_.open(bytes, known);
  }
  [[nodiscard]] std::uint64_t in_flight(std::uint64_t known) const noexcept { return window_.in_flight(known); }
  /// Records that a write is completely in the batch.
  void staged() noexcept { ++staged_; }
  /// Records that the batch is empty; returns the writes completed by that.
  [[nodiscard]] std::size_t batch_empty() noexcept { return std::exchange(staged_, 0); }

 private:
  SenderWindow window_;
  std::size_t staged_ = 0;
};

}  // namespace rashpa::link::roce
