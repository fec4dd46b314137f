// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The datagrams that really leave for an image, faults included, and the completeness that the receiver must find.
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "rashpa/core/books/completeness_table.hpp"
#include "rashpa/link/counters.hpp"
#include "rashpa/link/faults.hpp"
#include "rashpa/link/roce/faults/faults.hpp"

namespace rashpa::link::sls {

/// A datagram that leaves: the packet at that place of the frame. `damaged`: it has an unknown version, since the
/// format has no checksum that would reveal other damage.
struct Leaving {
  std::uint32_t packet = 0;
  bool damaged = false;
  std::uint64_t turn = 0;  ///< datagrams leave in ascending order of `turn`
};

/// Draws the faults of one port. The DTP's thread writes it; any thread reads its books.
class SendOrder final : public Fates {
 public:
  SendOrder(const std::optional<FaultConfig>& faults, std::uint32_t dtp, std::uint64_t images, std::uint32_t packets);

  /// Returns the datagrams of image `index`, in order; valid until the next call.
  std::span<const Leaving> begin(std::uint64_t index) noexcept;

  [[nodiscard]] FaultCounts counts() const noexcept {
    return {dropped_.get(), duplicated_.get(), reordered_.get(), corrupted_.get()};
  }
  [[nodiscard]] std::uint64_t images() const noexcept override { return fates_.images(); }
  [[nodiscard]] Completeness fate(std::uint64_t index) const noexcept override { return fates_.get(index); }

 private:
  void add(std::uint32_t packet, std::uint32_t behind, bool damaged) noexcept;

  std::uint32_t packets_;
  std::optional<roce::FaultDice> dice_;
  std::vector<Leaving> order_;
  CompletenessTable fates_;
  Counter dropped_, duplicated_, reordered_, corrupted_;
};

}  // namespace rashpa::link::sls
