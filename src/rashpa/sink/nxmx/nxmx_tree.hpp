// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "rashpa/core/image/pixel_type.hpp"
#include "rashpa/core/image/special_value.hpp"
#include "rashpa/sink/hdf5/hdf5_io.hpp"
#include "rashpa/sink/nxmx_metadata.hpp"

namespace rashpa::sink {

/// The facts about images for NXmx besides the metadata.
struct NxmxImages {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  PixelType pixel = PixelType::u16;
  bool delivered = false;  ///< true: pixels as the detector sent them
  std::int64_t largest_count = kNoLargestCount;
  std::vector<SpecialValue> special{};
  std::optional<std::uint64_t> expected{};  ///< empty: finish_nxmx_tree() provides it
  bool lists = false;                       ///< true: lists of pixels in place of images, which is not NXmx
};

/// Writes the part of /entry that is known before the first image: all but data, tables and end time. Returns the
/// detector's group.
h5::Handle write_nxmx_tree(hid_t file, hid_t entry, const NxmxMetadata& metadata, const NxmxImages& images);

/// Writes the facts known at the end: `end_time`, the counts of detectorSpecific, and values unknown before.
void finish_nxmx_tree(hid_t entry, hid_t detector, std::uint64_t expected, std::uint64_t collected,
                      std::uint64_t written, const std::string& end_time);

}  // namespace rashpa::sink
