// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The messages that really leave, faults included, and the completeness that the receiver must find.
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "rashpa/core/books/completeness_table.hpp"
#include "rashpa/link/counters.hpp"
#include "rashpa/link/faults.hpp"
#include "rashpa/link/roce/faults/faults.hpp"

namespace rashpa::link::stream2 {

/// Draws the faults of one stream. The DTP's thread writes it; any thread reads its books.
class MessageQueue final : public Fates {
 public:
  MessageQueue(const std::optional<FaultConfig>& faults, std::uint32_t dtp, std::uint64_t images);

  /// Queues the message of image `index` behind the others, or drops it by a fault.
  void add_image(std::uint64_t index, std::span<const std::byte> message);
  /// Queues another kind of message, which gets no faults. `last`: no message follows, and late messages leave before
  /// it.
  void add(std::span<const std::byte> message, bool last);

  /// Returns the message that leaves next; empty: none.
  [[nodiscard]] std::span<const std::byte> front() const noexcept;
  void pop() noexcept;
  [[nodiscard]] std::size_t size() const noexcept { return leaving_.size(); }

  [[nodiscard]] FaultCounts counts() const noexcept {
    return {dropped_.get(), duplicated_.get(), reordered_.get(), corrupted_.get()};
  }
  [[nodiscard]] std::uint64_t images() const noexcept override { return fates_.images(); }
  [[nodiscard]] Completeness fate(std::uint64_t index) const noexcept override { return fates_.get(index); }

 private:
  using Bytes = std::vector<std::byte>;
  /// A delayed message, which lets `behind` others pass.
  struct Late {
    Bytes message;
    std::uint32_t behind;
  };
  [[nodiscard]] Bytes copy_of(std::span<const std::byte> message);
  void leave(std::span<const std::byte> message);

  std::optional<roce::FaultDice> dice_;
  std::deque<Bytes> leaving_;
  std::vector<Late> late_;
  std::vector<Bytes> free_;  // memory that is used again
  CompletenessTable fates_;
  Counter dropped_, duplicated_, reordered_, corrupted_;
};

}  // namespace rashpa::link::stream2
