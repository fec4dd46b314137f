// SPDX-License-Identifier: Apache-2.0
/// The result of a packet at each transport's responder, and its count.
#include "rashpa/link/roce/packet_handler.hpp"

namespace rashpa::link::roce {

bool PacketHandler::respond(UcResponder& responder, PacketDtp& /*port*/, const wire::Bth& bth,
                            std::span<const std::byte> bytes, AcceptedWrite& write) noexcept {
  switch (responder.receive(bth, bytes, write)) {
    case UcVerdict::accepted:
      return true;
    case UcVerdict::malformed:
      counters_->malformed.add(1);
      break;
    case UcVerdict::sequence_drop:
      counters_->sequence_drops.add(1);
      break;
    case UcVerdict::refused:
      counters_->refused_key.add(1);
      break;
  }
  return false;
}

bool PacketHandler::respond(RcResponder& responder, PacketDtp& port, const wire::Bth& bth,
                            std::span<const std::byte> bytes, AcceptedWrite& write) noexcept {
  if (Acknowledgement acknowledgement; read_acknowledgement(bth, bytes, acknowledgement)) {
    port.credit_acknowledged = acknowledgement;
    counters_->acks_received.add(1);
    return false;
  }
  // Receives for the events of twice the slots are posted at the start, and more for each image released and for each
  // event of no image. A source that waits for a slot says so again and again: its words may not take the receives of
  // images.
  const Placement& place = port.assembly.dtp().placement;
  responder.set_receives((port.assembly.granted() + place.slots) * place.parts() + port.other_events);
  switch (responder.receive(bth, bytes, write)) {
    case RcVerdict::accepted:
      return true;
    case RcVerdict::malformed:
    case RcVerdict::invalid:
      counters_->malformed.add(1);
      break;
    case RcVerdict::duplicate:
      counters_->duplicate_packets.add(1);
      break;
    case RcVerdict::ahead:
    case RcVerdict::not_ready:
    case RcVerdict::dropped:
      counters_->sequence_drops.add(1);
      break;
    case RcVerdict::refused:
      counters_->refused_key.add(1);
      break;
  }
  return false;
}

bool PacketHandler::respond(UdResponder& responder, PacketDtp& /*port*/, const wire::Bth& bth,
                            std::span<const std::byte> bytes, AcceptedWrite& write) noexcept {
  const std::uint64_t before = responder.gaps();
  const UdVerdict verdict = responder.receive(bth, bytes, write);
  if (responder.gaps() != before) counters_->sequence_gaps.add(responder.gaps() - before);
  switch (verdict) {
    case UdVerdict::accepted:
      return true;
    case UdVerdict::malformed:
      counters_->malformed.add(1);
      break;
    case UdVerdict::refused:
      counters_->refused_key.add(1);
      break;
    case UdVerdict::stranger:
      counters_->wrong_source.add(1);
      break;
  }
  return false;
}

}  // namespace rashpa::link::roce
