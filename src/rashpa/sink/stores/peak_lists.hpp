// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <filesystem>
#include <span>

#include "rashpa/sink/hdf5/hdf5_io.hpp"
#include "rashpa/sink/journal/frame_rows.hpp"

namespace rashpa::sink {

/// Writes the peaks of the stored images into the master, in the form of CXI files: /entry/result_1, /entry/result_2 …,
/// one for each table with the columns x, y and intensity. Each has nPeaks [image] and peakXPosRaw, peakYPosRaw …
/// [image][most peaks], 0 behind the last peak. `stored_index` has each row's place among the stored images, or −1.
/// Throws FileError.
void write_peak_lists(hid_t entry, const std::filesystem::path& prefix, const FrameRows& rows,
                      std::span<const std::int64_t> stored_index);

}  // namespace rashpa::sink
