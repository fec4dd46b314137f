// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "rashpa/dataset/files/raw_file.hpp"
#include "rashpa/dataset/making.hpp"
#include "rashpa/dataset/memory_dataset.hpp"

namespace rashpa::dataset {

struct RawOptions {
  ModuleShape shape;  ///< width = height = 0: use the shape of the first file, which must then be a `.npy`
  RawFormat format = RawFormat::automatic;
  std::uint32_t header_bytes = 0;  ///< bytes before each frame of a headerless file; 112 for files of the SLS receiver
};

/// Reads `files`[module][i] into memory: the files of each module in order, each with whole frames. All modules must
/// have the same number of frames. Throws FileError with path and reason, ConfigError for an impossible request,
/// ResourceError when memory is short. Files may be untrusted: their headers and the machine's free memory bound their
/// unpacked size.
std::unique_ptr<MemoryDataset> load_raw(const std::vector<std::vector<std::string>>& files, const RawOptions& options,
                                        Making* making = nullptr);

}  // namespace rashpa::dataset
