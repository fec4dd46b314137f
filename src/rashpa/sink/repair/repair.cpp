// SPDX-License-Identifier: Apache-2.0
#include "rashpa/sink/repair/repair.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "rashpa/core/error.hpp"
#include "rashpa/core/system/refusal.hpp"
#include "rashpa/sink/journal/frame_rows.hpp"
#include "rashpa/sink/journal/journal_lock.hpp"
#include "rashpa/sink/nxmx/master.hpp"
#include "rashpa/sink/nxmx/special_values.hpp"
#include "rashpa/sink/output_files.hpp"
#include "rashpa/sink/raw/raw_images.hpp"
#include "rashpa/sink/repair/proven.hpp"
#include "rashpa/sink/stores/table_store.hpp"

namespace rashpa::sink {
namespace {

namespace fs = std::filesystem;

bool is_complete(const fs::path& master) try {
  const h5::Handle file(H5Fopen(master.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose, "open ", master.native());
  const h5::Handle group = h5::open_group(file.get(), "/entry/rashpa");
  return H5Lexists(group.get(), "books", H5P_DEFAULT) > 0;
} catch (const RefusedError&) {
  throw;
} catch (const FileError& error) {
  throw FileError("repair: " + master.string() + " is damaged: " + error.what() +
                  "; the images are in the data files, which h5py opens with swmr=True");
}

/// Returns the number of images that should be in the journal and are not.
std::uint64_t unknown_of(const FrameRows& rows) {
  const std::uint64_t due = rows.header().end_known() ? rows.header().images : rows.size();
  return due - std::min<std::uint64_t>(rows.size(), due);
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
  ProvenImages images(prefix, rows);
  std::optional<RawImages> raw;
  if (is_raw) raw.emplace(prefix, rows);
  ProvenRows tables(OutputFiles::tables_path(prefix), rows);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    FrameRow& row = rows.row(i);
    const bool rows_there = tables.has(i);
    if (row.decision != Decision::accepted) continue;
    // Lists share chunks, and the next one begins where one ends: none follows one that is lost.
    const bool follows = done.lost == 0 || rows.header().form != ImageForm::sparse;
    if (rows_there && follows && (raw ? raw->read(i) : images.has(i))) continue;
    row.decision = Decision::errored;
    row.error = ErrorReason::storage;
    done.lost += 1;
  }
  done.unknown = unknown_of(rows);
  done.books = books_of(rows);
  rows.fill_up();
  const std::vector<std::int64_t> places = index_stored(rows, [](const StoredPlace&) { return true; });
  rows.give_back_reserve();
  if (is_raw) keep_facts(prefix);
  const std::vector<std::uint32_t> special = special_mask_of(prefix, rows);
  const std::string accumulated_lost = prove_windows(OutputFiles::accumulated_path(prefix));
  bring_to_disk(prefix, rows);
  // Peaks that cannot be listed are still in the tables, where rashpa peaks finds them.
  static_cast<void>(complete_master(prefix, {.rows = rows,
                                             .stored_index = places,
                                             .books = done.books,
                                             .unknown = done.unknown,
                                             .lasted_ns = rows.lasted_ns(),
                                             .special_mask = special,
                                             .accumulated_lost = accumulated_lost}));
  if (!is_raw) ::unlink(OutputFiles::journal_path(prefix).c_str());
  return done;
}

}  // namespace rashpa::sink
