// SPDX-License-Identifier: Apache-2.0
/// The names of libibverbs that the shim loads, over the stand-in's device.
#include <arpa/inet.h>
#include <infiniband/verbs.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <mutex>

#include "rashpa/link/testing/rnic/pairs.hpp"
#include "rashpa/link/testing/rnic/stand_in.hpp"

namespace rashpa::link::testing::rnic {

namespace {

std::unique_lock<std::mutex> locked() { return std::unique_lock(Rnic::the().lock); }

int post_send(ibv_qp* pair, ibv_send_wr* request, ibv_send_wr** refused) {
  const auto lock = locked();
  return Rnic::the().post(*static_cast<Pair*>(pair), request, refused);
}
int post_recv(ibv_qp* pair, ibv_recv_wr* request, ibv_recv_wr** refused) {
  const auto lock = locked();
  return Rnic::the().receive(*static_cast<Pair*>(pair), request, refused);
}
int poll_cq(ibv_cq* queue, int room, ibv_wc* out) {
  const auto lock = locked();
  return Rnic::the().poll(*static_cast<Queue*>(queue), room, out);
}
int req_notify_cq(ibv_cq* queue, int /*solicited_only*/) {
  const auto lock = locked();
  static_cast<Queue*>(queue)->armed = true;
  return 0;
}

int query_device_ex(ibv_context* /*context*/, const ibv_query_device_ex_input* /*input*/,
                    ibv_device_attr_ex* attributes, std::size_t /*bytes*/) {
  const auto lock = locked();
  const std::uint32_t operations = Rnic::the().regions.abilities.on_demand_of_rc;
  *attributes = {};
  attributes->orig_attr.vendor_id = Rnic::the().regions.abilities.vendor;
  attributes->odp_caps.general_caps = operations != 0 ? std::uint64_t{IBV_ODP_SUPPORT} : 0;
  attributes->odp_caps.per_transport_caps.rc_odp_caps = operations;
  return 0;
}

ibv_device& device() {
  static ibv_device one = [] {
    ibv_device made{};
    made.node_type = IBV_NODE_CA;
    made.transport_type = IBV_TRANSPORT_IB;
    std::strcpy(static_cast<char*>(made.name), "standin0");  // NOLINT: 64 bytes
    return made;
  }();
  return one;
}

}  // namespace

void reset() {
  const auto lock = locked();
  Rnic& rnic = Rnic::the();
  rnic.let_go();
  rnic.fates = {};
  rnic.regions.abilities = {};
  rnic.regions.accelerators.clear();
  rnic.regions.writer = {};
}
void set(const Abilities& abilities) {
  const auto lock = locked();
  Rnic::the().regions.abilities = abilities;
}
void declare_accelerator(std::span<std::byte> memory) {
  const auto lock = locked();
  Rnic::the().regions.accelerators.push_back(memory);
}
void set_writer(WriteFile writer) {
  const auto lock = locked();
  Rnic::the().regions.writer = std::move(writer);
}
void hold() {
  const auto lock = locked();
  Rnic::the().holds = true;
}
void hold_reads() {
  const auto lock = locked();
  Rnic::the().holds_reads = true;
}
std::size_t held() {
  const auto lock = locked();
  return Rnic::the().held();
}
std::size_t untaken() {
  const auto lock = locked();
  return Rnic::the().untaken();
}
void let_go() {
  const auto lock = locked();
  Rnic::the().let_go();
}
void deliver(std::size_t messages) {
  const auto lock = locked();
  Rnic::the().deliver_held(messages);
}
void flush() {
  const auto lock = locked();
  ++Rnic::the().fates.flushes;
  Rnic::the().regions.flush();
}
Fates fates() {
  const auto lock = locked();
  return Rnic::the().fates;
}
std::size_t unseen_bytes() {
  const auto lock = locked();
  return Rnic::the().regions.unseen_bytes();
}

}  // namespace rashpa::link::testing::rnic

using namespace rashpa::link::testing::rnic;  // NOLINT: the names below are those of a C library

// NOLINTBEGIN(readability-identifier-naming, bugprone-reserved-identifier)
extern "C" {

// The header makes macros of some of these names.
#undef ibv_get_device_list
#undef ibv_query_port
#undef ibv_reg_mr
#undef ibv_reg_mr_iova

ibv_device** ibv_get_device_list(int* count) {
  *count = 1;
  return new ibv_device* [2] { &device(), nullptr };
}
void ibv_free_device_list(ibv_device** list) { delete[] list; }
const char* ibv_get_device_name(ibv_device* one) { return static_cast<const char*>(one->name); }

ibv_context* ibv_open_device(ibv_device* one) {
  auto* const extended = new verbs_context{};
  extended->sz = sizeof *extended;
  extended->query_device_ex = &query_device_ex;
  ibv_context* const context = &extended->context;
  context->abi_compat = __VERBS_ABI_IS_EXTENDED;
  context->device = one;
  context->ops.post_send = &post_send;
  context->ops.post_recv = &post_recv;
  context->ops.poll_cq = &poll_cq;
  context->ops.req_notify_cq = &req_notify_cq;
  return context;
}
int ibv_close_device(ibv_context* context) {
  delete verbs_get_ctx(context);
  return 0;
}

int ibv_query_device(ibv_context* /*context*/, ibv_device_attr* attributes) {
  *attributes = {};
  const auto lock = locked();
  attributes->max_qp_wr = 8192;
  attributes->max_qp_rd_atom = attributes->max_qp_init_rd_atom = Rnic::the().regions.abilities.most_reads;
  return 0;
}
int ibv_query_port(ibv_context* /*context*/, std::uint8_t /*port*/, _compat_ibv_port_attr* compatible) {
  auto* const attributes = reinterpret_cast<ibv_port_attr*>(compatible);
  attributes->state = IBV_PORT_ACTIVE;
  attributes->active_mtu = attributes->max_mtu = IBV_MTU_4096;
  attributes->max_msg_sz = 1U << 30U;
  attributes->link_layer = IBV_LINK_LAYER_ETHERNET;
  return 0;
}
ssize_t _ibv_query_gid_table(ibv_context* /*context*/, ibv_gid_entry* entries, std::size_t room,
                             std::uint32_t /*flags*/, std::size_t /*entry_bytes*/) {
  if (room == 0) return 0;
  entries[0] = {};
  entries[0].port_num = 1;
  entries[0].gid_type = IBV_GID_TYPE_ROCE_V2;
  entries[0].gid.raw[10] = entries[0].gid.raw[11] = 0xFF;
  inet_pton(AF_INET, "127.0.0.1", entries[0].gid.raw + 12);
  return 1;
}

ibv_pd* ibv_alloc_pd(ibv_context* context) {
  auto* const domain = new ibv_pd{};
  domain->context = context;
  return domain;
}
int ibv_dealloc_pd(ibv_pd* domain) {
  delete domain;
  return 0;
}

ibv_mr* ibv_reg_mr(ibv_pd* domain, void* data, std::size_t bytes, int access) {
  const auto lock = locked();
  return Rnic::the().regions.add(domain, static_cast<std::byte*>(data), bytes, reinterpret_cast<std::uint64_t>(data),
                                 static_cast<unsigned>(access));
}
ibv_mr* ibv_reg_mr_iova2(ibv_pd* domain, void* data, std::size_t bytes, std::uint64_t iova, unsigned access) {
  const auto lock = locked();
  return Rnic::the().regions.add(domain, static_cast<std::byte*>(data), bytes, iova, access);
}
ibv_mr* ibv_reg_dmabuf_mr(ibv_pd* domain, std::uint64_t offset, std::size_t bytes, std::uint64_t iova, int file,
                          int access) {
  const auto lock = locked();
  return Rnic::the().regions.add_file(domain, offset, bytes, iova, file, static_cast<unsigned>(access));
}
int ibv_dereg_mr(ibv_mr* region) {
  const auto lock = locked();
  Rnic::the().regions.remove(static_cast<Region*>(region));
  return 0;
}

ibv_comp_channel* ibv_create_comp_channel(ibv_context* context) {
  auto* const channel = new EventChannel{};
  channel->context = context;
  channel->fd = eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC);
  return channel;
}
int ibv_destroy_comp_channel(ibv_comp_channel* channel) {
  close(channel->fd);
  delete static_cast<EventChannel*>(channel);
  return 0;
}
int ibv_get_cq_event(ibv_comp_channel* channel, ibv_cq** queue, void** user) {
  eventfd_t count = 0;
  if (eventfd_read(channel->fd, &count) != 0) return -1;
  const auto lock = locked();
  auto& events = static_cast<EventChannel*>(channel)->events;
  *queue = events.front();
  *user = (*queue)->cq_context;
  events.pop_front();
  return 0;
}
void ibv_ack_cq_events(ibv_cq* /*queue*/, unsigned /*events*/) {}

ibv_cq* ibv_create_cq(ibv_context* context, int entries, void* user, ibv_comp_channel* channel, int /*vector*/) {
  auto* const queue = new Queue{};
  queue->context = context;
  queue->channel = channel;
  queue->cq_context = user;
  queue->cqe = entries;
  return queue;
}
int ibv_destroy_cq(ibv_cq* queue) {
  delete static_cast<Queue*>(queue);
  return 0;
}

ibv_qp* ibv_create_qp(ibv_pd* domain, ibv_qp_init_attr* attributes) {
  if (attributes->qp_type != IBV_QPT_UC && attributes->qp_type != IBV_QPT_RC) {
    errno = EOPNOTSUPP;
    return nullptr;
  }
  const auto lock = locked();
  auto* const pair = new Pair{};
  pair->context = domain->context;
  pair->pd = domain;
  pair->send_cq = attributes->send_cq;
  pair->recv_cq = attributes->recv_cq;
  pair->qp_type = attributes->qp_type;
  pair->state = IBV_QPS_RESET;
  pair->most_sends = attributes->cap.max_send_wr;
  pair->most_receives = attributes->cap.max_recv_wr;
  pair->most_inline = attributes->cap.max_inline_data;
  Rnic::the().add(pair);
  return pair;
}
int ibv_modify_qp(ibv_qp* given, ibv_qp_attr* attributes, int mask) {
  const auto lock = locked();
  Pair& pair = *static_cast<Pair*>(given);
  if ((mask & IBV_QP_DEST_QPN) != 0) pair.peer = attributes->dest_qp_num;
  if ((mask & IBV_QP_ACCESS_FLAGS) != 0) pair.access = attributes->qp_access_flags;
  if ((mask & IBV_QP_MAX_QP_RD_ATOMIC) != 0) pair.asks = attributes->max_rd_atomic;
  if ((mask & IBV_QP_MAX_DEST_RD_ATOMIC) != 0) pair.answers = attributes->max_dest_rd_atomic;
  if ((mask & IBV_QP_STATE) == 0) return 0;
  if (attributes->qp_state == IBV_QPS_ERR) {
    Rnic::the().fail(pair);
    return 0;
  }
  const bool next = attributes->qp_state == pair.state + 1;  // RESET, INIT, RTR, RTS
  if (!next) return EINVAL;
  pair.state = attributes->qp_state;
  return 0;
}
int ibv_destroy_qp(ibv_qp* pair) {
  const auto lock = locked();
  Rnic::the().remove(static_cast<Pair*>(pair));
  delete static_cast<Pair*>(pair);
  return 0;
}
const char* ibv_wc_status_str(ibv_wc_status status) { return status == IBV_WC_SUCCESS ? "success" : "refused"; }

}  // extern "C"
// NOLINTEND(readability-identifier-naming, bugprone-reserved-identifier)
