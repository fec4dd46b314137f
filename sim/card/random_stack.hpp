// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "unit_model.hpp"

namespace rashpa::sim {

/// A stack of images of random words with random calibration, in the memory of a simulated processing unit of its own,
/// without a directory. One thread.
class RandomStack {
 public:
  /// Memory answers after `latency` cycles. `lists`: of pixels from so many photons on; 0: none.
  RandomStack(std::uint64_t pixels, std::uint32_t images, std::uint32_t latency, std::uint32_t seed,
              std::int16_t lists = 0);
  /// Cycles that the unit says it has worked. Once; throws StateError when it does not come to the end.
  std::uint64_t process();
  /// Whether no image has fewer masked pixels than words that say so: others are masked by what calibration they have.
  /// And whether lists have as many pixels as are bright, where there are lists: the thresholds are the same.
  [[nodiscard]] bool right() const;
  /// Of all pixels, those that are in lists.
  [[nodiscard]] double listed() const;

 private:
  std::uint32_t read(std::uint32_t address);

  std::uint32_t images_;
  std::uint64_t pixels_;
  std::uint32_t blocks_;
  std::int16_t lists_;
  std::uint32_t list_pages_;
  std::vector<std::byte> memory_;
  UnitModel unit_;
  std::vector<std::uint64_t> masked_;  // by image
  std::size_t results_ = 0;
};

/// Seconds of a processor that this thread has taken.
double processor_seconds();

}  // namespace rashpa::sim
