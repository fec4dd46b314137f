// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <vector>

#include "rashpa/sink/journal/frame_rows.hpp"
#include "rashpa/sink/raw/raw_file.hpp"

namespace rashpa::sink {

/// The stored images of a raw run, read in their order.
class RawImages {
 public:
  /// Opens the images. `rows`, which may be untrusted like the files, outlives this object.
  RawImages(std::filesystem::path prefix, const FrameRows& rows);
  /// Reads the image of row `image` into `out`. Returns false when the file does not have it as it was written.
  [[nodiscard]] bool read(std::size_t image, std::span<std::byte> out);
  /// Returns true when the image of row `image` is in its file as it was written.
  [[nodiscard]] bool read(std::size_t image);

 private:
  std::filesystem::path prefix_;
  const FrameRows& rows_;
  std::uint32_t number_ = 0;
  std::optional<RawFile> file_;
  std::vector<std::byte> scratch_;
};

}  // namespace rashpa::sink
