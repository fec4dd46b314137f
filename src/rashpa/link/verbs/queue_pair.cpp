// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/verbs/queue_pair.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include "rashpa/core/error.hpp"
#include "rashpa/wire/headers.hpp"
#include "rashpa/wire/random_numbers.hpp"

namespace rashpa::link::verbs {

namespace {

// Values of the specification's tables: 67 ms until a packet is repeated, seven times; for ever while the peer has no
// receive.
constexpr std::uint8_t kTimeout = 14;
constexpr std::uint8_t kRetries = 7;
constexpr std::uint8_t kReceiverNotReady = 12;  // 0.64 ms
constexpr std::uint8_t kHops = 64;

ibv_mtu mtu_code(std::uint32_t pmtu) { return static_cast<ibv_mtu>(std::countr_zero(pmtu) - 7); }

}  // namespace

CompletionQueue::CompletionQueue(std::shared_ptr<Device> device, std::uint32_t entries, Channel channel)
    : device_(std::move(device)) {
  const shim::Ibverbs& calls = device_->calls();
  if (channel == Channel::events) {
    channel_ = calls.create_comp_channel(device_->context());
    if (channel_ == nullptr) {
      throw ResourceError(
          fmt::format("verbs: {} has no completion channel left: {}; check the limits of its driver and of open files",
                      device_->name(), errno_text(errno)));
    }
  }
  queue_ = calls.create_cq(device_->context(), static_cast<int>(entries), nullptr, channel_, 0);
  if (queue_ == nullptr) {
    const int code = errno;
    if (channel_ != nullptr) calls.destroy_comp_channel(channel_);
    throw ResourceError(fmt::format("verbs: {}: no completion queue of {} entries: {}; use fewer slots or DTPs",
                                    device_->name(), entries, errno_text(code)));
  }
}

CompletionQueue::~CompletionQueue() {
  if (unacknowledged_ != 0) device_->calls().ack_cq_events(queue_, unacknowledged_);
  device_->calls().destroy_cq(queue_);
  if (channel_ != nullptr) device_->calls().destroy_comp_channel(channel_);
}

int CompletionQueue::poll(std::span<ibv_wc> out) noexcept {
  return std::max(ibv_poll_cq(queue_, static_cast<int>(out.size()), out.data()), 0);
}

void CompletionQueue::arm() noexcept { ibv_req_notify_cq(queue_, 0); }

void CompletionQueue::take_event() noexcept {
  ibv_cq* queue = nullptr;
  void* user = nullptr;
  if (device_->calls().get_cq_event(channel_, &queue, &user) != 0) return;
  // Each acknowledgement takes a lock: many at once.
  constexpr unsigned kMany = 1024;
  if (++unacknowledged_ == kMany) {
    device_->calls().ack_cq_events(queue_, unacknowledged_);
    unacknowledged_ = 0;
  }
}

QueuePair::QueuePair(std::shared_ptr<Device> device, const CompletionQueue& queue, const QueuePairConfig& config)
    : device_(std::move(device)), config_(config), first_psn_(wire::random_psn()) {
  if (config.pmtu > device_->mtu()) {
    throw ConfigError(
        fmt::format("verbs: pmtu {} is more than the {} of {}; use a smaller pmtu or a larger MTU of its interface",
                    config.pmtu, device_->mtu(), device_->name()));
  }
  if (std::max(config.send_depth, config.receive_depth) > device_->most_work_requests()) {
    throw ConfigError(fmt::format("verbs: queues of {} and {} are more than the {} of {}; use fewer slots",
                                  config.send_depth, config.receive_depth, device_->most_work_requests(),
                                  device_->name()));
  }
  if (config.reads > device_->most_reads()) {
    throw ConfigError(fmt::format("verbs: {} has at most {} RDMA READs in flight, not {}; set operation = \"write\"",
                                  device_->name(), device_->most_reads(), config.reads));
  }
  ibv_qp_init_attr attributes{};
  attributes.send_cq = attributes.recv_cq = queue.get();
  attributes.qp_type = config.transport == Transport::uc ? IBV_QPT_UC : IBV_QPT_RC;
  attributes.cap.max_send_wr = config.send_depth;
  attributes.cap.max_recv_wr = config.receive_depth;
  attributes.cap.max_send_sge = attributes.cap.max_recv_sge = 1;
  attributes.cap.max_inline_data = config.inline_bytes;
  pair_ = device_->calls().create_qp(device_->domain(), &attributes);
  if (pair_ == nullptr) {
    throw ResourceError(fmt::format("verbs: {}: no queue pair: {}; check that it offers {}", device_->name(),
                                    errno_text(errno), config.transport == Transport::uc ? "UC" : "RC"));
  }
  ibv_qp_attr init{};
  init.qp_state = IBV_QPS_INIT;
  init.port_num = device_->port();
  init.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | (config.reads != 0 ? unsigned{IBV_ACCESS_REMOTE_READ} : 0U);
  try {
    modify(init, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS, "INIT");
  } catch (...) {
    device_->calls().destroy_qp(pair_);
    throw;
  }
}

QueuePair::~QueuePair() {
  ibv_qp_attr error{};
  error.qp_state = IBV_QPS_ERR;  // everything posted is flushed: nothing touches memory after this
  device_->calls().modify_qp(pair_, &error, IBV_QP_STATE);
  device_->calls().destroy_qp(pair_);
}

void QueuePair::modify(ibv_qp_attr& attributes, int mask, const char* state) {
  if (const int code = device_->calls().modify_qp(pair_, &attributes, mask); code != 0) {
    throw ResourceError(
        fmt::format("verbs: {}: queue pair {} does not become {}: {}; check the route to the other side",
                    device_->name(), number(), state, errno_text(code)));
  }
}

void QueuePair::connect(const Endpoint& peer) {
  const bool reliable = config_.transport == Transport::rc;
  ibv_qp_attr receive{};
  receive.qp_state = IBV_QPS_RTR;
  receive.path_mtu = mtu_code(config_.pmtu);
  receive.dest_qp_num = peer.qpn;
  receive.rq_psn = peer.psn & wire::kPsnMask;
  receive.ah_attr.is_global = 1;
  receive.ah_attr.port_num = device_->port();
  receive.ah_attr.grh.sgid_index = device_->gid_index();
  receive.ah_attr.grh.hop_limit = kHops;
  const auto gid = gid_of(peer.address);
  std::memcpy(receive.ah_attr.grh.dgid.raw, gid.data(), gid.size());
  int mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
  if (reliable) {
    receive.min_rnr_timer = kReceiverNotReady;
    receive.max_dest_rd_atomic = config_.reads;
    mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
  }
  modify(receive, mask, "ready to receive");
  ibv_qp_attr send{};
  send.qp_state = IBV_QPS_RTS;
  send.sq_psn = first_psn_;
  mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
  if (reliable) {
    send.timeout = kTimeout;
    send.retry_cnt = kRetries;
    send.rnr_retry = kRetries;
    send.max_rd_atomic = config_.reads;
    mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
  }
  modify(send, mask, "ready to send");
}

int QueuePair::post_send(ibv_send_wr& request, ibv_send_wr*& refused) noexcept {
  return ibv_post_send(pair_, &request, &refused);
}

bool QueuePair::post_receive(std::uint64_t id, ibv_sge memory) noexcept {
  ibv_recv_wr request{};
  request.wr_id = id;
  request.sg_list = &memory;
  request.num_sge = 1;
  ibv_recv_wr* refused = nullptr;
  return ibv_post_recv(pair_, &request, &refused) == 0;
}

bool QueuePair::post_receives(std::uint32_t count) noexcept {
  ibv_recv_wr request{};
  ibv_recv_wr* refused = nullptr;
  for (std::uint32_t i = 0; i < count; ++i) {
    if (ibv_post_recv(pair_, &request, &refused) != 0) return false;
  }
  return true;
}

}  // namespace rashpa::link::verbs
