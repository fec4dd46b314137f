// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Flow control of one DTP: two 64-bit little-endian words in the source's memory, images granted and payload bytes
/// received, which the receiver writes on the DTP's queue pair: RDMA WRITE ONLY, with UD a SEND. Both only grow, so a
/// lost or late packet does no harm: the latest word counts, as far as it can be (credit_bound.hpp).
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "rashpa/link/counters.hpp"
#include "rashpa/link/roce/options.hpp"
#include "rashpa/link/roce/transports/acknowledge.hpp"
#include "rashpa/link/roce/transports/rc_responder.hpp"
#include "rashpa/link/roce/transports/uc_responder.hpp"
#include "rashpa/link/roce/transports/ud_responder.hpp"
#include "rashpa/wire/address.hpp"
#include "rashpa/wire/frame_header.hpp"
#include "rashpa/wire/headers.hpp"
#include "rashpa/wire/icrc.hpp"

namespace rashpa::link::roce {

struct CreditWords {
  std::uint64_t images = 0;
  std::uint64_t bytes = 0;
};

/// Makes the packets with which a receiver grants slots; the link thread uses it. With RC one packet is in flight at a
/// time: the next one leaves when the source has acknowledged it.
class CreditWriter {
 public:
  static constexpr std::size_t kPacket =
      wire::kBth + wire::kDeth + wire::LineHeader::kBytes + sizeof(CreditWords) + wire::kIcrc;
  /// Packets go from `local` (no wildcard) and our queue pair `qpn` to queue pair and key of `source` at address `to`;
  /// the first carries `psn`.
  CreditWriter(const wire::Address& local, const wire::Address& to, const Endpoint& source,
               Framing framing = Framing::v2, Transport transport = Transport::uc, std::uint32_t qpn = 0,
               std::uint32_t psn = 0);

  /// The next packet with these words, with v1 the whole frame; valid until the next call. With RC only when nothing is
  /// unacknowledged.
  [[nodiscard]] std::span<const std::byte> packet(const CreditWords& words) noexcept;
  /// RC: the packet that is on its way; it may be sent again as it is.
  [[nodiscard]] std::span<const std::byte> again() const noexcept { return std::span(packet_).first(bytes_); }
  [[nodiscard]] bool unacknowledged() const noexcept { return unacknowledged_; }
  /// RC: the source's answer.
  void take(const Acknowledgement& acknowledgement) noexcept;
  [[nodiscard]] const wire::Address& to() const noexcept { return to_; }

 private:
  bool acknowledged_;  // RC
  wire::Address to_;
  wire::IcrcPath path_;
  std::uint32_t psn_;
  bool unacknowledged_ = false;
  std::size_t front_ = 0;  // bytes of Ethernet header and GRH
  std::size_t words_at_;   // in the packet, behind its headers
  std::size_t bytes_;
  std::array<std::byte, wire::FrameHeader::kBytes + kPacket> packet_{};
};

/// Source side: accepts packets of 8 (images) or 16 bytes to the words' place, with the right queue pair, key and ICRC;
/// and with RC the acknowledgements of the source's packets.
class CreditReader {
 public:
  /// The UDP port that credits may come from: user space writes from the port it listens on, an RNIC from ports of its
  /// own.
  enum class Port : std::uint8_t { same, any };
  enum class Taken : std::uint8_t {
    nothing,  ///< refused
    notice,   ///< a congestion notification; RC: the automatic answer of its responder
    credit,
    acknowledgement,
  };
  /// `self`: the place to which the receiver writes; packets come from `receiver` to `local`.
  CreditReader(const Endpoint& self, const wire::Address& receiver, const wire::Address& local, Port port = Port::same,
               Framing framing = Framing::v2, Transport transport = Transport::uc);
  /// UD: credits come from queue pair `qpn` and from no other. RC: the first carries `psn`.
  void connect(std::uint32_t qpn, std::uint32_t psn) noexcept {
    ud_.connect(qpn);
    rc_.connect(psn);
  }

  /// Takes one datagram (BTH … ICRC); nothing when it is not for us.
  Taken take(std::span<std::byte> packet, const wire::Address& from) noexcept;
  [[nodiscard]] const CreditWords& words() const noexcept { return words_; }
  /// The number of credits without a new grant. The receiver repeats a credit only when its socket is empty.
  [[nodiscard]] std::uint64_t repeats() const noexcept { return repeats_; }
  /// The acknowledgement that take() has found when it returns `acknowledgement`.
  [[nodiscard]] const Acknowledgement& acknowledgement() const noexcept { return acknowledgement_; }
  /// RC: the answer to the credits taken since the last call.
  [[nodiscard]] std::optional<Acknowledgement> take_answer() noexcept;
  /// Congestion notifications to our queue pair. Any thread.
  [[nodiscard]] std::uint64_t cnps() const noexcept { return cnps_.get(); }
  /// Packets that came to this place and are neither credits nor anything else that is due here: from another address,
  /// damaged, of other lengths or to another place. Any thread.
  [[nodiscard]] std::uint64_t refused() const noexcept { return refused_.get(); }

 private:
  /// The packets that the transport accepts; chosen in the constructor.
  using Accept = bool (CreditReader::*)(const wire::Bth&, std::span<const std::byte>, AcceptedWrite&) noexcept;
  Taken look_at(std::span<std::byte> packet, const wire::Address& from) noexcept;
  bool accept_uc(const wire::Bth& bth, std::span<const std::byte> packet, AcceptedWrite& write) noexcept;
  bool accept_rc(const wire::Bth& bth, std::span<const std::byte> packet, AcceptedWrite& write) noexcept;
  bool accept_ud(const wire::Bth& bth, std::span<const std::byte> packet, AcceptedWrite& write) noexcept;

  std::uint64_t repeats_ = 0;
  Counter cnps_;
  Counter refused_;
  Endpoint self_;
  wire::Address receiver_;
  wire::Address local_;
  Port port_;
  Framing framing_;
  Accept accept_;
  bool acknowledges_;  // RC
  wire::IcrcPath path_;
  CreditWords words_;
  RcResponder rc_;
  UdResponder ud_;
  Acknowledgement acknowledgement_;
};

}  // namespace rashpa::link::roce
