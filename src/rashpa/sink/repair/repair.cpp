// SPDX-License-Identifier: Apache-2.0
#include "rashpa/sink/repair/repair.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <utility>

#include "rashpa/core/error.hpp"
#include "rashpa/core/system/refusal.hpp"
#include "rashpa/sink/hdf5/data_file.hpp"
#include "rashpa/sink/journal/frame_rows.hpp"
#include "rashpa/sink/journal/journal_lock.hpp"
#include "rashpa/sink/nxmx/master.hpp"
#include "rashpa/sink/nxmx/special_values.hpp"
#include "rashpa/sink/output_files.hpp"
#include "rashpa/sink/raw/raw_images.hpp"
#include "rashpa/sink/stores/table_store.hpp"

namespace rashpa::sink {
namespace {

namespace fs = std::filesystem;

bool is_complete(const fs::path& master) {
  const h5::Handle file(H5Fopen(master.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose, "open " + master.string());
  const h5::Handle group = h5::open_group(file.get(), "/entry/rashpa");
  return H5Lexists(group.get(), "books", H5P_DEFAULT) > 0;
}

/// The readable part of each data file: images of a dense one, elements of a sparse one.
std::uint64_t readable_of(const fs::path& path, ImageForm form) {
  if (!is_there(path)) return 0;
  try {
    let_be_opened(path);
  } catch (const RefusedError&) {
    throw;
  } catch (const FileError&) {  // damaged: nothing of it can be read
    return 0;
  }
  if (form == ImageForm::dense) return readable_unless_refused(path, "/entry/data/data");
  return std::min(readable_unless_refused(path, "/entry/data/index"),
                  readable_unless_refused(path, "/entry/data/intensity"));
}

/// Asks each data file once.
class DataFiles {
 public:
  DataFiles(fs::path prefix, ImageForm form) : prefix_(std::move(prefix)), form_(form) {}
  bool hold(const FrameRow& row) {
    const fs::path path = OutputFiles::data_path(prefix_, row.stored.file);
    const auto [found, fresh] = readable_.try_emplace(row.stored.file, 0);
    if (fresh) found->second = readable_of(path, form_);
    const std::uint64_t needed = form_ == ImageForm::dense ? std::uint64_t{row.stored.place} + 1 : row.stored.end;
    return is_there(path) && needed <= found->second;
  }

 private:
  fs::path prefix_;
  ImageForm form_;
  std::map<std::uint32_t, std::uint64_t> readable_;
};

/// Images that the journal should hold, and does not.
std::uint64_t unknown_of(const FrameRows& rows) {
  const std::uint64_t due = rows.header().end_known() ? rows.header().images : rows.size();
  return due - std::min<std::uint64_t>(rows.size(), due);
}

/// An unreadable file stays as it is: the master only links it.
void let_accumulations_be_opened(const fs::path& prefix) {
  const fs::path path = OutputFiles::accumulated_path(prefix);
  if (!is_there(path)) return;
  try {
    let_be_opened(path);
  } catch (const RefusedError&) {
    throw;
  } catch (const FileError&) {  // damaged
  }
}

}  // namespace

Repaired repair(const std::string& prefix) {
  h5::silence();
  h5::register_bitshuffle();
  const fs::path master = OutputFiles::master_path(prefix);
  if (!fs::is_regular_file(master)) {
    throw FileError("repair: there is no " + master.string() + "; give folder/name, or the master file itself");
  }
  const JournalLock journal(prefix, "repair: ");
  Repaired done;
  done.master = master.string();
  done.was_complete = is_complete(master);
  if (done.was_complete) {
    if (journal.get() < 0) return done;
    const FrameRows rows(journal.get());
    if (rows.header().form == ImageForm::raw) {  // it stays as the index, which may lack what the master has
      done.books = books_of(rows);
      done.unknown = unknown_of(rows);
    } else {
      ::unlink(OutputFiles::journal_path(prefix).c_str());
    }
    return done;
  }
  if (journal.get() < 0) {
    throw FileError("repair: " + OutputFiles::journal_path(prefix).string() +
                    " is not there, which holds the tables; the images are in the data files, which h5py opens with "
                    "swmr=True");
  }
  FrameRows rows(journal.get());
  const bool is_raw = rows.header().form == ImageForm::raw;
  DataFiles files(prefix, rows.header().form);
  std::optional<RawImages> raw;
  if (is_raw) raw.emplace(prefix, rows);
  RowsOfImages rows_of_images(readable_tables(OutputFiles::tables_path(prefix), rows.header().results));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    FrameRow& row = rows.row(i);
    const bool rows_there = rows_of_images.are_there(row);
    if (row.decision != Decision::accepted) continue;
    if (rows_there && (raw ? raw->read(i) : files.hold(row))) continue;
    row.decision = Decision::errored;
    row.error = ErrorReason::storage;
    done.lost += 1;
  }
  done.unknown = unknown_of(rows);
  done.books = books_of(rows);
  rows.fill_up();
  const std::vector<std::int64_t> places = index_stored(rows, [](const StoredPlace&) { return true; });
  rows.give_back_reserve();
  let_accumulations_be_opened(prefix);
  if (is_raw) keep_facts(prefix);
  const std::vector<std::uint32_t> special = special_mask_of(prefix, rows);
  // Peaks that cannot be listed are still in the tables, where rashpa peaks finds them.
  static_cast<void>(complete_master(prefix, {.rows = rows,
                                             .stored_index = places,
                                             .books = done.books,
                                             .unknown = done.unknown,
                                             .lasted_ns = rows.lasted_ns(),
                                             .special_mask = special}));
  if (!is_raw) ::unlink(OutputFiles::journal_path(prefix).c_str());
  return done;
}

}  // namespace rashpa::sink
