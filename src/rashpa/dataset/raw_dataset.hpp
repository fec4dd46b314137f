#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "rashpa/dataset/memory_dataset.hpp"

namespace rashpa::dataset {

/// How a file of raw frames is stored. automatic: by its name, `.npy`, `.npy.zst`, `.zst` (headerless inside), anything
/// else headerless. zst: zstd of a headerless or a `.npy` file, told apart by the `.npy` magic.
enum class RawFormat : std::uint8_t { automatic, bin, zst, npy };

/// "auto", "bin", "zst" or "npy"; throws ConfigError for any other name.
RawFormat raw_format(std::string_view name);

struct RawOptions {
  ModuleShape shape;  ///< width = height = 0: taken from the first file, which must then be a `.npy`
  RawFormat format = RawFormat::automatic;
  std::uint32_t header_bytes = 0;  ///< before every frame of a headerless file; 112 for the SLS receiver's files
};

/// Reads `files`[module][i], the files of a module one after the other, whole frames each, into memory. All modules
/// must have equally many frames. Throws FileError with path and reason, ConfigError for an impossible request,
/// ResourceError when memory is short.
std::unique_ptr<MemoryDataset> load_raw(const std::vector<std::vector<std::string>>& files, const RawOptions& options);

}  // namespace rashpa::dataset
