// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/roce/answer_packets.hpp"

#include <cstring>

namespace rashpa::link::roce {

AnswerPackets::AnswerPackets(std::size_t ports)
    : writers_(ports), packets_(kPerPort * ports), pieces_(kPerPort * ports), messages_(kPerPort * ports) {}

void AnswerPackets::connect(std::size_t index, const wire::Address& local, const wire::Address& source,
                            std::uint32_t qpn, Framing framing) {
  writers_[index].emplace(local, source, qpn, framing);
}

void AnswerPackets::add(AcknowledgementWriter& writer, const Acknowledgement& answer,
                        const ReceiverSocket& socket) noexcept {
  const auto packet = writer.packet(answer);
  std::memcpy(packets_[count_].data(), packet.data(), packet.size());
  pieces_[count_] = {packets_[count_].data(), packet.size()};
  msghdr& header = messages_[count_].msg_hdr;
  header = {};
  header.msg_name = const_cast<sockaddr*>(writer.to().get());  // NOLINT: the kernel only reads
  header.msg_namelen = socket.name_bytes(writer.to());
  header.msg_iov = &pieces_[count_];
  header.msg_iovlen = 1;
  ++count_;
}

void AnswerPackets::send(const std::vector<PacketDtp*>& ports, const ReceiverSocket& socket,
                         PacketCounters& counters) noexcept {
  count_ = 0;
  for (std::size_t i = 0; i < ports.size(); ++i) {
    if (ports[i] == nullptr || !writers_[i]) continue;
    RcResponder* const responder = ports[i]->rc();
    if (responder == nullptr) continue;
    if (const auto nak = responder->take_nak()) {
      const bool not_ready = (nak->syndrome & syndrome::kind) == syndrome::receiver_not_ready;
      (not_ready ? counters.rnr_naks : counters.naks).add(1);
      add(*writers_[i], *nak, socket);
    }
    if (const auto acknowledgement = responder->take_acknowledgement()) {
      counters.acks.add(1);
      add(*writers_[i], *acknowledgement, socket);
    }
  }
  if (count_ != 0) sendmmsg(socket.answer_fd(), messages_.data(), static_cast<unsigned>(count_), MSG_DONTWAIT);
}

}  // namespace rashpa::link::roce
