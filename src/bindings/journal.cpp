// SPDX-License-Identifier: Apache-2.0
/// The journal of a run that is being written, row by row.
#include <fcntl.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bindings/arrays.hpp"
#include "bindings/bindings.hpp"
#include "bindings/names.hpp"
#include "rashpa/core/error.hpp"
#include "rashpa/core/system/writer_lock.hpp"
#include "rashpa/sink/journal/journal_reader.hpp"

namespace rashpa::bindings {

namespace nb = nanobind;
using namespace nb::literals;
using sink::JournalReader;

namespace {

class OpenFile {
 public:
  explicit OpenFile(const std::string& path) : file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (file_ < 0)
      throw FileError(path + ": the journal cannot be read: " + errno_text(errno) +
                      "; give the .journal file of a run");
  }
  ~OpenFile() { ::close(file_); }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  [[nodiscard]] int get() const noexcept { return file_; }

 private:
  int file_;
};

/// A journal and its file, which stays readable when its run is complete and its name is gone.
class Journal {
 public:
  explicit Journal(const std::string& path) : file_(path), reader_(file_.get()) {}
  /// Returns true while the writer of the run holds the lock.
  [[nodiscard]] bool being_written() const noexcept { return !lacks_writer(file_.get()); }
  [[nodiscard]] const sink::JournalHeader& header() const noexcept { return reader_.header(); }
  [[nodiscard]] const JournalReader::Record* next() { return reader_.next(); }

 private:
  OpenFile file_;
  JournalReader reader_;
};

std::vector<std::string> columns_of(const Journal& journal) {
  std::vector<std::string> names;
  for (const Column& column : journal.header().results.columns) names.push_back(column.name);
  return names;
}

std::optional<nb::dict> next_of(Journal& journal) {
  const JournalReader::Record* record = journal.next();
  if (record == nullptr) return std::nullopt;
  const sink::FrameRow& row = record->row;
  nb::dict out;
  out["index"] = row.index;
  out["frame"] = row.frame_number;
  out["timestamp_ns"] = row.timestamp_ns;
  out["flags"] = row.flags;
  out["file"] = row.stored.file;
  out["place"] = row.stored.place;
  out["end"] = row.stored.end;
  out["offset"] = record->raw.offset;
  out["length"] = record->raw.length;
  out["crc32c"] = record->raw.crc32c;
  out["completeness"] = static_cast<unsigned>(row.completeness);
  out["decision"] = static_cast<unsigned>(row.decision);
  nb::list numbers, lost;
  const std::vector<Column>& columns = journal.header().results.columns;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    with_reader(columns[c].type, [&](auto read) { numbers.append(read(record->scalars[c])); });
  }
  for (const LostRun& run : record->lost) lost.append(nb::make_tuple(run.dtp, run.first_line, run.lines));
  out["numbers"] = numbers;
  out["lost"] = lost;
  return out;
}

}  // namespace

void bind_journal(nb::module_& m) {
  nb::class_<Journal>(m, "Journal")
      .def(nb::init<const std::string&>(), "path"_a)
      .def_prop_ro("being_written", &Journal::being_written)
      .def_prop_ro("width", [](const Journal& journal) { return journal.header().width; })
      .def_prop_ro("height", [](const Journal& journal) { return journal.header().height; })
      .def_prop_ro("form",
                   [](const Journal& journal) {
                     constexpr std::array<const char*, 3> names{"dense", "sparse", "raw"};
                     return names.at(static_cast<std::size_t>(journal.header().form));
                   })
      .def_prop_ro("pixel", [](const Journal& journal) { return kPixels.name(journal.header().pixel); })
      .def_prop_ro("images",
                   [](const Journal& journal) {
                     const sink::JournalHeader& header = journal.header();
                     return header.end_known() ? std::optional(header.images) : std::nullopt;
                   })
      .def_prop_ro("columns", &columns_of)
      .def("next", &next_of);
}

}  // namespace rashpa::bindings
