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

/// One DTP on the receiving side. One link thread owns it, except for its orders (Told).
struct PacketDtp : Told {
  /// `gather`, which outlives it, puts lines into their places where these lie in memory of a device.
  PacketDtp(const ReceiverDtp& dtp, std::uint32_t list_index, const Options& options, std::uint32_t rkey,
            const ReceiverMemory& memory, NotFree not_free, PacketCounters& counters, memory::Gather* gather = nullptr);

  /// Returns the RC responder; null with other transports.
  [[nodiscard]] RcResponder* rc() noexcept { return std::get_if<RcResponder>(&responder); }
  [[nodiscard]] UdResponder* ud() noexcept { return std::get_if<UdResponder>(&responder); }

  std::variant<UcResponder, RcResponder, UdResponder> responder;  // of the link's transport
  std::optional<Acknowledgement> credit_acknowledged;  // RC: the latest that came, for the thread that writes credits
  Assembly assembly;
  Target target;                          // of the open message
  std::uint64_t target_offset = 0;        // destination offset of its first byte
  std::uint64_t other_events = 0;         // RC: events that end no image; each gets its receive back at once
  std::optional<std::uint64_t> lines_of;  // image of the latest lines, for events that name none
  bool source_known = false;  // packets from other IP addresses are refused; of UD, from other queue pairs, too
  std::array<std::uint8_t, 16> source_ip{};
  std::uint64_t received_bytes =
      0;                   // payload of every intact packet, duplicates included: bytes that have left the network
  bool touched = false;    // by the batch being handled
  bool congested = false;  // a packet was marked; the thread that answers resets it
};

/// One datagram as received: one packet, or several of `segment` bytes each (the last may be shorter).
struct Datagram {
  std::span<std::byte> bytes;
  std::size_t segment = 0;
  const wire::Address* source = nullptr;
  const wire::Address* destination = nullptr;
  std::int64_t now = 0;
  /// of the first packet, on IPv4 where it is visible; each further packet has one more
  std::optional<std::uint16_t> identification{};
  bool congestion = false;  ///< true: a router has marked all its packets
};

class PacketHandler {
 public:
  /// Creates the handler. ports[i] serves queue pair `base_qpn` + i; null: another thread serves it.
  PacketHandler(const Options& options, std::uint32_t base_qpn, std::vector<PacketDtp*> ports,
                PacketCounters& counters);

  void handle(const Datagram& datagram, ArrivalOutput& out) noexcept { (this->*handle_)(datagram, out); }
  /// Returns true when a packet was marked since the last call; the port of its DTP has `congested` set.
  [[nodiscard]] bool take_congestion() noexcept { return std::exchange(congested_, false); }
  /// Decides images of all DTPs. Call it regularly, also when no packets come.
  void decide_all(std::int64_t now, ArrivalOutput& out, Taken taken = Taken::all) noexcept;
  /// Decides images of DTPs that had packets since the last call of decide_all() or this function.
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
  /// Passes a packet to the transport's responder; returns true when its payload is to be written.
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
