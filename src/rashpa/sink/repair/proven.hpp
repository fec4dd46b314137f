// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Images and rows of tables, read again and compared with the sums that the journal has of them: after a loss of
/// power a file may hold other bytes than were written to it.
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

/// The images in HDF5 data files. A journal of an earlier version has no sums: its images are taken as they are.
class ProvenImages {
 public:
  /// `rows` outlives this object; it may come from anywhere, as the files may.
  ProvenImages(std::filesystem::path prefix, const FrameRows& rows);
  /// Returns true when the data file has the image of row `image`, as it was written. Throws RefusedError when the
  /// system does not let the file be opened.
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

/// The rows of tables and the profiles of images, asked of one image after the other.
class ProvenRows {
 public:
  /// `path`: the file of tables, which may not be there. Throws RefusedError as ProvenImages does.
  ProvenRows(const std::filesystem::path& path, const FrameRows& rows);
  /// Returns true when the file has the rows of image `image`, as they were written. To be asked of all images in their
  /// order.
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

/// Leaves out of the file of accumulations, where there is one, the windows that are not as they were written. Returns
/// why it cannot be read; it stays as it is then. Throws RefusedError as ProvenImages does.
[[nodiscard]] std::string prove_windows(const std::filesystem::path& path);

/// Brings all files that `rows` tell of to the disk, and those of tables and accumulations: their writer may have been
/// killed before, and without their journal nothing tells of bytes that a loss of power takes. Throws FileError.
void bring_to_disk(const std::filesystem::path& prefix, const FrameRows& rows);

}  // namespace rashpa::sink
