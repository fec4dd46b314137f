// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Frames of images that are dealt among receivers: any of a slice's, in any order; only their records name the frame.
#include <cstdint>

#include "rashpa/core/end.hpp"
#include "rashpa/core/image/region.hpp"

namespace rashpa {

/// The number of a frame that is not known yet.
inline constexpr std::uint64_t kUnknownFrame = ~std::uint64_t{0};

/// Stands for the slice of images that are dealt: the frame of each is unknown until its record names it.
inline constexpr Slice kToldByRecords{0, kUnknownFrame};

/// The most images that one destination is brought of a slice's `images`. Where they are dealt it is not their number:
/// one that was taken back may be dealt to the same destination any number of times.
constexpr std::uint64_t most_images(std::uint64_t images, bool dealt) noexcept { return dealt ? kMostImages : images; }

/// Returns true when the frame is one of the slice's first `images`.
constexpr bool holds(const Slice& slice, std::uint64_t frame, std::uint64_t images) noexcept {
  return frame >= slice.phase && (frame - slice.phase) % slice.every == 0 &&
         (frame - slice.phase) / slice.every < images;
}

}  // namespace rashpa
