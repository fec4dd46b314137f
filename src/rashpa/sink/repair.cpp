// SPDX-License-Identifier: Apache-2.0
#include "rashpa/sink/repair.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "rashpa/core/error.hpp"
#include "rashpa/sink/data_file.hpp"
#include "rashpa/sink/frame_rows.hpp"
#include "rashpa/sink/master.hpp"
#include "rashpa/sink/output_files.hpp"
#include "rashpa/sink/special_values.hpp"
#include "rashpa/sink/table_store.hpp"

namespace rashpa::sink {
namespace {

namespace fs = std::filesystem;

/// Holds the journal's lock for as long as the repair lasts.
class Lock {
 public:
  explicit Lock(const fs::path& prefix) : file_(lock_journal_of(prefix)) {}
  ~Lock() {
    if (file_ >= 0) ::close(file_);
  }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
  [[nodiscard]] int get() const noexcept { return file_; }

 private:
  int file_;
};

bool is_complete(const fs::path& master) {
  const h5::Handle file(H5Fopen(master.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose, "open " + master.string());
  const h5::Handle group(H5Gopen2(file.get(), "/entry/rashpa", H5P_DEFAULT), H5Gclose,
                         "find a run of rashpa in " + master.string());
  return H5Lexists(group.get(), "books", H5P_DEFAULT) > 0;
}

/// A file whose writer was killed says that it is still being written, and how long it was when it was made.
void let_be_opened(const fs::path& path) {
  const h5::Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, "create file properties");
  h5::check(H5Pset_file_locking(access.get(), false, true), "switch file locks off");
  if (const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.get()); file >= 0) {
    H5Fclose(file);
    return;  // it was closed
  }
  // What h5clear does.
  const bool yes = true;
  h5::check(H5Pset(access.get(), "clear_status_flags", &yes), "ask for cleared marks");
  h5::check(H5Pset(access.get(), "skip_eof_check", &yes), "ask for no check of the length");
  h5::Handle file(H5Fopen(path.c_str(), H5F_ACC_RDWR, access.get()), H5Fclose, "open " + path.string());
  h5::check(H5Fincrement_filesize(file.get(), 0), "set the length of " + path.string());
  if (!file.close()) throw FileError("hdf5: cannot complete " + path.string() + ": " + h5::last_error());
}

/// What of an image of each data file can be read: images of a dense one, elements of a sparse one.
std::uint64_t readable_of(const fs::path& path, ImageForm form) {
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored)) return 0;
  try {
    let_be_opened(path);
  } catch (const FileError&) {  // damaged: nothing of it can be read
    return 0;
  }
  if (form == ImageForm::dense) return readable(path, "/entry/data/data");
  return std::min(readable(path, "/entry/data/index"), readable(path, "/entry/data/intensity"));
}

TableRows readable_tables(const fs::path& prefix, const Results& results) {
  const fs::path path = OutputFiles::tables_path(prefix);
  std::error_code ignored;
  if ((results.tables.empty() && results.profiles.empty()) || !fs::is_regular_file(path, ignored)) return {};
  try {
    let_be_opened(path);
  } catch (const FileError&) {  // damaged
    return {};
  }
  return readable_rows(path, results);
}

/// What is not readable stays what it is: the master only links it.
void let_accumulations_be_opened(const fs::path& prefix) {
  const fs::path path = OutputFiles::accumulated_path(prefix);
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored)) return;
  try {
    let_be_opened(path);
  } catch (const FileError&) {  // damaged
  }
}

Books books_of(const FrameRows& rows) {
  Books books{.expected = rows.header().end_known() ? rows.header().images : rows.size()};
  for (const FrameRow& row : rows.rows()) {
    books.complete += row.completeness == Completeness::complete ? 1U : 0U;
    books.partial += row.completeness == Completeness::partial ? 1U : 0U;
    books.missing += row.completeness == Completeness::missing ? 1U : 0U;
    books.accepted += row.decision == Decision::accepted ? 1U : 0U;
    books.vetoed += row.decision == Decision::vetoed ? 1U : 0U;
    books.errored += row.decision == Decision::errored ? 1U : 0U;
  }
  books.written = books.accepted;
  return books;
}

}  // namespace

Repaired repair(const std::string& prefix) {
  h5::silence();
  h5::register_bitshuffle();
  const fs::path master = OutputFiles::master_path(prefix);
  if (!fs::is_regular_file(master)) {
    throw FileError("repair: there is no " + master.string() + "; give folder/name, or the master file itself");
  }
  const Lock journal(prefix);
  Repaired done;
  done.master = master.string();
  done.was_complete = is_complete(master);
  if (done.was_complete) {
    if (journal.get() >= 0) ::unlink(OutputFiles::journal_path(prefix).c_str());
    return done;
  }
  if (journal.get() < 0) {
    throw FileError("repair: " + OutputFiles::journal_path(prefix).string() +
                    " is not there, which holds the tables; the images are in the data files, which h5py opens with "
                    "swmr=True");
  }
  FrameRows rows(journal.get());
  const ImageForm form = rows.header().form;
  std::map<std::uint32_t, std::uint64_t> files;
  RowsOfImages rows_of_images(readable_tables(prefix, rows.header().results));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    FrameRow& row = rows.row(i);
    const bool rows_there = rows_of_images.are_there(row);
    if (row.decision != Decision::accepted) continue;
    const auto [found, fresh] = files.try_emplace(row.stored.file, 0);
    if (fresh) found->second = readable_of(OutputFiles::data_path(prefix, row.stored.file), form);
    const std::uint64_t needed = form == ImageForm::dense ? std::uint64_t{row.stored.place} + 1 : row.stored.end;
    const bool there = fs::exists(OutputFiles::data_path(prefix, row.stored.file)) && needed <= found->second;
    if (there && rows_there) continue;
    row.decision = Decision::errored;
    row.error = ErrorReason::storage;
    done.lost += 1;
  }
  if (rows.header().end_known())
    done.unknown = rows.header().images - std::min<std::uint64_t>(rows.size(), rows.header().images);
  done.books = books_of(rows);
  rows.fill_up();
  const std::vector<std::int64_t> places = index_stored(rows, [](const StoredPlace&) { return true; });
  rows.give_back_reserve();
  let_accumulations_be_opened(prefix);
  const std::vector<std::uint32_t> special = special_mask_of(prefix, rows);
  // Peaks that cannot be listed are still in the tables, where rashpa peaks finds them.
  static_cast<void>(complete_master(
      prefix,
      {.rows = rows, .stored_index = places, .books = done.books, .unknown = done.unknown, .special_mask = special}));
  ::unlink(OutputFiles::journal_path(prefix).c_str());
  return done;
}

}  // namespace rashpa::sink
