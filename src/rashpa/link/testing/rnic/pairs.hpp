// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Queue pairs, completion queues and the wire of the stand-in.
#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "rashpa/link/testing/rnic/regions.hpp"

namespace rashpa::link::testing::rnic {

struct Queue;

/// A channel whose file is readable while it has events.
struct EventChannel : ibv_comp_channel {
  std::deque<Queue*> events;
};

/// A completion, and the number of requests of the pair that it retires: its own and those before it without one.
struct Entry {
  ibv_wc completion{};
  std::uint32_t retired = 0;
};

struct Queue : ibv_cq {
  std::deque<Entry> entries;
  bool armed = false;
};

/// A posted receive, with its memory if it has any.
struct Receive {
  std::uint64_t id = 0;
  ibv_sge memory{};
};

struct Pair : ibv_qp {
  std::uint32_t most_sends = 0;
  std::uint32_t most_receives = 0;
  std::uint32_t most_inline = 0;
  std::uint32_t peer = 0;
  std::uint32_t sends = 0;      // that no polled completion has retired
  std::uint32_t unretired = 0;  // since the last one with a completion
  std::deque<Receive> receives;
  unsigned access = 0;        // that the peer has
  std::uint32_t asks = 0;     // RDMA READs in flight that it may have
  std::uint32_t answers = 0;  // of its peer
};

/// A message that has left its queue pair.
struct Message {
  std::uint32_t from = 0;
  std::uint64_t id = 0;
  ibv_wr_opcode opcode = IBV_WR_RDMA_WRITE;
  bool signalled = false;
  std::uint32_t retired = 0;
  ibv_sge into{};  // of a READ
  std::uint64_t address = 0;
  std::uint32_t rkey = 0;
  bool has_immediate = false;
  std::uint32_t immediate = 0;
  std::vector<std::byte> bytes;
};

/// The device. One lock guards everything, and a message is delivered by the thread that posts it.
class Rnic {
 public:
  static Rnic& the();

  void add(Pair* pair);
  void remove(Pair* pair);
  /// Takes requests as ibv_post_send() does; returns an errno, and the refused request.
  int post(Pair& pair, ibv_send_wr* request, ibv_send_wr** refused);
  int receive(Pair& pair, ibv_recv_wr* request, ibv_recv_wr** refused);
  int poll(Queue& queue, int room, ibv_wc* out);
  void fail(Pair& pair);
  void let_go();
  void deliver_held(std::size_t messages);

  std::mutex lock;
  Regions regions;
  Fates fates;
  bool holds = false;
  bool holds_reads = false;
  [[nodiscard]] std::size_t held() const noexcept { return wire_.size(); }
  [[nodiscard]] std::size_t untaken() const;

 private:
  int check(const Pair& pair, const ibv_send_wr& request) const;
  bool gather(const Pair& pair, const ibv_send_wr& request, std::vector<std::byte>& out) const;
  void pump();
  /// Returns false while the message must stay on the wire, because a reliable peer has no receive for it.
  bool deliver(Message& message);
  ibv_wc_status read(const Pair& from, const Pair& to, const Message& message);
  ibv_wc_status write(Pair& to, const Message& message);
  ibv_wc_status take(Pair& to, const Message& message);
  void complete_receive(Pair& to, const Message& message, ibv_wc_opcode opcode, ibv_wc_status status);
  void complete_send(Pair* from, const Message& message, ibv_wc_status status);
  static void put(ibv_cq* queue, const Entry& entry);

  std::map<std::uint32_t, Pair*> pairs_;
  std::deque<Message> wire_;
  std::uint32_t last_number_ = 16;
};

}  // namespace rashpa::link::testing::rnic
