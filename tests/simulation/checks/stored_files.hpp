// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Files of HDF5 that a run has left, read by the C API alone.
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "checks/checking_sink.hpp"
#include "rashpa/dataset/dataset.hpp"

namespace rashpa::simulation {

/// What is wrong with the masters of a folder: they have another number of images than were written, or a complete
/// image is not as its source had it. Where the disk has failed, they are repaired before, and may have fewer.
std::vector<std::string> files_wrong(const std::filesystem::path& folder, const dataset::Dataset& dataset,
                                     const std::vector<Part>& parts, std::uint64_t written, bool disk_failed);
/// What `rashpa repair` says, in a process of its own: the library of HDF5 of this one may have the files in hand.
/// `done`: whether it was done.
std::string repaired(const std::string& prefix, bool& done);

}  // namespace rashpa::simulation
