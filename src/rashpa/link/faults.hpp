// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Packet faults that a sender injects on request, and its log of them. Not all links support them.
#include <cstdint>

#include "rashpa/core/books/books.hpp"

namespace rashpa::link {

/// The probabilities of faults, per packet. A packet has at most one fault, so their sum must not exceed 1.
struct FaultConfig {
  std::uint64_t seed = 0;  ///< the same seed and DTP id give the same faults
  double drop = 0;         ///< the packet is not sent
  double duplicate = 0;    ///< the packet is sent twice in a row
  double reorder = 0;  ///< the packet is sent after 1 … 4 later packets of the DTP, but never after the next event
  /// one bit is flipped after the ICRC was made: where an ICRC check modulo id finds it, or with `icrc = "off"` in
  /// lines or record, where their CRC32C finds it
  double corrupt = 0;
};

/// The number of injected faults of each kind.
struct FaultCounts {
  std::uint64_t drop = 0;
  std::uint64_t duplicate = 0;
  std::uint64_t reorder = 0;
  std::uint64_t corrupt = 0;
};

/// The completeness that the receiver must find for each image, from the injector's own log.
class Fates {
 public:
  virtual ~Fates() = default;
  [[nodiscard]] virtual std::uint64_t images() const noexcept = 0;
  /// Returns the completeness of image `index`; `open` while it has not been sent. Any thread.
  [[nodiscard]] virtual Completeness fate(std::uint64_t index) const noexcept = 0;
};

}  // namespace rashpa::link
