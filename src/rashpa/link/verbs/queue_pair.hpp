// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "rashpa/link/verbs/device.hpp"
#include "rashpa/link/words.hpp"

namespace rashpa::link::verbs {

/// One completion queue, optionally with a channel on which a thread can sleep.
class CompletionQueue {
 public:
  enum class Channel : std::uint8_t { none, events };
  /// Creates the queue. Throws ResourceError.
  CompletionQueue(std::shared_ptr<Device> device, std::uint32_t entries, Channel channel);
  ~CompletionQueue();
  CompletionQueue(const CompletionQueue&) = delete;
  CompletionQueue& operator=(const CompletionQueue&) = delete;

  [[nodiscard]] ibv_cq* get() const noexcept { return queue_; }
  /// Takes completions and returns their number; 0 when there are none or the queue is broken.
  int poll(std::span<ibv_wc> out) noexcept;
  /// Returns the channel's file descriptor, readable after arm() when a completion comes; −1 without a channel.
  [[nodiscard]] int file() const noexcept { return channel_ != nullptr ? channel_->fd : -1; }
  /// Requests one wake-up; call poll() again before sleeping.
  void arm() noexcept;
  /// Takes the event that made the file readable.
  void take_event() noexcept;

 private:
  std::shared_ptr<Device> device_;
  ibv_comp_channel* channel_ = nullptr;
  ibv_cq* queue_ = nullptr;
  unsigned unacknowledged_ = 0;
};

struct QueuePairConfig {
  Transport transport = Transport::uc;  ///< uc or rc
  std::uint32_t pmtu = 1024;
  std::uint32_t send_depth = 16;
  std::uint32_t receive_depth = 1;
  std::uint32_t inline_bytes = 0;  ///< most bytes that can be sent from memory that is not registered
  std::uint8_t reads = 0;          ///< RDMA READs in flight in each direction, the same at both ends; 0: none
};

/// One queue pair, created in state INIT (receives may be posted) and ready after connect(). The destructor first
/// drains it.
class QueuePair {
 public:
  /// Creates the queue pair. Throws ConfigError when the port's MTU is less than `pmtu`, and ResourceError.
  QueuePair(std::shared_ptr<Device> device, const CompletionQueue& queue, const QueuePairConfig& config);
  ~QueuePair();
  QueuePair(const QueuePair&) = delete;
  QueuePair& operator=(const QueuePair&) = delete;

  /// Connects to `peer`. Both ends identify each other by IP address, real queue pair number and initial PSN.
  void connect(const Endpoint& peer);

  [[nodiscard]] std::uint32_t number() const noexcept { return pair_->qp_num; }
  [[nodiscard]] std::uint32_t first_psn() const noexcept { return first_psn_; }
  /// Posts a chain of requests. Returns 0, or an errno (ENOMEM when the queue is full) with the first refused request.
  int post_send(ibv_send_wr& request, ibv_send_wr*& refused) noexcept;
  /// Posts receives without memory, which immediates need; returns false when one was refused.
  bool post_receives(std::uint32_t count) noexcept;
  /// Posts one receive with memory for a message; returns false when it was refused.
  bool post_receive(std::uint64_t id, ibv_sge memory) noexcept;

 private:
  void modify(ibv_qp_attr& attributes, int mask, const char* state);

  std::shared_ptr<Device> device_;
  QueuePairConfig config_;
  ibv_qp* pair_ = nullptr;
  std::uint32_t first_psn_;
};

}  // namespace rashpa::link::verbs
