// SPDX-License-Identifier: Apache-2.0
#pragma once
/// CRC32C of each image, and of its parts against what their sources say. See README.md.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "rashpa/kernel/step.hpp"

namespace rashpa::kernel::checksum {

/// What becomes of an image of which a part differs from what its source says.
enum class OnMismatch : std::uint8_t {
  error,  ///< errored
  veto,   ///< vetoed with the reason "wrong_checksum"
};

struct Config {
  OnMismatch on_mismatch = OnMismatch::error;
};

/// A step of a pipeline.
std::shared_ptr<const Step> step_of(const Config& config);

struct Result {
  std::uint32_t crc32c = 0;    ///< of the image, row by row
  std::uint32_t verified = 0;  ///< parts that are what their sources say
  std::uint32_t wrong = 0;     ///< parts that are not
  std::uint32_t first = 0;     ///< the first of these
};

/// Of an image and the sums that are known of it.
Result verify(std::span<const std::byte> image, std::span<const PayloadSum> sums) noexcept;

}  // namespace rashpa::kernel::checksum
