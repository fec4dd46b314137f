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
  ModuleShape shape;  ///< width = height = 0: taken from the first file, which must then be a `.npy`
  RawFormat format = RawFormat::automatic;
  std::uint32_t header_bytes = 0;  ///< before every frame of a headerless file; 112 for the SLS receiver's files
};

/// Reads `files`[module][i], the files of a module one after the other, whole frames each, into memory. All modules
/// must have equally many frames. Throws FileError with path and reason, ConfigError for an impossible request,
/// ResourceError when memory is short. The files may come from anywhere: their own headers, and the machine's free
/// memory, bound their unpacked size.
std::unique_ptr<MemoryDataset> load_raw(const std::vector<std::vector<std::string>>& files, const RawOptions& options,
                                        Making* making = nullptr);

}  // namespace rashpa::dataset
