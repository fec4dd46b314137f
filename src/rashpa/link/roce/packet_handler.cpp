// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/roce/packet_handler.hpp"

#include <cstring>

#include "rashpa/link/roce/credits/congestion.hpp"

namespace rashpa::link::roce {

namespace {
constexpr std::size_t kPaths = 256;
constexpr std::uint8_t kReceiverNotReady = 12;  // 0.64 ms, as our queue pairs of verbs say

bool same(const wire::Address& a, const wire::Address& b) noexcept {
  return a.v6() == b.v6() && a.port() == b.port() && a.ip() == b.ip();
}

Sight sight_of(const Options& options) noexcept {
  if (!options.records) return Sight::lines;
  return options.icrc == IcrcMode::off ? Sight::unchecked_packets : Sight::packets;
}

std::variant<UcResponder, RcResponder, UdResponder> responder_of(const Options& options, std::uint32_t rkey,
                                                                 std::uint64_t region_bytes) {
  switch (options.transport) {
    case Transport::uc:
      break;
    case Transport::rc:
      return RcResponder(options.pmtu, rkey, region_bytes, kReceiverNotReady);
    case Transport::ud:
      return UdResponder(options.pmtu, rkey, region_bytes);
  }
  return UcResponder(options.pmtu, rkey, region_bytes);
}

}  // namespace

PacketDtp::PacketDtp(const ReceiverDtp& dtp, std::uint32_t list_index, const Options& options, std::uint32_t rkey,
                     const ReceiverMemory& memory, NotFree not_free, PacketCounters& counters, memory::Gather* gather)
    : responder(responder_of(options, rkey, memory.records_at + memory.records.size())),
      assembly(dtp, list_index, map_unit(dtp.placement, options), memory, not_free, counters, sight_of(options)) {
  if (gather != nullptr) assembly.gather_by(*gather, memory::Decode::copy, counters.gather_full);
}

wire::IcrcPath& PacketHandler::path_of(const Datagram& datagram) noexcept {
  // With v1 there are no ports: sources differ in the end of their GID.
  const wire::Address& source = *datagram.source;
  KnownPath& known = paths_[(options_.framing == Framing::v1 ? source.ip().back() : source.port()) % kPaths];
  if (!known.valid || !same(known.source, *datagram.source) || !same(known.destination, *datagram.destination)) {
    known = {*datagram.source, *datagram.destination, true,
             wire::IcrcPath(*datagram.source, *datagram.destination, options_.framing)};
  }
  return known.path;
}

template <typename Responder>
void PacketHandler::packet(std::span<std::byte> bytes, wire::Identification id, wire::IcrcPath& path,
                           const Datagram& datagram, ArrivalOutput& out) noexcept {
  counters_->packets.add(1);
  if (bytes.size() < wire::kBth + wire::kIcrc) return counters_->malformed.add(1);
  const wire::Bth bth = wire::load_bth(bytes.data());
  const std::size_t headers = wire::header_bytes(bth.opcode);
  std::uint32_t payload_crc = 0;
  const bool has_payload = headers != 0 && bytes.size() >= headers + bth.pad + wire::kIcrc;
  const bool check_icrc = options_.icrc != IcrcMode::off;
  if (check_icrc) {
    const std::size_t payload = bytes.size() - headers - bth.pad - wire::kIcrc;
    switch (has_payload ? path.check(bytes, id, headers, payload, payload_crc) : path.check(bytes, id)) {
      case wire::IcrcCheck::exact:
        counters_->icrc_exact.add(1);
        break;
      case wire::IcrcCheck::modulo_id:
        if (options_.icrc == IcrcMode::full) return counters_->icrc_bad.add(1);
        counters_->icrc_modulo_id.add(1);
        break;
      case wire::IcrcCheck::bad:
        return counters_->icrc_bad.add(1);
    }
  }
  if (bth.version != 0 || bth.pkey != wire::kPkey) return counters_->malformed.add(1);
  const std::uint32_t number = bth.qpn - base_qpn_;
  if (number >= ports_.size() || ports_[number] == nullptr) return counters_->unknown_qp.add(1);
  PacketDtp& port = *ports_[number];
  // The UDP source port is entropy for routers and says nothing about the sender.
  if (port.source_known && port.source_ip != datagram.source->ip()) return counters_->wrong_source.add(1);
  if (!port.touched) {
    port.touched = true;
    touched_.push_back(&port);
  }
  if (is_congestion_notification(bytes)) return counters_->cnps_received.add(1);
  constexpr std::byte kMarks{kFecn | kBecn};
  if (datagram.congestion || (bytes[4] & kMarks) != std::byte{0}) count_marks(port, bytes[4] & kMarks, datagram);
  AcceptedWrite write;
  const bool accepted = respond(*std::get_if<Responder>(&port.responder), port, bth, bytes, write);
  // Packets that the responder dropped have left the network, too: RETH and immediate are counted with it, which does
  // no harm.
  port.received_bytes += accepted ? write.payload.size() : bytes.size() - wire::kBth - wire::kIcrc;
  if (accepted) {
    port.assembly.number(bth.psn);
    deliver(port, write, check_icrc ? std::optional(payload_crc) : std::nullopt, datagram.now, out);
  }
}

template <typename Responder>
void PacketHandler::handle_by(const Datagram& datagram, ArrivalOutput& out) noexcept {
  wire::IcrcPath& path = path_of(datagram);
  const std::size_t segment = datagram.segment == 0 ? datagram.bytes.size() : datagram.segment;
  wire::Identification id{datagram.identification.value_or(0), datagram.identification
                                                                   ? wire::Identification::Is::seen
                                                                   : wire::Identification::Is::expected};
  std::size_t at = 0;
  do {
    const std::size_t size = std::min(segment, datagram.bytes.size() - at);
    packet<Responder>(datagram.bytes.subspan(at, size), id, path, datagram, out);
    at += size;
    ++id.value;
  } while (at < datagram.bytes.size());
}

PacketHandler::PacketHandler(const Options& options, std::uint32_t base_qpn, std::vector<PacketDtp*> ports,
                             PacketCounters& counters)
    : options_(options),
      handle_(nullptr),
      base_qpn_(base_qpn),
      ports_(std::move(ports)),
      counters_(&counters),
      paths_(kPaths) {
  switch (options.transport) {
    case Transport::uc:
      handle_ = &PacketHandler::handle_by<UcResponder>;
      break;
    case Transport::rc:
      handle_ = &PacketHandler::handle_by<RcResponder>;
      break;
    case Transport::ud:
      handle_ = &PacketHandler::handle_by<UdResponder>;
      break;
  }
  touched_.reserve(ports_.size());
}

void PacketHandler::count_marks(PacketDtp& port, std::byte marks, const Datagram& datagram) noexcept {
  if ((marks & std::byte{kFecn}) != std::byte{0}) counters_->fecn_packets.add(1);
  if ((marks & std::byte{kBecn}) != std::byte{0}) counters_->becn_packets.add(1);
  if (!datagram.congestion) return;
  counters_->ce_packets.add(1);
  port.congested = congested_ = true;
}

void PacketHandler::deliver(PacketDtp& port, const AcceptedWrite& write, std::optional<std::uint32_t> payload_crc,
                            std::int64_t now, ArrivalOutput& out) noexcept {
  if (write.starts_message) {
    // A message is bound to the image that its first packet meets: packets after the image's decision are late.
    port.target = write.message_bytes == 0 ? Target{} : port.assembly.locate(write.offset, write.message_bytes);
    port.target_offset = write.offset;
    if (write.message_bytes == 0) counters_->empty_writes.add(1);
  }
  const bool refused = port.target.kind == Target::Kind::refused && write.message_bytes != 0;
  if (refused) counters_->refused_key.add(1);
  if (refused && write.starts_message) return;
  switch (port.target.kind) {
    case Target::Kind::lines:
      port.assembly.put_lines(port.target.index, write.offset, port.target.linear + (write.offset - port.target_offset),
                              write.payload, payload_crc, now);
      port.lines_of = port.target.index;
      if (write.has_immediate) bare_event(port, now, out);
      break;
    case Target::Kind::record:
      if (!write.has_immediate) return counters_->bad_records.add(1);  // a record without its event
      if (options_.records) {
        port.assembly.put_event(write.offset, write.payload, write.immediate, now);
        settle(port, now, out);
      } else {
        // An image without records is decided by its last line: its event then names the image a ring ahead.
        const std::uint32_t slots = port.assembly.dtp().placement.slots;
        if (!port.lines_of || *port.lines_of % slots != port.target.index % slots) port.lines_of = port.target.index;
        bare_event(port, now, out);
      }
      break;
    case Target::Kind::part:
      if (!write.has_immediate) return counters_->bad_records.add(1);
      port.assembly.put_part(write.offset, write.payload, write.immediate, now);
      settle(port, now, out);
      break;
    case Target::Kind::skip:
      if (!write.has_immediate) return counters_->bad_records.add(1);
      ++port.other_events;
      port.assembly.put_skip(decode_frame_record(write.payload), write.immediate, now);
      settle(port, now, out);
      break;
    case Target::Kind::refused:
      if (write.has_immediate) bare_event(port, now, out);
      break;
  }
}

// An event that is no write of a record of ours, as foreign senders make them: it ends the image that its own lines, or
// those before it, belong to.
void PacketHandler::bare_event(PacketDtp& port, std::int64_t now, ArrivalOutput& out) noexcept {
  if (!port.lines_of) {
    ++port.other_events;
    return counters_->bad_records.add(1);
  }
  port.assembly.put_bare_event(*port.lines_of, now);
  settle(port, now, out);
}

void PacketHandler::settle(PacketDtp& port, std::int64_t now, ArrivalOutput& out) noexcept {
  port.apply_to(port.assembly, now, out, Taken::some);
}

void PacketHandler::decide_touched(std::int64_t now, ArrivalOutput& out) noexcept {
  for (PacketDtp* port : touched_) {
    port->touched = false;
    settle(*port, now, out);
  }
  touched_.clear();
}

void PacketHandler::decide_all(std::int64_t now, ArrivalOutput& out, Taken taken) noexcept {
  for (PacketDtp* port : touched_) port->touched = false;
  touched_.clear();
  for (PacketDtp* port : ports_) {
    if (port != nullptr) port->apply_to(port->assembly, now, out, taken);
  }
}

}  // namespace rashpa::link::roce
