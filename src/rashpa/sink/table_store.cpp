// SPDX-License-Identifier: Apache-2.0
#include "rashpa/sink/table_store.hpp"

#include <algorithm>
#include <limits>
#include <span>

#include "rashpa/core/error.hpp"
#include "rashpa/sink/scalar_reader.hpp"

namespace rashpa::sink {
namespace {

constexpr std::size_t kChunk = 1024;  // rows: few enough that a part of them is written with every stack
constexpr std::size_t kPtr = 1024;

h5::Column made(hid_t group, const Column& facts) {
  return with_reader(facts.type,
                     [&](auto read) { return h5::column<decltype(read(Scalar()))>(group, facts.name, kChunk); });
}

std::string path_of(const Table& table, const Column& column) {
  return "/entry/tables/" + table.name + "/" + column.name;
}

}  // namespace

TableStore::TableStore(const std::vector<Table>& tables, const OutputFiles& files) : tables_(tables), files_(files) {
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
  const h5::Handle all = h5::group(entry.get(), "tables", "NXcollection");
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

void TableStore::append(h5::Column& column, Column::Type type, const TableView& view, std::size_t at,
                        std::size_t columns) {
  with_reader(type, [&](auto read) {
    for (std::uint32_t row = 0; row < view.rows; ++row) {
      const auto one = read(view.values[row * columns + at]);
      column.append(&one, 1);
    }
  });
}

bool TableStore::put(const StackImage& image, std::string& error) {
  if (broken_) return false;
  try {
    for (std::size_t t = 0; t < tables_.size(); ++t) {
      const std::vector<Column>& facts = tables_[t].columns;
      for (std::size_t c = 0; c < facts.size(); ++c) {
        append(columns_[t][c], facts[c].type, image.tables[t], c, facts.size());
      }
      rows_[t] += image.tables[t].rows;
    }
    ends_.push_back(rows_);
    return true;
  } catch (const Error& failure) {
    broken_ = true;  // the columns hold part of an image
    rows_ = ends_.empty() ? TableRows{} : ends_.back();
    if (error.empty()) {
      error = std::string(failure.what()) + "; check the space in the folder of " + files_.prefix().string() +
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
    for (std::size_t t = 0; t < tables_.size(); ++t) {
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
    for (std::size_t t = 0; t < tables_.size(); ++t) {
      for (h5::Column& column : columns_[t]) {
        column.truncate(rows_[t]);
        column.flush();
      }
    }
  } catch (const Error& failure) {
    if (why.empty()) why = failure.what();
  }
  for (auto& columns : columns_) columns.clear();
  if (!file_->flush() && why.empty()) why = "hdf5: cannot complete " + path.string() + ": " + h5::last_error();
  file_->close();
  if (!gone) {
    if (const std::string failed = sync_to_disk(path); !failed.empty()) {
      why = path.string() + " cannot be brought to the disk: " + failed;
    }
  }
  const TableRows there = gone ? TableRows{} : readable_rows(path, tables_);
  const auto holds = [&](const TableRows& end) {
    for (std::size_t t = 0; t < tables_.size(); ++t) {
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
  return bytes;
}

bool RowsOfImages::are_there(const FrameRow& row) noexcept {
  bool all = true;
  for (std::size_t t = 0; t < end_.size(); ++t) {
    end_[t] += row.table_rows[t];
    all &= row.table_rows[t] == 0 || end_[t] <= there_[t];
  }
  return all;
}

TableRows readable_rows(const std::filesystem::path& path, const std::vector<Table>& tables) {
  TableRows rows{};
  for (std::size_t t = 0; t < tables.size(); ++t) {
    rows[t] = std::numeric_limits<std::uint64_t>::max();
    for (const Column& column : tables[t].columns) {
      rows[t] = std::min(rows[t], readable(path, path_of(tables[t], column).c_str()));
    }
  }
  return rows;
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
                "link " + column.name);
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

}  // namespace rashpa::sink
