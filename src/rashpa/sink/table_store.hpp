// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rashpa/core/results.hpp"
#include "rashpa/core/stack.hpp"
#include "rashpa/sink/data_file.hpp"
#include "rashpa/sink/frame_rows.hpp"
#include "rashpa/sink/hdf5_column.hpp"
#include "rashpa/sink/output_files.hpp"

namespace rashpa::sink {

/// Rows of tables, by table.
using TableRows = std::array<std::uint64_t, kMostTables>;

/// Stores the rows that kernels have found in stored images: <prefix>_tables.h5 with /entry/tables/<name>/<column>,
/// those of all images one after the other; how many are an image's, FrameRow says. They reach the file in chunks. Used
/// by the thread of an Hdf5Sink only.
class TableStore {
 public:
  /// Creates the file; throws FileError. `files` outlives the store.
  TableStore(const std::vector<Table>& tables, const OutputFiles& files);

  /// Appends the rows of one image that is stored. False when they could not be kept, and why in `error` (the first
  /// reason only): nothing can follow them then. Does not throw.
  bool put(const StackImage& image, std::string& error);
  /// Brings the rows to the file; of the images that put() has taken, how many have all theirs there.
  std::uint64_t flush(std::string& error);
  /// After the last put(): completes the file, brings it to the disk and looks what is in it: rows of each table that
  /// can be read. The first reason in `error`. Does not throw.
  TableRows settle(std::string& error);
  [[nodiscard]] std::uint64_t bytes_stored() const noexcept;

 private:
  void make(hid_t file);
  void append(h5::Column& column, Column::Type type, const TableView& view, std::size_t at, std::size_t columns);

  std::vector<Table> tables_;
  const OutputFiles& files_;
  std::optional<DataFile> file_;
  std::array<std::vector<h5::Column>, kMostTables> columns_;
  TableRows rows_{};
  TableRows flushed_{};
  std::vector<TableRows> ends_;  // of each image, in rows
  std::uint64_t whole_ = 0;      // images of which all rows are in the file
  bool broken_ = false;
};

/// Asked of the rows of a run in their order, one after the other: whether what they say of tables is in the file.
class RowsOfImages {
 public:
  /// `there`: rows of each table that can be read.
  explicit RowsOfImages(const TableRows& there) noexcept : there_(there) {}
  [[nodiscard]] bool are_there(const FrameRow& row) noexcept;

 private:
  TableRows there_;
  TableRows end_{};
};

/// Rows of each table that can be read from a file of tables; it may have been left by a process that was killed.
TableRows readable_rows(const std::filesystem::path& path, const std::vector<Table>& tables);

/// In the master: /entry/rashpa/tables/<name> with `ptr` and links to the columns. Throws FileError.
void refer_to_tables(hid_t rashpa, const std::filesystem::path& prefix, const FrameRows& rows);

}  // namespace rashpa::sink
