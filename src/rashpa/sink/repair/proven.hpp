// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Checks of images and table rows: they are read again and compared with the checksums in the journal, since after a
/// loss of power a file may have other bytes than were written.
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "rashpa/sink/hdf5/hdf5_io.hpp"
#include "rashpa/sink/journal/frame_rows.hpp"
#include "rashpa/sink/stores/table_store.hpp"

namespace rashpa::sink {

/// Checks images in HDF5 data files. A journal of an earlier version has no checksums, so its images are accepted
/// unchecked.
class ProvenImages {
 public:
  /// Opens the images. `rows`, which may be untrusted like the files, outlives this object.
  ProvenImages(std::filesystem::path prefix, const FrameRows& rows);
  /// Returns true when the data file has the image of row `image` as it was written. Throws RefusedError when the
  /// system refuses to open the file.
  [[nodiscard]] bool has(std::size_t image);

 private:
  void open(std::uint32_t number);
  [[nodiscard]] bool is_chunk(const FrameRow& row, const RawPlace& bytes);
  [[nodiscard]] bool is_list(const FrameRow& row, const RawPlace& bytes);

  std::filesystem::path prefix_;
  const FrameRows& rows_;
  std::uint32_t number_ = 0;                 // of the file that is open; 0: none was
  std::optional<std::uint64_t> readable_{};  // images in it, or elements; none: it cannot be opened
  h5::Handle file_, set_, values_;
  std::vector<std::byte> scratch_;
};

/// Checks the table rows and profiles of images, one image after another.
class ProvenRows {
 public:
  /// Opens the file of tables at `path`, which may be absent. Throws RefusedError as ProvenImages does.
  ProvenRows(const std::filesystem::path& path, const FrameRows& rows);
  /// Returns true when the file has the rows of image `image` as they were written. Call it for all images in order.
  [[nodiscard]] bool has(std::size_t image);

 private:
  struct Dataset {
    h5::Handle set;
    Column::Type type = Column::Type::f64;
  };
  [[nodiscard]] bool are_as_written(std::size_t image);

  const FrameRows& rows_;
  TableRows there_;
  RowsOfImages counted_;
  TableRows first_{};  // rows of the images before
  h5::Handle file_;
  std::array<std::vector<Dataset>, kMostTables + 1> columns_;
  std::vector<std::byte> scratch_;
};

/// Removes windows that are not as written from the file of accumulations, if there is one. Returns the reason when it
/// cannot be read, and then leaves it unchanged. Throws RefusedError as ProvenImages does.
[[nodiscard]] std::string prove_windows(const std::filesystem::path& path);

/// Flushes all files of `rows`, and those of tables and accumulations. Their writer may have been killed before it did,
/// and without the journal nothing would reveal bytes lost with the power. Throws FileError.
void bring_to_disk(const std::filesystem::path& prefix, const FrameRows& rows);

}  // namespace rashpa::sink
