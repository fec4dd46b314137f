// SPDX-License-Identifier: Apache-2.0
#include "rashpa/sink/repair/proven.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "rashpa/core/error.hpp"
#include "rashpa/core/frame/result_types.hpp"
#include "rashpa/core/numbers/checksum.hpp"
#include "rashpa/core/system/refusal.hpp"
#include "rashpa/sink/hdf5/data_file.hpp"
#include "rashpa/sink/hdf5/hdf5_pixel.hpp"
#include "rashpa/sink/output_files.hpp"
#include "rashpa/sink/stores/accumulation_store.hpp"

namespace rashpa::sink {
namespace {

namespace fs = std::filesystem;

/// The readable part of a data file: images of a dense one, elements of a sparse one. None: it cannot be opened.
std::optional<std::uint64_t> readable_of(const fs::path& path, ImageForm form) {
  if (!is_there(path)) return std::nullopt;
  try {
    let_be_opened(path);
  } catch (const RefusedError&) {
    throw;
  } catch (const FileError&) {  // damaged
    return std::nullopt;
  }
  if (form == ImageForm::dense) return readable_unless_refused(path, "/entry/data/data");
  return std::min(readable_unless_refused(path, "/entry/data/index"),
                  readable_unless_refused(path, "/entry/data/intensity"));
}

hid_t native_of(Column::Type type) {
  return with_reader(type, [](auto read) { return h5::native<decltype(read(Scalar()))>(); });
}

/// Elements [first, first + count) of a dataset into `out`, which is grown; their number of bytes, 0 for a failure.
std::size_t read_elements(hid_t set, hid_t type, std::uint64_t first, std::uint64_t count,
                          std::vector<std::byte>& out) {
  const h5::Handle space(H5Dget_space(set), H5Sclose, "look at the data");
  std::array<hsize_t, 3> shape{}, from{first, 0, 0};
  const int rank = H5Sget_simple_extent_ndims(space.get());
  if (rank < 1 || rank > static_cast<int>(shape.size())) return 0;
  h5::check(H5Sget_simple_extent_dims(space.get(), shape.data(), nullptr), "read the shape of the data");
  if (first > shape[0] || shape[0] - first < count) return 0;
  shape[0] = count;
  std::size_t bytes = H5Tget_size(type);
  for (int axis = 0; axis < rank; ++axis) bytes *= shape[static_cast<std::size_t>(axis)];
  out.resize(std::max(out.size(), bytes));
  h5::check(H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, from.data(), nullptr, shape.data(), nullptr), "select");
  const h5::Handle memory(H5Screate_simple(rank, shape.data(), nullptr), H5Sclose, "create a data space");
  return H5Dread(set, type, memory.get(), space.get(), H5P_DEFAULT, out.data()) < 0 ? 0 : bytes;
}

}  // namespace

ProvenImages::ProvenImages(fs::path prefix, const FrameRows& rows) : prefix_(std::move(prefix)), rows_(rows) {}

void ProvenImages::open(std::uint32_t number) {
  number_ = number;
  set_.close(), values_.close(), file_.close();
  const ImageForm form = rows_.header().form;
  const fs::path path = OutputFiles::data_path(prefix_, number);
  readable_ = readable_of(path, form);
  if (readable_.value_or(0) == 0) return;
  file_ = open_afresh(path);
  set_ = h5::open_dataset(file_.get(), form == ImageForm::dense ? "/entry/data/data" : "/entry/data/index");
  if (form == ImageForm::sparse) values_ = h5::open_dataset(file_.get(), "/entry/data/intensity");
}

bool ProvenImages::has(std::size_t image) try {
  const FrameRow& row = rows_.rows()[image];
  const RawPlace& bytes = rows_.raw_place(image);
  if (row.stored.file == 0) return false;
  if (row.stored.file != number_) open(row.stored.file);
  const bool dense = rows_.header().form == ImageForm::dense;
  if (!readable_ || (dense ? std::uint64_t{row.stored.place} + 1 : row.stored.end) > *readable_) return false;
  if (bytes.length == 0 && bytes.crc32c == 0) return true;  // nobody has said it, or a list of nothing
  return dense ? is_chunk(row, bytes) : is_list(row, bytes);
} catch (const RefusedError&) {
  throw;
} catch (const FileError&) {  // damaged
  return false;
}

bool ProvenImages::is_chunk(const FrameRow& row, const RawPlace& bytes) {
  const std::array<hsize_t, 3> offset{row.stored.place, 0, 0};
  hsize_t found = 0;
  if (H5Dget_chunk_storage_size(set_.get(), offset.data(), &found) < 0 || found != bytes.length) return false;
  scratch_.resize(std::max<std::size_t>(scratch_.size(), found));
  std::uint32_t filters = 0;
  if (H5Dread_chunk(set_.get(), H5P_DEFAULT, offset.data(), &filters, scratch_.data()) < 0) return false;
  return crc32c(std::span(scratch_).first(found)) == bytes.crc32c;
}

bool ProvenImages::is_list(const FrameRow& row, const RawPlace& bytes) {
  if (bytes.length > row.stored.end) return false;
  std::uint32_t crc = 0;
  const hid_t types[] = {h5::native<std::uint32_t>(), h5::native_of(rows_.header().pixel)};
  const hid_t sets[] = {set_.get(), values_.get()};
  for (const std::size_t i : {0U, 1U}) {
    const std::size_t read = read_elements(sets[i], types[i], row.stored.end - bytes.length, bytes.length, scratch_);
    if (read == 0) return false;
    crc = crc32c(std::span(scratch_).first(read), crc);
  }
  return crc == bytes.crc32c;
}

ProvenRows::ProvenRows(const fs::path& path, const FrameRows& rows)
    : rows_(rows), there_(readable_tables(path, rows.header().results)), counted_(there_) {
  const Results& results = rows.header().results;
  if (std::all_of(there_.begin(), there_.end(), [](std::uint64_t rows_there) { return rows_there == 0; })) return;
  try {
    file_ = open_afresh(path);
    const auto add = [&](std::size_t table, const std::string& name, Column::Type type) {
      columns_[table].push_back({.set = h5::open_dataset(file_.get(), name), .type = type});
    };
    for (std::size_t t = 0; t < results.tables.size(); ++t) {
      for (const Column& column : results.tables[t].columns) add(t, path_of(results.tables[t], column), column.type);
    }
    for (const Profile& profile : results.profiles) {
      for (const Column& array : profile.arrays) add(kProfiles, path_of(profile, array.name), Column::Type::f64);
    }
  } catch (const RefusedError&) {
    throw;
  } catch (const FileError&) {  // damaged
    there_ = {};
    counted_ = RowsOfImages(there_);
  }
}

bool ProvenRows::has(std::size_t image) {
  const FrameRow& row = rows_.rows()[image];
  const bool there = counted_.are_there(row);
  bool proven = there;
  if (there && row.decision == Decision::accepted) {
    try {
      proven = are_as_written(image);
    } catch (const RefusedError&) {
      throw;
    } catch (const FileError&) {  // damaged
      proven = false;
    }
  }
  for (std::size_t t = 0; t < kMostTables; ++t) first_[t] += row.table_rows[t];
  first_[kProfiles] += row.profiles;
  return proven;
}

bool ProvenRows::are_as_written(std::size_t image) {
  const FrameRow& row = rows_.rows()[image];
  const std::uint32_t wanted = rows_.raw_place(image).rows_crc32c;
  if (wanted == 0) return true;  // there are none, or nobody has said it
  std::uint32_t crc = 0;
  for (std::size_t t = 0; t < columns_.size(); ++t) {
    const std::uint64_t count = t == kProfiles ? row.profiles : row.table_rows[t];
    if (count == 0) continue;
    for (const Dataset& column : columns_[t]) {
      const std::size_t read = read_elements(column.set.get(), native_of(column.type), first_[t], count, scratch_);
      if (read == 0) return false;
      crc = crc32c(std::span(scratch_).first(read), crc);
    }
  }
  return crc == wanted;
}

std::string prove_windows(const fs::path& path) {
  if (!is_there(path)) return {};
  try {
    let_be_opened(path);
    keep_proven_windows(path);
    return {};
  } catch (const RefusedError&) {
    throw;
  } catch (const FileError& damaged) {
    return damaged.what();
  }
}

void bring_to_disk(const fs::path& prefix, const FrameRows& rows) {
  std::set<fs::path> paths = {OutputFiles::tables_path(prefix), OutputFiles::accumulated_path(prefix)};
  for (const FrameRow& row : rows.rows()) {
    if (row.stored.file != 0) paths.insert(OutputFiles::data_path(prefix, row.stored.file, rows.header().form));
  }
  for (const fs::path& path : paths) {
    if (!is_there(path)) continue;
    if (const std::string failed = bring_file_to_disk(path); !failed.empty()) {
      throw FileError(failed + "; look at the disk, and type rashpa repair " + prefix.string());
    }
  }
}

}  // namespace rashpa::sink
