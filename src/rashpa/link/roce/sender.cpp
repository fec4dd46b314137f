// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/roce/sender.hpp"

#include "rashpa/link/roce/packet_sender.hpp"

namespace rashpa::link::roce {

RoceSender::RoceSender(const SenderConfig& config) : packets_(make_packet_sender(config)) {}
RoceSender::~RoceSender() = default;

Endpoint RoceSender::endpoint() const { return packets_->endpoint(); }
std::size_t RoceSender::post(std::span<const BufferDescriptor> writes) { return packets_->post(writes); }
bool RoceSender::post_event(const Event& event) { return packets_->post_event(event); }
std::size_t RoceSender::poll(std::uint32_t wait_us) { return packets_->poll(wait_us); }
std::size_t RoceSender::pending() const noexcept { return packets_->pending(); }
std::uint64_t RoceSender::granted() const noexcept { return packets_->granted(); }
Answers RoceSender::answers() const noexcept { return packets_->answers(); }
std::optional<std::uint32_t> RoceSender::payload_crc32c() const noexcept { return packets_->payload_crc32c(); }
std::uint32_t RoceSender::largest_message() const noexcept { return packets_->largest_message(); }
Counts RoceSender::stats() const { return packets_->stats(); }
FaultCounts RoceSender::injected() const noexcept { return packets_->injected(); }
const Fates* RoceSender::fates() const noexcept { return packets_->fates(); }

}  // namespace rashpa::link::roce
