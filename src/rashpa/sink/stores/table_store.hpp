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

/// Rows of tables, by table; the last number: images with their profiles.
using TableRows = std::array<std::uint64_t, kMostTables + 1>;
inline constexpr std::size_t kProfiles = kMostTables;

/// Stores the rows and profiles that kernels have found in stored images: <prefix>_tables.h5 with
/// /entry/tables/<name>/<column>, the rows of all images one after the other, and /entry/profiles/<name>/<array>
/// [image][bin] beside the axes; how many rows are an image's, and whether it has profiles, FrameRow says. They reach
/// the file in chunks. Used by the thread of an Hdf5Sink only.
class TableStore {
 public:
  /// Creates the file; throws FileError. `files` outlives the store.
  TableStore(const Results& results, const OutputFiles& files);

  /// Appends the rows and profiles of one image that is stored. False when they could not be kept, and why in `error`
  /// (the first reason only): nothing can follow them then. `crc32c`: of all its values, as they are stored. Does not
  /// throw.
  bool put(const StackImage& image, std::uint32_t& crc32c, std::string& error);
  /// Brings the rows to the file; of the images that put() has taken, how many have all theirs there.
  std::uint64_t flush(std::string& error);
  /// Completes the file after the last put(), brings it to the disk and looks what is in it. Returns the rows of each
  /// table that can be read. Puts the first reason into `error`. Does not throw.
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

/// Where a column of a table, and an array of a profile, lie in the file.
[[nodiscard]] std::string path_of(const Table& table, const Column& column);
[[nodiscard]] std::string path_of(const Profile& profile, const std::string& what);

/// The elements of a dataset that can be read, as readable() says.
using Reading = std::uint64_t (*)(const std::filesystem::path& path, const char* dataset);

/// Rows of each table that can be read from a file of tables, and images with profiles; it may have been left by a
/// process that was killed.
TableRows readable_rows(const std::filesystem::path& path, const Results& results, Reading read);

/// Returns the rows of each table that can be read, where the run has tables; none of a file that is not there, or
/// damaged. Throws RefusedError when the system does not let it be opened.
TableRows readable_tables(const std::filesystem::path& path, const Results& results);

/// Writes into the master /entry/rashpa/tables/<name> with `ptr` and links to the columns. Throws FileError.
void refer_to_tables(hid_t rashpa, const std::filesystem::path& prefix, const FrameRows& rows);

/// Writes into the master /entry/rashpa/profiles/<name>, an NXdata of the stored images' arrays with links to the axes.
/// Where the profile follows a definition, it writes the subentry /entry/<name>, too. Throws FileError.
void refer_to_profiles(hid_t entry, const std::filesystem::path& prefix, const FrameRows& rows,
                       std::span<const std::int64_t> stored_index);

}  // namespace rashpa::sink
