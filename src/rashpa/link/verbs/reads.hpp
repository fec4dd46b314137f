// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "rashpa/link/arrivals/event_handler.hpp"
#include "rashpa/link/verbs/offered_run.hpp"
#include "rashpa/link/verbs/queue_pair.hpp"
#include "rashpa/memory/buffer.hpp"

namespace rashpa::link::verbs {

/// The RDMA READs of one DTP at its receiver (operation = read). It takes the source's offers, reads their runs in
/// order, and holds back each event until all runs before it have been read. It checks each run's place itself: one
/// outside this DTP's lines is not read, and the event behind it is dropped. One thread, no allocation after
/// construction.
class Reads {
 public:
  static constexpr std::uint32_t kDepth = 128;  ///< READs in the send queue
  static constexpr std::uint64_t kRead = 2;     ///< wr_id of a READ
  static constexpr std::uint64_t kFirstReceive = 16;
  /// Returns the receives that a DTP needs for `events` events.
  static constexpr std::uint32_t receives_for(std::uint32_t events) noexcept { return events + 8; }

  /// Registers memory for offers and posts all receives. `lines` is the memory that is filled. Throws ResourceError.
  Reads(const std::shared_ptr<Device>& device, QueuePair& pair, const Registration& lines, const EventDtp& dtp,
        std::uint32_t receives, ReceiverCounters& counters);

  /// Takes a completed receive: an offer of `bytes`, or an event with its immediate.
  void offer(std::uint64_t id, std::uint32_t bytes) noexcept;
  void event(std::uint64_t id, std::uint32_t immediate) noexcept;
  /// Takes the completion of one READ that succeeded.
  void completed() noexcept { ++completed_; }
  /// Posts as many READs as there is room for.
  void proceed() noexcept;
  /// Returns the immediate of the next event of which all runs have been read.
  std::optional<std::uint32_t> next_event() noexcept;
  /// Returns the number of runs that were read or refused so far.
  [[nodiscard]] std::uint64_t finished() const noexcept { return completed_ + refused_; }

 private:
  struct Item {
    std::uint64_t id = 0;
    std::uint32_t runs = 0;  // of an offer
    bool event = false;
    std::uint32_t immediate = 0;
    std::uint64_t behind = 0;  // READs before the event
    bool spoiled = false;
  };
  /// A queue of fixed size: no more items than receives exist.
  struct Items {
    [[nodiscard]] bool empty() const noexcept { return first == end; }
    Item& front() noexcept { return all[first % all.size()]; }
    void push(const Item& item) noexcept { all[end++ % all.size()] = item; }
    std::vector<Item> all;
    std::uint64_t first = 0;
    std::uint64_t end = 0;
  };
  bool post_receive(std::uint64_t id) noexcept;
  bool read(const OfferedRun& run) noexcept;

  QueuePair* pair_;
  const Registration* lines_;
  const EventDtp* dtp_;
  ReceiverCounters* counters_;
  memory::Buffer memory_;
  std::unique_ptr<Registration> own_;
  Items taken_;   // offers and events in order, of which runs are still to be posted
  Items events_;  // that wait for their READs
  std::uint32_t next_run_ = 0;
  bool spoiled_ = false;  // a run since the last event was refused
  std::uint64_t posted_ = 0;
  std::uint64_t completed_ = 0;
  std::uint64_t refused_ = 0;
};

}  // namespace rashpa::link::verbs
