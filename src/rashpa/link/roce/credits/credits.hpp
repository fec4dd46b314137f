// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The flow control of one DTP: two 64-bit little-endian words in the source's memory, images granted and payload bytes
/// received. The receiver writes them on the DTP's queue pair by RDMA WRITE ONLY, with UD by a SEND. Both only grow, so
/// a lost or late packet does no harm: the latest plausible word counts (credit_bound.hpp).
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

/// Makes the packets by which a receiver grants slots. The link thread uses it. With RC one packet is in flight at a
/// time: the next one leaves when the source has acknowledged it.
class CreditWriter {
 public:
  static constexpr std::size_t kPacket =
      wire::kBth + wire::kDeth + wire::LineHeader::kBytes + sizeof(CreditWords) + wire::kIcrc;
  /// Sets the path. Packets go from `local` (no wildcard) and our queue pair `qpn` to queue pair and key of `source` at
  /// address `to`; the first has number `psn`.
  CreditWriter(const wire::Address& local, const wire::Address& to, const Endpoint& source,
               Framing framing = Framing::v2, Transport transport = Transport::uc, std::uint32_t qpn = 0,
               std::uint32_t psn = 0);

  /// Returns the next packet, with these credit words; for RoCE v1, the whole frame. It is valid until the next call.
  /// With RC, call this only when no packet is unacknowledged.
  [[nodiscard]] std::span<const std::byte> packet(const CreditWords& words) noexcept;
  /// Returns the unacknowledged packet, with RC; it may be sent again unchanged.
  [[nodiscard]] std::span<const std::byte> again() const noexcept { return std::span(packet_).first(bytes_); }
  [[nodiscard]] bool unacknowledged() const noexcept { return unacknowledged_; }
  /// Handles the source's answer, with RC.
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

/// Accepts credits on the source side: packets of 8 (images) or 16 bytes to the words' place, with the right queue
/// pair, key and ICRC. With RC it also accepts acknowledgements of the source's packets.
class CreditReader {
 public:
  /// The UDP ports from which credits may come: user space sends from its listening port, an RNIC from other ports.
  enum class Port : std::uint8_t { same, any };
  enum class Taken : std::uint8_t {
    nothing,  ///< the packet is refused
    notice,   ///< a congestion notification; with RC also an automatic answer
    credit,
    acknowledgement,
  };
  /// Sets the path. `self` is the place to which the receiver writes; packets come from `receiver` to `local`.
  CreditReader(const Endpoint& self, const wire::Address& receiver, const wire::Address& local, Port port = Port::same,
               Framing framing = Framing::v2, Transport transport = Transport::uc);
  /// Sets the receiver's values. With UD, credits come only from queue pair `qpn`. With RC, the first has number `psn`.
  void connect(std::uint32_t qpn, std::uint32_t psn) noexcept {
    ud_.connect(qpn);
    rc_.connect(psn);
  }

  /// Takes one datagram (BTH … ICRC); returns `nothing` when it is not for this source.
  Taken take(std::span<std::byte> packet, const wire::Address& from) noexcept;
  [[nodiscard]] const CreditWords& words() const noexcept { return words_; }
  /// Returns the number of credits without a new grant. The receiver repeats a credit only when its socket is empty.
  [[nodiscard]] std::uint64_t repeats() const noexcept { return repeats_; }
  /// Returns the acknowledgement found by the last take() that returned `acknowledgement`.
  [[nodiscard]] const Acknowledgement& acknowledgement() const noexcept { return acknowledgement_; }
  /// Returns the answer, with RC, to the credits taken since the last call.
  [[nodiscard]] std::optional<Acknowledgement> take_answer() noexcept;
  /// Returns the number of congestion notifications to our queue pair. Any thread.
  [[nodiscard]] std::uint64_t cnps() const noexcept { return cnps_.get(); }
  /// Returns the number of packets to this place that are neither credits nor other expected packets: from another
  /// address, damaged, of other lengths or to another place. Any thread.
  [[nodiscard]] std::uint64_t refused() const noexcept { return refused_.get(); }

 private:
  /// The check of packets for the transport, chosen in the constructor.
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
