// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Reduces an image to the list of its pixels at or above a threshold. See README.md.
#include <cstddef>
#include <cstdint>
#include <memory>

#include "rashpa/kernel/contract/step.hpp"

namespace rashpa::kernel::csr {

struct Config {
  std::int32_t threshold = 1;  ///< photons; keeps pixels at or above it, and all saturated ones, but no masked ones
  double capacity = 0.1;       ///< fraction of the image's pixels for which there is room, 0 < capacity ≤ 1
};

/// Throws ConfigError unless 0 < capacity ≤ 1.
void check(const Config& config);

/// Makes a pipeline step. Throws as check().
std::shared_ptr<const Step> step_of(const Config& config);

/// Returns the most entries of an image of `pixels` pixels, at least 1.
std::size_t capacity_of(const Config& config, std::size_t pixels) noexcept;

/// The destination of entries. The fast kernels write up to kSlack entries behind the last one, so it needs room for
/// capacity + kSlack.
struct Entries {
  std::uint32_t* index = nullptr;  ///< row · width + column, ascending
  void* value = nullptr;           ///< of the pixels' type
  std::size_t capacity = 0;
};
inline constexpr std::size_t kSlack = 64;

/// The result when the capacity does not suffice; the output is then invalid.
inline constexpr std::size_t kOverflow = static_cast<std::size_t>(-1);

/// Writes the entries of `pixels` pixels of any integer format. Returns their number, or kOverflow. The plain
/// reference.
std::size_t compact_reference(const void* image, PixelFormat format, std::size_t pixels, std::int32_t threshold,
                              const Entries& out) noexcept;

/// Writes the entries as compact_reference() does, with the machine's widest vectors. Reads all pixels.
std::size_t compact(const void* image, PixelFormat format, std::size_t pixels, std::int32_t threshold,
                    const Entries& out) noexcept;

/// Writes the entries as compact_reference() does, from marks (Tap::mark): it reads only the neighbourhood of marked
/// pixels. Marks behind the last pixel are 0.
std::size_t compact_marked(const void* image, PixelFormat format, const std::uint64_t* marks, std::size_t pixels,
                           const Entries& out) noexcept;

}  // namespace rashpa::kernel::csr
