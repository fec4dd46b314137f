#pragma once
/// Flow control of one DTP: two 64-bit little-endian words in the source's memory, images granted and payload bytes
/// received, which the receiver writes with RDMA WRITE ONLY packets. Both only grow, so a lost or late packet does no
/// harm.
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "rashpa/link/counters.hpp"
#include "rashpa/link/roce/address.hpp"
#include "rashpa/link/roce/frame_header.hpp"
#include "rashpa/link/roce/icrc.hpp"
#include "rashpa/link/roce/options.hpp"
#include "rashpa/link/roce/wire.hpp"

namespace rashpa::link::roce {

struct CreditWords {
  std::uint64_t images = 0;
  std::uint64_t bytes = 0;
};

/// Receiver side: makes the packets. Used by the link thread.
class CreditWriter {
 public:
  static constexpr std::size_t kPacket = wire::kBth + wire::kReth + sizeof(CreditWords) + wire::kIcrc;
  /// Packets go from `local` (no wildcard) to queue pair and key of `source` at address `to`.
  CreditWriter(const Address& local, const Address& to, const Endpoint& source, Framing framing = Framing::v2);

  /// The next packet with these words, with v1 the whole frame; valid until the next call.
  [[nodiscard]] std::span<const std::byte> packet(const CreditWords& words) noexcept;
  [[nodiscard]] const Address& to() const noexcept { return to_; }

 private:
  Endpoint source_;
  Address to_;
  IcrcPath path_;
  std::uint32_t psn_ = 0;
  std::size_t front_ = 0;  // bytes of Ethernet header and GRH
  std::array<std::byte, FrameHeader::kBytes + kPacket> packet_{};
};

/// Source side: accepts packets of 8 (images) or 16 bytes to the words' place, with the right queue pair, key and ICRC.
class CreditReader {
 public:
  /// From which UDP port credits may come: user space writes from the port it listens on, an RNIC from ports of its
  /// own.
  enum class Port : std::uint8_t { same, any };
  /// `self`: what the receiver was told to write to; packets come from `receiver` to `local`.
  CreditReader(const Endpoint& self, const Address& receiver, const Address& local, Port port = Port::same,
               Framing framing = Framing::v2);

  /// Takes one datagram (BTH … ICRC); false when it is not a credit for us.
  bool take(std::span<std::byte> packet, const Address& from) noexcept;
  [[nodiscard]] const CreditWords& words() const noexcept { return words_; }
  /// Credits taken that said nothing new: the receiver repeats itself only when its socket is empty.
  [[nodiscard]] std::uint64_t repeats() const noexcept { return repeats_; }
  /// Congestion notifications to our queue pair. Any thread.
  [[nodiscard]] std::uint64_t cnps() const noexcept { return cnps_.get(); }

 private:
  std::uint64_t repeats_ = 0;
  Counter cnps_;
  Endpoint self_;
  Address receiver_;
  Address local_;
  Port port_;
  Framing framing_;
  IcrcPath path_;
  CreditWords words_;
};

}  // namespace rashpa::link::roce
