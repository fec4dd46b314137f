// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "rashpa/kernel/contract/join.hpp"

namespace rashpa::kernel::azimuthal {

/// The sum of profiles over the images of a window. The constructor takes all memory.
class ProfileSums {
 public:
  /// The output of conclude(): quantities, or parts, which are plain sums for units that accumulate together.
  enum class Written : std::uint8_t { quantities, parts };
  explicit ProfileSums(std::size_t bins, Written written = Written::quantities) : bins_(bins), written_(written) {}
  /// Returns the quantities in the order of conclude().
  static std::vector<Quantity> quantities();
  static std::vector<Quantity> parts();

  /// Adds the profile of an image, as finish() writes it. Images in order give the same sums for any number of threads.
  void add(const double* profile) noexcept;
  /// Adds the parts that conclude() of another object wrote.
  void add_parts(const AccumulatedArrays& parts) noexcept;
  /// Writes bins [first, last) and resets them. Different threads may write different bins at once.
  void conclude(const AccumulatedArrays& to, std::size_t first, std::size_t last) noexcept;

 private:
  struct Bin {
    double signal = 0;
    double norm = 0;
    double variance = 0;
    std::uint32_t images = 0;
  };
  std::vector<Bin> bins_;
  Written written_;
};

}  // namespace rashpa::kernel::azimuthal
