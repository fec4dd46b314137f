// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "rashpa/core/image/special_value.hpp"
#include "rashpa/sink/hdf5/hdf5_io.hpp"
#include "rashpa/sink/journal/frame_rows.hpp"

namespace rashpa::sink {

/// Writes /entry/rashpa/special_values, the detector's declared values; nothing when `special` is empty.
void write_special_values(hid_t parent, std::span<const SpecialValue> special);

/// Reads the values that write_special_values() wrote from the master; empty when there are none.
std::vector<SpecialValue> read_special_values(const std::filesystem::path& master);

/// Returns the mask bits of the first stored image of a dense run whose receiver was killed. Empty when no image can be
/// read, or no special values were declared.
std::vector<std::uint32_t> special_mask_of(const std::filesystem::path& prefix, const FrameRows& rows);

/// Adds bits to the pixel_mask of the detector's group, unless `bits` is empty. Throws FileError.
void add_to_pixel_mask(hid_t detector, std::span<const std::uint32_t> bits);

}  // namespace rashpa::sink
