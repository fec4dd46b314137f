// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Handles the packets of DTPs for one link thread, without sockets: ICRC, headers, responder, assembly.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "rashpa/link/arrivals/assembly.hpp"
#include "rashpa/link/arrivals/told.hpp"
#include "rashpa/link/roce/options.hpp"
#include "rashpa/link/roce/packet_counters.hpp"
#include "rashpa/link/roce/transports/rc_responder.hpp"
#include "rashpa/link/roce/transports/uc_responder.hpp"
#include "rashpa/link/roce/transports/ud_responder.hpp"
#include "rashpa/wire/address.hpp"
#include "rashpa/wire/icrc.hpp"

namespace rashpa::link::roce {

/// One DTP on the receiving side. Owned by one link thread, except its orders.
struct PacketDtp : Told {
  PacketDtp(const ReceiverDtp& dtp, std::uint32_t list_index, const Options& options, std::uint32_t rkey,
            std::span<std::byte> region, NotFree not_free, PacketCounters& counters);

  /// RC: null with other transports.
  [[nodiscard]] RcResponder* rc() noexcept { return std::get_if<RcResponder>(&responder); }
  [[nodiscard]] UdResponder* ud() noexcept { return std::get_if<UdResponder>(&responder); }

  std::variant<UcResponder, RcResponder, UdResponder> responder;  // of the link's transport
  std::optional<Acknowledgement> credit_acknowledged;  // RC: the latest that came, for the thread that writes credits
  Assembly assembly;
  Target target;                          // of the open message
  std::uint64_t target_offset = 0;        // destination offset of its first byte
  std::optional<std::uint64_t> lines_of;  // image of the latest lines, for events that name none
  bool source_known = false;  // packets from other IP addresses are refused; of UD, from other queue pairs, too
  std::array<std::uint8_t, 16> source_ip{};
  std::uint64_t received_bytes =
      0;                   // payload of every intact packet, duplicates included: bytes that have left the network
  bool touched = false;    // by the batch being handled
  bool congested = false;  // a packet was marked; the thread that answers resets it
};

/// One datagram as it came: one packet, or several of `segment` bytes each (the last may be shorter).
struct Datagram {
  std::span<std::byte> bytes;
  std::size_t segment = 0;
  const wire::Address* source = nullptr;
  const wire::Address* destination = nullptr;
  std::int64_t now = 0;
  std::optional<std::uint16_t> identification{};  ///< IPv4, where it was seen: of the first packet, then one more each
  bool congestion = false;                        ///< marked by a router, all its packets
};

class PacketHandler {
 public:
  /// `ports[i]` serves queue pair `base_qpn` + i; null: not of this thread.
  PacketHandler(const Options& options, std::uint32_t base_qpn, std::vector<PacketDtp*> ports,
                PacketCounters& counters);

  void handle(const Datagram& datagram, ArrivalOutput& out) noexcept { (this->*handle_)(datagram, out); }
  /// Returns true when a packet of some DTP was marked since the last call: its port says `congested`.
  [[nodiscard]] bool take_congestion() noexcept { return std::exchange(congested_, false); }
  /// Decides on every DTP; to be called regularly, also when no packets come.
  void decide_all(std::int64_t now, ArrivalOutput& out, Taken taken = Taken::all) noexcept;
  /// DTPs that had packets since the last call of decide_all or this one; they are decided on.
  void decide_touched(std::int64_t now, ArrivalOutput& out) noexcept;

 private:
  struct KnownPath {
    wire::Address source;
    wire::Address destination;
    bool valid = false;
    wire::IcrcPath path;
  };
  wire::IcrcPath& path_of(const Datagram& datagram) noexcept;
  template <typename Responder>
  void packet(std::span<std::byte> bytes, wire::Identification id, wire::IcrcPath& path, const Datagram& datagram,
              ArrivalOutput& out) noexcept;
  void count_marks(PacketDtp& port, std::byte marks, const Datagram& datagram) noexcept;
  template <typename Responder>
  void handle_by(const Datagram& datagram, ArrivalOutput& out) noexcept;
  /// Gives a packet to the transport's responder; true when it is to be delivered.
  bool respond(UcResponder& responder, PacketDtp& port, const wire::Bth& bth, std::span<const std::byte> bytes,
               AcceptedWrite& write) noexcept;
  bool respond(RcResponder& responder, PacketDtp& port, const wire::Bth& bth, std::span<const std::byte> bytes,
               AcceptedWrite& write) noexcept;
  bool respond(UdResponder& responder, PacketDtp& port, const wire::Bth& bth, std::span<const std::byte> bytes,
               AcceptedWrite& write) noexcept;
  void deliver(PacketDtp& port, const AcceptedWrite& write, std::optional<std::uint32_t> payload_crc, std::int64_t now,
               ArrivalOutput& out) noexcept;
  void bare_event(PacketDtp& port, std::int64_t now, ArrivalOutput& out) noexcept;
  void settle(PacketDtp& port, std::int64_t now, ArrivalOutput& out) noexcept;

  Options options_;
  void (PacketHandler::*handle_)(const Datagram&, ArrivalOutput&) noexcept;  // of the transport
  std::uint32_t base_qpn_;
  std::vector<PacketDtp*> ports_;
  std::vector<PacketDtp*> touched_;
  PacketCounters* counters_;
  std::vector<KnownPath> paths_;  // by source port and address, direct mapped
  bool congested_ = false;
};

}  // namespace rashpa::link::roce
