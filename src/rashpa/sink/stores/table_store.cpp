// SPDX-License-Identifier: Apache-2.0
#include "rashpa/sink/stores/table_store.hpp"

#include <algorithm>
#include <limits>
#include <span>

#include "rashpa/core/error.hpp"
#include "rashpa/core/frame/result_types.hpp"
#include "rashpa/core/numbers/checksum.hpp"
#include "rashpa/core/system/refusal.hpp"

namespace rashpa::sink {
namespace {

constexpr std::size_t kChunkRows = 1024;  // rows: few enough that a part of them is written with every stack
constexpr std::size_t kPtr = 1024;

h5::Column made(hid_t group, const Column& facts) {
  return with_reader(facts.type,
                     [&](auto read) { return h5::column<decltype(read(Scalar()))>(group, facts.name, kChunkRows); });
}

/// Images in a chunk: few enough that a part of them is written with every stack.
std::size_t chunk_of(const Profile& profile) {
  constexpr std::size_t kBytes = 131072;
  return std::clamp<std::size_t>(kBytes / (profile.bins() * sizeof(double)), 1, 256);
}

void describe(hid_t object, const std::string& unit, const std::string& doc) {
  if (!doc.empty()) h5::text_attribute(object, "long_name", doc);
  if (!unit.empty()) h5::text_attribute(object, "units", unit);
}

}  // namespace

std::string path_of(const Table& table, const Column& column) {
  return "/entry/tables/" + table.name + "/" + column.name;
}
std::string path_of(const Profile& profile, const std::string& what) {
  return "/entry/profiles/" + profile.name + "/" + what;
}

TableStore::TableStore(const Results& results, const OutputFiles& files)
    : tables_(results.tables), profiles_(results.profiles), files_(files) {
  const std::filesystem::path path = files.tables();
  file_.emplace(path);
  try {
    make(file_->get());
    file_->follow();
  } catch (const Error&) {
    for (auto& columns : columns_) columns.clear();
    file_->discard(path);
    throw;
  }
}

void TableStore::make(hid_t file) {
  const h5::Handle entry = h5::group(file, "entry", "NXentry");
  make_tables(entry.get());
  if (!profiles_.empty()) make_profiles(entry.get());
}

void TableStore::make_profiles(hid_t entry) {
  const h5::Handle all = h5::group(entry, "profiles", "NXcollection");
  for (const Profile& profile : profiles_) {
    const h5::Handle group = h5::group(all.get(), profile.name, "NXcollection");
    std::vector<hsize_t> inner;
    for (const Axis& axis : profile.axes) {
      inner.push_back(axis.values.size());
      const h5::Handle set = h5::array<double>(group.get(), axis.name, axis.values);
      describe(set.get(), axis.unit, axis.doc);
    }
    for (const Column& array : profile.arrays) {
      h5::Column column(group.get(), array.name, h5::native<double>(), sizeof(double), chunk_of(profile),
                        h5::Storage::plain, inner);
      describe(column.dataset(), array.unit, array.doc);
      columns_[kProfiles].push_back(std::move(column));
    }
  }
}

void TableStore::make_tables(hid_t entry) {
  const h5::Handle all = h5::group(entry, "tables", "NXcollection");
  for (std::size_t t = 0; t < tables_.size(); ++t) {
    const h5::Handle group = h5::group(all.get(), tables_[t].name, "NXcollection");
    for (const Column& facts : tables_[t].columns) {
      h5::Column column = made(group.get(), facts);
      if (!facts.doc.empty()) h5::text_attribute(column.dataset(), "description", facts.doc);
      if (!facts.unit.empty()) h5::text_attribute(column.dataset(), "units", facts.unit);
      columns_[t].push_back(std::move(column));
    }
  }
}

std::uint32_t TableStore::append(h5::Column& column, Column::Type type, const TableView& view, std::size_t at,
                                 std::size_t columns, std::uint32_t crc) {
  with_reader(type, [&](auto read) {
    for (std::uint32_t row = 0; row < view.rows; ++row) {
      const auto one = read(view.values[row * columns + at]);
      column.append(&one, 1);
      crc = crc32c(std::as_bytes(std::span(&one, 1)), crc);
    }
  });
  return crc;
}

std::uint32_t TableStore::append_profiles(const StackImage& image, std::uint32_t crc) {
  std::size_t at = 0;
  for (std::size_t p = 0; p < profiles_.size(); ++p) {
    const std::size_t bins = profiles_[p].bins();
    for (std::size_t a = 0; a < profiles_[p].arrays.size(); ++a) {
      const std::span values(image.profiles[p].values + a * bins, bins);
      columns_[kProfiles][at++].append(values.data(), 1);
      crc = crc32c(std::as_bytes(values), crc);
    }
  }
  if (!profiles_.empty()) rows_[kProfiles] += 1;
  return crc;
}

bool TableStore::put(const StackImage& image, std::uint32_t& crc32c, std::string& error) {
  if (broken_) return false;
  std::uint32_t crc = 0;
  try {
    for (std::size_t t = 0; t < tables_.size(); ++t) {
      const std::vector<Column>& facts = tables_[t].columns;
      for (std::size_t c = 0; c < facts.size(); ++c) {
        crc = append(columns_[t][c], facts[c].type, image.tables[t], c, facts.size(), crc);
      }
      rows_[t] += image.tables[t].rows;
    }
    crc32c = append_profiles(image, crc);
    ends_.push_back(rows_);
    return true;
  } catch (const Error& failure) {
    broken_ = true;  // the columns hold part of an image
    rows_ = ends_.empty() ? TableRows{} : ends_.back();
    if (error.empty()) {
      error = files_.prefix().string() + ": " + failure.what() +
              ". Images share the chunks of tables: no further one is stored";
    }
    return false;
  }
}

std::uint64_t TableStore::flush(std::string& error) {
  if (!file_->is_at(files_.tables())) {
    if (!broken_ && error.empty()) error = says_gone(files_.tables());
    broken_ = true;
    return whole_ = 0;
  }
  if (broken_ || whole_ == ends_.size()) return whole_;
  try {
    for (std::size_t t = 0; t < columns_.size(); ++t) {
      if (rows_[t] == flushed_[t]) continue;
      for (h5::Column& column : columns_[t]) {
        column.flush();
        h5::check(H5Dflush(column.dataset()), "flush the tables");
      }
      flushed_[t] = rows_[t];
    }
    whole_ = ends_.size();
  } catch (const Error& failure) {  // tried again with the next stack, and at the end
    if (error.empty()) error = failure.what();
  }
  return whole_;
}

TableRows TableStore::settle(std::string& error) {
  const std::filesystem::path path = files_.tables();
  std::string why;
  if (!file_->is_at(path)) why = says_gone(path);
  const bool gone = !why.empty();
  try {
    for (std::size_t t = 0; t < columns_.size(); ++t) {
      for (h5::Column& column : columns_[t]) {
        column.truncate(rows_[t]);
        column.flush();
      }
    }
  } catch (const Error& failure) {
    if (why.empty()) why = failure.what();
  }
  for (auto& columns : columns_) columns.clear();
  if (!file_->flush() && why.empty()) why = h5::failure("complete ", path.native());
  file_->close();
  const std::string failed = gone ? std::string() : complete_on_disk(path);
  if (!failed.empty()) why = failed;
  // Rows in memory may be lost with the power: after a sync that failed, none counts.
  Results stored;
  stored.tables = tables_;
  stored.profiles = profiles_;
  const TableRows there = !gone && failed.empty() ? readable_rows(path, stored, readable) : TableRows{};
  const auto holds = [&](const TableRows& end) {
    for (std::size_t t = 0; t < end.size(); ++t) {
      if (end[t] > there[t]) return false;
    }
    return true;
  };
  whole_ = 0;
  while (whole_ < ends_.size() && holds(ends_[whole_])) ++whole_;
  if (whole_ < ends_.size() && why.empty()) why = path.string() + " does not hold all that was written to it";
  if (error.empty()) error = why;
  return there;
}

std::uint64_t TableStore::bytes_stored() const noexcept {
  std::uint64_t bytes = 0;
  for (std::size_t t = 0; t < tables_.size(); ++t) {
    for (const Column& column : tables_[t].columns) {
      bytes += rows_[t] * with_reader(column.type, [](auto read) { return sizeof(read(Scalar())); });
    }
  }
  for (const h5::Column& column : columns_[kProfiles]) bytes += column.bytes_stored();
  return bytes;
}

bool RowsOfImages::are_there(const FrameRow& row) noexcept {
  bool all = true;
  const auto count = [&](std::size_t t, std::uint32_t rows) {
    end_[t] += rows;
    all &= rows == 0 || end_[t] <= there_[t];
  };
  for (std::size_t t = 0; t < kMostTables; ++t) count(t, row.table_rows[t]);
  count(kProfiles, row.profiles);
  return all;
}

TableRows readable_rows(const std::filesystem::path& path, const Results& results, Reading read) {
  const std::vector<Table>& tables = results.tables;
  TableRows rows{};
  for (std::size_t t = 0; t < tables.size(); ++t) {
    rows[t] = std::numeric_limits<std::uint64_t>::max();
    for (const Column& column : tables[t].columns) {
      rows[t] = std::min(rows[t], read(path, path_of(tables[t], column).c_str()));
    }
  }
  if (!results.profiles.empty()) rows[kProfiles] = std::numeric_limits<std::uint64_t>::max();
  for (const Profile& profile : results.profiles) {
    for (const Column& array : profile.arrays) {
      rows[kProfiles] = std::min(rows[kProfiles], read(path, path_of(profile, array.name).c_str()));
    }
  }
  return rows;
}

TableRows readable_tables(const std::filesystem::path& path, const Results& results) {
  if ((results.tables.empty() && results.profiles.empty()) || !is_there(path)) return {};
  try {
    let_be_opened(path);
  } catch (const RefusedError&) {
    throw;
  } catch (const FileError&) {  // damaged
    return {};
  }
  return readable_rows(path, results, readable_unless_refused);
}

void refer_to_tables(hid_t rashpa, const std::filesystem::path& prefix, const FrameRows& rows) {
  const std::vector<Table>& tables = rows.header().results.tables;
  if (tables.empty()) return;
  const h5::Handle all = h5::group(rashpa, "tables", "NXcollection");
  h5::text_attribute(
      all.get(), "description",
      "Rows that kernels have found, CSR by image of the run: rows ptr[i] to ptr[i+1] are those of image i");
  const std::string file = OutputFiles::tables_path(prefix).filename().string();
  for (std::size_t t = 0; t < tables.size(); ++t) {
    const h5::Handle group = h5::group(all.get(), tables[t].name, "NXcollection");
    std::vector<std::string> names;
    for (const Column& column : tables[t].columns) {
      names.push_back(column.name);
      h5::check(H5Lcreate_external(file.c_str(), path_of(tables[t], column).c_str(), group.get(), column.name.c_str(),
                                   H5P_DEFAULT, H5P_DEFAULT),
                "link ", column.name);
    }
    h5::texts_attribute(group.get(), "columns", names);
    h5::attribute<std::uint32_t>(group.get(), "capacity", {&tables[t].capacity, 1});
    h5::Column ptr = h5::column<std::uint64_t>(group.get(), "ptr", kPtr);
    std::uint64_t end = 0;
    ptr.append(&end, 1);
    for (const FrameRow& row : rows.rows()) {
      end += row.table_rows[t];
      ptr.append(&end, 1);
    }
    ptr.flush();
  }
}

namespace {

/// Stored images whose profiles lie one after the other.
struct Run {
  hsize_t first = 0, count = 0;
};

std::vector<Run> runs_of(const FrameRows& rows, std::span<const std::int64_t> stored_index) {
  std::vector<Run> runs;
  hsize_t at = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (stored_index[i] >= 0 && rows.rows()[i].profiles != 0) {
      if (runs.empty() || runs.back().first + runs.back().count != at) runs.push_back({.first = at});
      runs.back().count += 1;
    }
    at += rows.rows()[i].profiles;
  }
  return runs;
}

/// All stored images' values of one array as one dataset.
void refer_to_array(hid_t group, const std::string& file, const Profile& profile, const Column& array,
                    const std::vector<Run>& runs) {
  std::vector<hsize_t> shape{0};
  for (const Axis& axis : profile.axes) shape.push_back(axis.values.size());
  for (const Run& run : runs) shape[0] += run.count;
  const int rank = static_cast<int>(shape.size());
  const h5::Handle space(H5Screate_simple(rank, shape.data(), nullptr), H5Sclose, "create a data space");
  const h5::Handle properties(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, "create dataset properties");
  const double fill = std::numeric_limits<double>::quiet_NaN();
  h5::check(H5Pset_fill_value(properties.get(), h5::native<double>(), &fill), "set the fill value");
  const std::string path = path_of(profile, array.name);
  std::vector<hsize_t> start(shape.size()), from(shape.size()), count = shape, whole = shape;
  for (const Run& run : runs) {
    from[0] = run.first;
    count[0] = run.count;
    whole[0] = run.first + run.count;
    const h5::Handle source(H5Screate_simple(rank, whole.data(), nullptr), H5Sclose, "create a data space");
    h5::check(H5Sselect_hyperslab(source.get(), H5S_SELECT_SET, from.data(), nullptr, count.data(), nullptr), "select");
    h5::check(H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr), "select");
    h5::check(H5Pset_virtual(properties.get(), space.get(), file.c_str(), path.c_str(), source.get()), "map profiles");
    start[0] += run.count;
  }
  h5::check(H5Sselect_all(space.get()), "select all profiles");
  const h5::Handle set(H5Dcreate2(group, array.name.c_str(), h5::native<double>(), space.get(), H5P_DEFAULT,
                                  properties.get(), H5P_DEFAULT),
                       H5Dclose, "create the virtual dataset");
  describe(set.get(), array.unit, array.doc);
}

void refer_to_profile(hid_t group, const std::string& file, const Profile& profile, const std::vector<Run>& runs) {
  std::vector<std::string> arrays, axes{"frame_number"};
  for (const Column& array : profile.arrays) {
    arrays.push_back(array.name);
    refer_to_array(group, file, profile, array, runs);
  }
  for (const Axis& axis : profile.axes) {
    axes.push_back(axis.name);
    h5::check(H5Lcreate_external(file.c_str(), path_of(profile, axis.name).c_str(), group, axis.name.c_str(),
                                 H5P_DEFAULT, H5P_DEFAULT),
              "link ", axis.name);
  }
  h5::check(H5Lcreate_soft("/entry/data/frame_number", group, "frame_number", H5P_DEFAULT, H5P_DEFAULT),
            "link frame_number");
  h5::text_attribute(group, "signal", arrays.front());
  h5::texts_attribute(group, "axes", axes);
  h5::texts_attribute(group, "arrays", arrays);
}

/// The subentry that programs look for which know the definition.
void make_subentry(hid_t entry, const Profile& profile) {
  const h5::Handle sub = h5::group(entry, profile.name, "NXsubentry");
  h5::text(sub.get(), "definition", profile.definition);
  h5::text_attribute(sub.get(), "default", "data");
  const auto link = [&](const std::string& from, const char* name) {
    const h5::Handle there = h5::open_object(entry, from);
    if (H5Aexists(there.get(), "target") == 0) h5::text_attribute(there.get(), "target", from);
    h5::check(H5Lcreate_soft(from.c_str(), sub.get(), name, H5P_DEFAULT, H5P_DEFAULT), "link ", name);
  };
  link("/entry/rashpa/profiles/" + profile.name, "data");
  link("/entry/instrument", "instrument");
}

}  // namespace

void refer_to_profiles(hid_t entry, const std::filesystem::path& prefix, const FrameRows& rows,
                       std::span<const std::int64_t> stored_index) {
  const std::vector<Profile>& profiles = rows.header().results.profiles;
  if (profiles.empty()) return;
  const std::vector<Run> runs = runs_of(rows, stored_index);
  const std::string file = OutputFiles::tables_path(prefix).filename().string();
  const h5::Handle all = h5::group(entry, "rashpa/profiles", "NXcollection");
  for (const Profile& profile : profiles) {
    const h5::Handle group = h5::group(all.get(), profile.name, "NXdata");
    refer_to_profile(group.get(), file, profile, runs);
    if (!profile.definition.empty()) make_subentry(entry, profile);
  }
}

}  // namespace rashpa::sink
