// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/testing/rnic/pairs.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <utility>

namespace rashpa::link::testing::rnic {

Rnic& Rnic::the() {
  static Rnic device;
  return device;
}

void Rnic::add(Pair* pair) {
  pair->qp_num = ++last_number_;
  pairs_[pair->qp_num] = pair;
}

void Rnic::remove(Pair* pair) { pairs_.erase(pair->qp_num); }

void Rnic::put(ibv_cq* queue, const Entry& entry) {
  auto* const own = static_cast<Queue*>(queue);
  own->entries.push_back(entry);
  if (!own->armed || own->channel == nullptr) return;
  own->armed = false;
  auto* const channel = static_cast<EventChannel*>(own->channel);
  channel->events.push_back(own);
  eventfd_write(channel->fd, 1);
}

int Rnic::check(const Pair& pair, const ibv_send_wr& request) const {
  if (pair.state != IBV_QPS_RTS && pair.state != IBV_QPS_ERR) return EINVAL;
  if (pair.sends >= pair.most_sends) return ENOMEM;
  if (request.num_sge > 1) return EINVAL;
  switch (request.opcode) {
    case IBV_WR_RDMA_WRITE:
    case IBV_WR_RDMA_WRITE_WITH_IMM:
    case IBV_WR_SEND:
      break;
    case IBV_WR_RDMA_READ:
      if (pair.qp_type != IBV_QPT_RC || (request.send_flags & IBV_SEND_INLINE) != 0) return EINVAL;
      break;
    default:
      return EOPNOTSUPP;
  }
  const bool inlined = (request.send_flags & IBV_SEND_INLINE) != 0;
  return inlined && request.num_sge == 1 && request.sg_list->length > pair.most_inline ? EINVAL : 0;
}

bool Rnic::gather(const Pair& pair, const ibv_send_wr& request, std::vector<std::byte>& out) const {
  if (request.num_sge == 0 || request.opcode == IBV_WR_RDMA_READ) return true;
  const ibv_sge& piece = *request.sg_list;
  const bool inlined = (request.send_flags & IBV_SEND_INLINE) != 0;
  const auto* const from =
      inlined ? reinterpret_cast<const std::byte*>(piece.addr) : regions.local(pair.pd, piece);  // NOLINT
  if (from == nullptr) return false;
  out.assign(from, from + piece.length);
  return true;
}

void Rnic::fail(Pair& pair) {
  pair.state = IBV_QPS_ERR;
  for (const Receive& receive : pair.receives) {
    Entry flushed;
    flushed.completion.wr_id = receive.id;
    flushed.completion.status = IBV_WC_WR_FLUSH_ERR;
    flushed.completion.qp_num = pair.qp_num;
    put(pair.recv_cq, flushed);
  }
  pair.receives.clear();
}

void Rnic::complete_send(Pair* from, const Message& message, ibv_wc_status status) {
  if (from == nullptr || (status == IBV_WC_SUCCESS && !message.signalled)) return;
  Entry done{.completion = {}, .retired = message.retired};
  done.completion.wr_id = message.id;
  done.completion.status = status;
  done.completion.opcode = message.opcode == IBV_WR_SEND        ? IBV_WC_SEND
                           : message.opcode == IBV_WR_RDMA_READ ? IBV_WC_RDMA_READ
                                                                : IBV_WC_RDMA_WRITE;
  done.completion.qp_num = from->qp_num;
  put(from->send_cq, done);
}

int Rnic::post(Pair& pair, ibv_send_wr* request, ibv_send_wr** refused) {
  for (; request != nullptr; request = request->next) {
    if (const int code = check(pair, *request); code != 0) {
      *refused = request;
      pump();
      return code;
    }
    ++pair.sends;
    ++pair.unretired;
    Message message;
    message.from = pair.qp_num;
    message.id = request->wr_id;
    message.signalled = (request->send_flags & IBV_SEND_SIGNALED) != 0;
    message.retired = pair.unretired;
    if (message.signalled) pair.unretired = 0;
    message.opcode = request->opcode;
    if (request->num_sge == 1) message.into = *request->sg_list;
    message.address = request->wr.rdma.remote_addr;
    message.rkey = request->wr.rdma.rkey;
    message.has_immediate = request->opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
    message.immediate = request->imm_data;
    if (pair.state == IBV_QPS_ERR) {
      complete_send(&pair, message, IBV_WC_WR_FLUSH_ERR);
    } else if (!gather(pair, *request, message.bytes)) {
      complete_send(&pair, message, IBV_WC_LOC_PROT_ERR);
      fail(pair);
    } else {
      if (pair.qp_type == IBV_QPT_UC) complete_send(&pair, message, IBV_WC_SUCCESS);
      wire_.push_back(std::move(message));
    }
  }
  pump();
  return 0;
}

int Rnic::receive(Pair& pair, ibv_recv_wr* request, ibv_recv_wr** refused) {
  for (; request != nullptr; request = request->next) {
    if (pair.receives.size() >= pair.most_receives || pair.state == IBV_QPS_RESET) {
      *refused = request;
      return pair.state == IBV_QPS_RESET ? EINVAL : ENOMEM;
    }
    pair.receives.push_back({request->wr_id, request->num_sge == 0 ? ibv_sge{} : *request->sg_list});
  }
  pump();  // a reliable sender may have waited for it
  return 0;
}

int Rnic::poll(Queue& queue, int room, ibv_wc* out) {
  int count = 0;
  for (; count < room && !queue.entries.empty(); ++count) {
    const Entry& entry = queue.entries.front();
    out[count] = entry.completion;
    const auto pair = pairs_.find(entry.completion.qp_num);
    if (pair != pairs_.end()) pair->second->sends -= std::min(pair->second->sends, entry.retired);
    queue.entries.pop_front();
  }
  return count;
}

void Rnic::let_go() {
  holds = holds_reads = false;
  pump();
}

void Rnic::deliver_held(std::size_t messages) {
  for (; messages > 0 && !wire_.empty(); --messages) {
    Message message = std::move(wire_.front());
    wire_.pop_front();
    if (deliver(message)) continue;
    wire_.push_front(std::move(message));
    return;
  }
}

std::size_t Rnic::untaken() const {
  std::set<const Queue*> queues;
  for (const auto& [number, pair] : pairs_) queues.insert(static_cast<const Queue*>(pair->recv_cq));
  std::size_t count = 0;
  for (const Queue* queue : queues) {
    for (const Entry& entry : queue->entries) count += (entry.completion.opcode & IBV_WC_RECV) != 0 ? 1 : 0;
  }
  return count;
}

void Rnic::pump() {
  if (holds) return;
  std::deque<Message> stay;
  std::set<std::uint32_t> waiting;  // queue pairs of which a message waits: later ones stay behind it
  while (!wire_.empty()) {
    Message message = std::move(wire_.front());
    wire_.pop_front();
    const bool stays = holds_reads && message.opcode == IBV_WR_RDMA_READ;
    if (stays || waiting.contains(message.from) || !deliver(message)) {
      waiting.insert(message.from);
      stay.push_back(std::move(message));
    }
  }
  wire_ = std::move(stay);
}

void Rnic::complete_receive(Pair& to, const Message& message, ibv_wc_opcode opcode, ibv_wc_status status) {
  Entry event;
  event.completion.wr_id = to.receives.front().id;
  event.completion.status = status;
  event.completion.opcode = opcode;
  event.completion.wc_flags = message.has_immediate ? unsigned{IBV_WC_WITH_IMM} : 0U;
  event.completion.imm_data = message.immediate;
  event.completion.byte_len = static_cast<std::uint32_t>(message.bytes.size());
  event.completion.qp_num = to.qp_num;
  to.receives.pop_front();
  put(to.recv_cq, event);
}

ibv_wc_status Rnic::write(Pair& to, const Message& message) {
  Region* region = nullptr;
  const auto found =
      regions.find(to.pd, message.rkey, message.address, message.bytes.size(), IBV_ACCESS_REMOTE_WRITE, region);
  if (found == Regions::Find::wrong_key) ++fates.wrong_key;
  if (found == Regions::Find::out_of_bounds) ++fates.out_of_bounds;
  if (found == Regions::Find::no_right) ++fates.not_writable;
  if (found != Regions::Find::found) return IBV_WC_REM_ACCESS_ERR;
  ++fates.written;
  regions.write(*region, message.address, message.bytes);
  if (message.has_immediate) complete_receive(to, message, IBV_WC_RECV_RDMA_WITH_IMM, IBV_WC_SUCCESS);
  return IBV_WC_SUCCESS;
}

// A SEND into the memory of the first receive.
ibv_wc_status Rnic::take(Pair& to, const Message& message) {
  const ibv_sge& memory = to.receives.front().memory;
  Region* const region = regions.local_writable(to.pd, memory);
  if (memory.length < message.bytes.size() || region == nullptr) {
    complete_receive(to, message, IBV_WC_RECV, region == nullptr ? IBV_WC_LOC_PROT_ERR : IBV_WC_LOC_LEN_ERR);
    return IBV_WC_REM_INV_REQ_ERR;
  }
  regions.write(*region, memory.addr, message.bytes);
  complete_receive(to, message, IBV_WC_RECV, IBV_WC_SUCCESS);
  return IBV_WC_SUCCESS;
}

ibv_wc_status Rnic::read(const Pair& from, const Pair& to, const Message& message) {
  if (from.asks == 0) return IBV_WC_LOC_QP_OP_ERR;
  if (from.asks > to.answers) return IBV_WC_REM_INV_REQ_ERR;
  if ((to.access & IBV_ACCESS_REMOTE_READ) == 0) {
    ++fates.not_readable;
    return IBV_WC_REM_ACCESS_ERR;
  }
  Region* source = nullptr;
  const auto found =
      regions.find(to.pd, message.rkey, message.address, message.into.length, IBV_ACCESS_REMOTE_READ, source);
  if (found == Regions::Find::wrong_key) ++fates.wrong_key;
  if (found == Regions::Find::out_of_bounds) ++fates.out_of_bounds;
  if (found == Regions::Find::no_right) ++fates.not_readable;
  if (found != Regions::Find::found || source->memory == nullptr) return IBV_WC_REM_ACCESS_ERR;
  Region* const into = regions.local_writable(from.pd, message.into);
  if (into == nullptr) return IBV_WC_LOC_PROT_ERR;
  ++fates.read;
  regions.write(*into, message.into.addr,
                {source->memory + (message.address - source->iova), std::size_t{message.into.length}});
  return IBV_WC_SUCCESS;
}

bool Rnic::deliver(Message& message) {
  const auto sender = pairs_.find(message.from);
  Pair* const from = sender == pairs_.end() ? nullptr : sender->second;
  const bool reliable = from != nullptr && from->qp_type == IBV_QPT_RC;
  const auto receiver = from == nullptr ? pairs_.end() : pairs_.find(from->peer);
  Pair* const to = receiver == pairs_.end() ? nullptr : receiver->second;
  if (to == nullptr || (to->state != IBV_QPS_RTR && to->state != IBV_QPS_RTS)) {
    ++fates.late;
    if (reliable) {
      complete_send(from, message, IBV_WC_RETRY_EXC_ERR);
      fail(*from);
    }
    return true;
  }
  const bool needs_receive = message.has_immediate || message.opcode == IBV_WR_SEND;
  if (needs_receive && to->receives.empty()) return !reliable;  // without a receive: RC waits, UC loses it
  const ibv_wc_status status = message.opcode == IBV_WR_RDMA_READ ? read(*from, *to, message)
                               : message.opcode == IBV_WR_SEND    ? take(*to, message)
                                                                  : write(*to, message);
  if (reliable) complete_send(from, message, status);
  if (reliable && status != IBV_WC_SUCCESS) {
    fail(*from);
    fail(*to);
  }
  return true;
}

}  // namespace rashpa::link::testing::rnic
