// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "rashpa/dataset/dataset.hpp"
#include "rashpa/dataset/files/byte_stream.hpp"

namespace rashpa::dataset {

/// The storage of a file of raw frames. `automatic` decides by the name: `.npy`, `.npy.zst`, `.zst` (headerless
/// inside), any other name headerless. `zst` is zstd of a headerless or a `.npy` file, which the `.npy` magic
/// distinguishes.
enum class RawFormat : std::uint8_t { automatic, bin, zst, npy };

/// Returns the format named "auto", "bin", "zst" or "npy"; throws ConfigError for any other name.
RawFormat raw_format(std::string_view name);

/// The storage of a file, from its name and the requested format.
struct RawStorage {
  enum class Content : std::uint8_t { bin, npy, by_magic };
  Compression compression = Compression::none;
  Content content = Content::bin;
};

RawStorage raw_storage(std::string_view path, RawFormat format) noexcept;

/// The layout of the frames in a file's bytes.
struct RawPlan {
  std::uint64_t skip = 0;          ///< bytes before the first frame
  std::uint64_t header_bytes = 0;  ///< bytes before each frame
  std::uint64_t frames = 0;
};

/// Checks all bytes of a possibly untrusted file without keeping them, and returns the layout. `header_bytes` precede
/// each frame of a headerless file. `shape` is checked, or set from a `.npy` header when it is empty. At most
/// `most_bytes` of frames are accepted or unpacked. Throws FileError with path and reason, ConfigError for an
/// impossible request.
RawPlan plan_raw(ByteStream& file, RawStorage::Content content, std::uint32_t header_bytes, ModuleShape& shape,
                 std::uint64_t most_bytes);

/// Reads the frames of a reopened file, each into the memory that `place` returns. Throws FileError when the file
/// differs from the plan.
void read_raw(ByteStream& file, const RawPlan& plan,
              const std::function<std::span<std::byte>(std::uint64_t frame)>& place);

}  // namespace rashpa::dataset
