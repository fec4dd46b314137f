// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Packet faults that a sender is asked to make, and its log of them. Each link says whether it can.
#include <cstdint>

#include "rashpa/core/books/books.hpp"

namespace rashpa::link {

/// Probabilities per packet; a packet suffers at most one fault, so their sum must not exceed 1.
struct FaultConfig {
  std::uint64_t seed = 0;  ///< the same seed and DTP id give the same faults
  double drop = 0;         ///< never sent
  double duplicate = 0;    ///< sent twice, one right after the other
  double reorder = 0;      ///< sent after 1 … 4 later packets of the DTP, never past the next event
  double corrupt = 0;      ///< one bit flipped after the ICRC was made: where an ICRC check modulo id must find it, or
                           ///< with `icrc = "off"` in lines or record, where their CRC32C must
};

/// The number of injected faults of each kind.
struct FaultCounts {
  std::uint64_t drop = 0;
  std::uint64_t duplicate = 0;
  std::uint64_t reorder = 0;
  std::uint64_t corrupt = 0;
};

/// The fate that the receiver must find for each image, by the injector's own log.
class Fates {
 public:
  virtual ~Fates() = default;
  [[nodiscard]] virtual std::uint64_t images() const noexcept = 0;
  /// Any thread. `open` while the image has not been sent.
  [[nodiscard]] virtual Completeness fate(std::uint64_t index) const noexcept = 0;
};

}  // namespace rashpa::link
