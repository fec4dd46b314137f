// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Frame numbers of images that are dealt among receivers. A receiver gets any frames of the slice in any order; only
/// the frame records name them.
#include <cstdint>

#include "rashpa/core/end.hpp"
#include "rashpa/core/image/region.hpp"

namespace rashpa {

/// A frame number that is not known yet.
inline constexpr std::uint64_t kUnknownFrame = ~std::uint64_t{0};

/// The slice of dealt images: the number of each frame is unknown until its record arrives.
inline constexpr Slice kToldByRecords{0, kUnknownFrame};

/// Returns the most images that one destination can receive of a slice's `images`. For dealt images the number is
/// larger, since an image that was taken back may be dealt to the same destination again.
constexpr std::uint64_t most_images(std::uint64_t images, bool dealt) noexcept { return dealt ? kMostImages : images; }

/// Returns true when the frame is one of the slice's first `images`.
constexpr bool holds(const Slice& slice, std::uint64_t frame, std::uint64_t images) noexcept {
  return frame >= slice.phase && (frame - slice.phase) % slice.every == 0 &&
         (frame - slice.phase) / slice.every < images;
}

}  // namespace rashpa
