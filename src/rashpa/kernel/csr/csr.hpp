// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Compaction of an image to the list of its pixels at or above a threshold. See README.md.
#include <cstddef>
#include <cstdint>
#include <memory>

#include "rashpa/kernel/contract/step.hpp"

namespace rashpa::kernel::csr {

struct Config {
  std::int32_t threshold = 1;  ///< photons; pixels at or above are kept, masked ones never, saturated ones always
  double capacity = 0.1;       ///< fraction of an image's pixels there is room for, 0 < capacity ≤ 1
};

/// Throws ConfigError when the capacity is not a fraction.
void check(const Config& config);

/// A step of a pipeline. Throws as check().
std::shared_ptr<const Step> step_of(const Config& config);

/// Entries that there is room for in an image of `pixels` pixels: at least 1.
std::size_t capacity_of(const Config& config, std::size_t pixels) noexcept;

/// Describes where the entries go. The fast kernels write up to kSlack entries behind the last one: give room for
/// capacity + kSlack.
struct Entries {
  std::uint32_t* index = nullptr;  ///< row · width + column, ascending
  void* value = nullptr;           ///< of the pixels' type
  std::size_t capacity = 0;
};
inline constexpr std::size_t kSlack = 64;

/// Returned when the capacity does not suffice; the output is then not to be used.
inline constexpr std::size_t kOverflow = static_cast<std::size_t>(-1);

/// Writes the entries of the `pixels` pixels, of any integer format; returns how many, or kOverflow. The plain
/// reference.
std::size_t compact_reference(const void* image, PixelFormat format, std::size_t pixels, std::int32_t threshold,
                              const Entries& out) noexcept;

/// The same with the machine's widest vectors, reading every pixel.
std::size_t compact(const void* image, PixelFormat format, std::size_t pixels, std::int32_t threshold,
                    const Entries& out) noexcept;

/// The same from marks (Tap::mark), reading only the neighbourhood of marked pixels. Marks behind the last pixel are 0.
std::size_t compact_marked(const void* image, PixelFormat format, const std::uint64_t* marks, std::size_t pixels,
                           const Entries& out) noexcept;

}  // namespace rashpa::kernel::csr
