// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The books of a gather: which list is in hand, and which lists have ended. One link thread uses it.
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "rashpa/memory/gather/gather_engine.hpp"

namespace rashpa::memory {

/// Lists runs of packets and gives the lists to the engine. Lists have numbers from 1 on.
class Gather {
 public:
  Gather(std::unique_ptr<GatherEngine> engine, const GatherRoom& room) noexcept
      : engine_(std::move(engine)), lists_(room.lists), list_(engine_->list(0)) {}

  [[nodiscard]] std::span<std::byte> pool() noexcept { return engine_->pool(); }
  /// Adds a run to the list in hand; a full list is begun. Returns false, and adds nothing, when the device has all
  /// lists, or has failed.
  [[nodiscard]] bool add(const GatherRun& run) noexcept;
  /// Begins the list in hand, unless it is empty.
  void submit() noexcept;
  /// Looks how far the device has come; only this changes the answers below.
  void look() noexcept;

  /// Returns the number of the list to which the latest run was added.
  [[nodiscard]] std::uint64_t latest() const noexcept { return runs_ > 0 ? begun_ + 1 : begun_; }
  /// Returns true when all runs of list `number` and those before are in their places, or the device has failed.
  [[nodiscard]] bool ended(std::uint64_t number) const noexcept { return failed_ || number <= ended_; }
  [[nodiscard]] bool failed() const noexcept { return failed_; }
  /// Returns true while a batch of packets finds lists for all its runs.
  [[nodiscard]] bool has_lists() const noexcept { return failed_ || begun_ - ended_ + kSpare <= lists_; }

 private:
  static constexpr std::uint64_t kSpare = 8;  // lists that one batch fills at most
  std::unique_ptr<GatherEngine> engine_;
  std::uint32_t lists_;
  std::span<GatherRun> list_;  // in hand
  std::uint32_t runs_ = 0;     // of the list in hand
  std::uint64_t begun_ = 0;
  std::uint64_t ended_ = 0;
  bool failed_ = false;
};

/// Packet buffers of equal size in a gather's pool, used in turn. Buffers of a batch are free again when the lists that
/// may name them have ended.
class PacketPool {
 public:
  /// Divides the pool. `gather` outlives it.
  PacketPool(Gather& gather, std::size_t buffer_bytes) noexcept;
  /// Returns how many buffers are free, at most `most`. All runs of the last batch have been added.
  [[nodiscard]] std::size_t free(std::size_t most) noexcept;
  /// Returns free buffer number `i`.
  [[nodiscard]] std::byte* at(std::size_t i) noexcept {
    return memory_.data() + (head_ + i) % until_.size() * buffer_bytes_;
  }
  /// Makes the first `count` free buffers those of a batch.
  void take(std::size_t count) noexcept;

 private:
  Gather* gather_;
  std::span<std::byte> memory_;
  std::size_t buffer_bytes_;
  std::vector<std::uint64_t> until_;  // by buffer: the list that has to end first
  std::uint64_t head_ = 0;            // the next free buffer; grows for ever
  std::uint64_t tail_ = 0;            // the oldest one in use
  std::size_t batch_ = 0;             // buffers of the last batch, whose lists are not known yet
};

}  // namespace rashpa::memory
