// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The messages that really leave, faults included, and the fate that the receiver must find by them.
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

/// Draws the faults of one stream. Written by the DTP's thread, its books are read by any.
class MessageQueue final : public Fates {
 public:
  MessageQueue(const std::optional<FaultConfig>& faults, std::uint32_t dtp, std::uint64_t images);

  /// The message of image `index`, which leaves behind those that are there, or not at all.
  void add_image(std::uint64_t index, std::span<const std::byte> message);
  /// Another message, to which no fault happens. `last`: nothing follows, and late messages go before it.
  void add(std::span<const std::byte> message, bool last);

  /// The message that leaves next; empty: there is none.
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
  /// A message that lets `behind` others pass.
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
