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

/// Creates the master file with all that is known before the first image; it then rests until complete_master() puts
/// another in its place. The handle keeps its lock, so that readers wait. Throws FileError.
h5::Handle create_master(const Hdf5Config& config, const std::filesystem::path& path);

/// Keeps the master of raw files as it is before it is completed, from which others can be made (facts_path()). Throws
/// FileError.
void keep_facts(const std::filesystem::path& prefix);

/// The contents that complete a master. `stored_index`: of each row its place among the stored images, or −1.
struct MasterContents {
  const FrameRows& rows;
  const std::vector<std::int64_t>& stored_index;
  Books books;
  std::uint64_t unknown = 0;
  /// The time from the start_time of the master to the end, by a monotonic clock, whatever has set a clock since.
  std::uint64_t lasted_ns = 0;
  std::string end_time{};                         ///< of a master that has one already; empty: see above
  std::span<const std::uint32_t> special_mask{};  ///< bits to be added to pixel_mask; empty: none
  std::string accumulated_lost{};                 ///< why the file of accumulations cannot be read
};

/// Completes a copy of the master of `prefix` with the images, tables and books, brings it to the disk and puts it in
/// the master's place: whenever it is interrupted, one or the other is there. Throws FileError. Returns why the lists
/// of peaks, which are there in the tables, too, are not in it; empty when they are, or there are none.
std::string complete_master(const std::filesystem::path& prefix, const MasterContents& contents);

/// The books that the rows make.
[[nodiscard]] Books books_of(const FrameRows& rows);

/// Returns the place of each row among the stored images: counts those for which `is_stored` returns true; −1 for
/// others.
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
