// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

namespace rashpa {

/// The time at which the number of images that are due in a run becomes known.
enum class End : std::uint8_t {
  known,  ///< from the beginning
  told,   ///< when the sources have ended; until then an image is due once it or a later image of a DTP has come
};

/// The most images of a run with an open end, or of a destination that receives dealt images. Addresses are reserved
/// for all of them; only images that come use memory.
inline constexpr std::uint64_t kMostImages = std::uint64_t{1} << 32;

}  // namespace rashpa
