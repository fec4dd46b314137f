// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "rashpa/core/frame/results.hpp"
#include "rashpa/core/frame/stack.hpp"
#include "rashpa/sink/hdf5/data_file.hpp"
#include "rashpa/sink/hdf5/hdf5_column.hpp"
#include "rashpa/sink/journal/frame_rows.hpp"
#include "rashpa/sink/output_files.hpp"

namespace rashpa::sink {

/// The number of rows of each table; the last number is that of images with profiles.
using TableRows = std::array<std::uint64_t, kMostTables + 1>;
inline constexpr std::size_t kProfiles = kMostTables;

/// Stores the table rows and profiles of stored images in <prefix>_tables.h5. /entry/tables/<name>/<column> has the
/// rows of all images one after another; /entry/profiles/<name>/<array> is [image][bin], beside the axes. FrameRow has
/// the number of rows of an image, and whether it has profiles. Rows reach the file in chunks. Only the thread of an
/// Hdf5Sink uses it.
class TableStore {
 public:
  /// Creates the file. `files` outlives the store. Throws FileError.
  TableStore(const Results& results, const OutputFiles& files);

  /// Appends the rows and profiles of one stored image. `crc32c` gets the checksum of all its values as stored. Returns
  /// false when they could not be kept, with the first reason in `error`; nothing can follow them then. Does not throw.
  bool put(const StackImage& image, std::uint32_t& crc32c, std::string& error);
  /// Flushes the rows to the file; returns how many images of put() have all their rows there.
  std::uint64_t flush(std::string& error);
  /// Completes the file after the last put(), flushes it to the disk and verifies it. Returns the readable rows of each
  /// table. Puts the first reason of a failure into `error`. Does not throw.
  TableRows settle(std::string& error);
  [[nodiscard]] std::uint64_t bytes_stored() const noexcept;

 private:
  void make(hid_t file);
  void make_tables(hid_t entry);
  void make_profiles(hid_t entry);
  std::uint32_t append_profiles(const StackImage& image, std::uint32_t crc);
  static std::uint32_t append(h5::Column& column, Column::Type type, const TableView& view, std::size_t at,
                              std::size_t columns, std::uint32_t crc);

  std::vector<Table> tables_;
  std::vector<Profile> profiles_;
  const OutputFiles& files_;
  std::optional<DataFile> file_;
  std::array<std::vector<h5::Column>, kMostTables + 1> columns_;  // the last: arrays of all profiles
  TableRows rows_{};
  TableRows flushed_{};
  std::vector<TableRows> ends_;  // of each image, in rows
  std::uint64_t whole_ = 0;      // images of which all rows are in the file
  bool broken_ = false;
};

/// Checks for the rows of a run, in order, whether their table rows are in the file.
class RowsOfImages {
 public:
  /// Starts the check. `there` has the readable rows of each table.
  explicit RowsOfImages(const TableRows& there) noexcept : there_(there) {}
  [[nodiscard]] bool are_there(const FrameRow& row) noexcept;

 private:
  TableRows there_;
  TableRows end_{};
};

/// Returns the path in the file of a table's column, or of a profile's array or axis.
[[nodiscard]] std::string path_of(const Table& table, const Column& column);
[[nodiscard]] std::string path_of(const Profile& profile, const std::string& what);

/// A function that returns the readable elements of a dataset, as readable() does.
using Reading = std::uint64_t (*)(const std::filesystem::path& path, const char* dataset);

/// Returns the readable rows of each table in a file of tables, and the images with profiles. A killed process may have
/// left the file.
TableRows readable_rows(const std::filesystem::path& path, const Results& results, Reading read);

/// Returns the readable rows of each table, if the run has tables; none for a file that is absent or damaged. Throws
/// RefusedError when the system refuses to open it.
TableRows readable_tables(const std::filesystem::path& path, const Results& results);

/// Writes /entry/rashpa/tables/<name> into the master, with `ptr` and links to the columns. Throws FileError.
void refer_to_tables(hid_t rashpa, const std::filesystem::path& prefix, const FrameRows& rows);

/// Writes /entry/rashpa/profiles/<name> into the master: an NXdata of the stored images' arrays with links to the axes.
/// A profile that follows a definition also gets the subentry /entry/<name>. Throws FileError.
void refer_to_profiles(hid_t entry, const std::filesystem::path& prefix, const FrameRows& rows,
                       std::span<const std::int64_t> stored_index);

}  // namespace rashpa::sink
