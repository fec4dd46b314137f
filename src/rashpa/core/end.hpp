// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

namespace rashpa {

/// Tells when the number of images that are due in a run becomes known.
enum class End : std::uint8_t {
  known,  ///< from the beginning
  told,   ///< when the sources have ended: until then an image is due when a later one of a DTP, or itself, has come
};

/// The most images of a run with an open end, or of a destination to which they are dealt: addresses are reserved
/// for all of them, memory only for those that come.
inline constexpr std::uint64_t kMostImages = std::uint64_t{1} << 32;

}  // namespace rashpa
