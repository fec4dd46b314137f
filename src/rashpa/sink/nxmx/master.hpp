// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "rashpa/core/books/books.hpp"
#include "rashpa/sink/hdf5/hdf5_io.hpp"
#include "rashpa/sink/hdf5_config.hpp"
#include "rashpa/sink/journal/frame_rows.hpp"

namespace rashpa::sink {

/// Creates the master file with all facts known before the first image; it stays unchanged until complete_master()
/// replaces it. The handle keeps its lock, so that readers wait. Throws FileError.
h5::Handle create_master(const Hdf5Config& config, const std::filesystem::path& path);

/// Keeps a copy of the uncompleted master of raw files, from which other masters can be made (facts_path()). Throws
/// FileError.
void keep_facts(const std::filesystem::path& prefix);

/// The contents that complete a master. `stored_index` has each row's place among the stored images, or −1.
struct MasterContents {
  const FrameRows& rows;
  const std::vector<std::int64_t>& stored_index;
  Books books;
  std::uint64_t unknown = 0;
  /// The time from the master's start_time to the end, by a monotonic clock, which does not depend on changes of the
  /// system time.
  std::uint64_t lasted_ns = 0;
  std::string end_time{};  ///< for a master that has an end time already; empty: computed from lasted_ns
  std::span<const std::uint32_t> special_mask{};  ///< bits to add to pixel_mask; empty: none
  std::string accumulated_lost{};                 ///< reason why the file of accumulations cannot be read
};

/// Completes a copy of the master of `prefix` with the images, tables and books, flushes it and replaces the master.
/// After an interruption, one of the two is in place. Returns why the lists of peaks are not in it (the tables have
/// them, too); empty when they are, or there are none. Throws FileError.
std::string complete_master(const std::filesystem::path& prefix, const MasterContents& contents);

/// Returns the books computed from the rows.
[[nodiscard]] Books books_of(const FrameRows& rows);

/// Returns the place of each row among the stored images: it counts those for which `is_stored` returns true, and has
/// −1 for others.
template <typename IsStored>
std::vector<std::int64_t> index_stored(const FrameRows& rows, const IsStored& is_stored) {
  std::vector<std::int64_t> places;
  places.reserve(rows.size());
  std::int64_t next = 0;
  for (const FrameRow& row : rows.rows()) {
    const bool stored = row.decision == Decision::accepted && row.stored.file != 0 && is_stored(row.stored);
    places.push_back(stored ? next++ : -1);
  }
  return places;
}

}  // namespace rashpa::sink
