// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <filesystem>
#include <span>

#include "rashpa/sink/hdf5/hdf5_io.hpp"
#include "rashpa/sink/journal/frame_rows.hpp"

namespace rashpa::sink {

/// In the master, for each table with the columns x, y and intensity: /entry/result_1, /entry/result_2 …, the peaks of
/// the stored images as CXI files have them: nPeaks [image], peakXPosRaw, peakYPosRaw … [image][most peaks], 0 behind
/// the last peak. `stored_index`: of each row its place among the stored images, or −1. Throws FileError.
void write_peak_lists(hid_t entry, const std::filesystem::path& prefix, const FrameRows& rows,
                      std::span<const std::int64_t> stored_index);

}  // namespace rashpa::sink
