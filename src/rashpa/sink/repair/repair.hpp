// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>

#include "rashpa/core/books/books.hpp"

namespace rashpa::sink {

/// The result of repairing a master.
struct Repaired {
  std::string master;
  /// true: there was nothing to do; for a raw run, `books` and `unknown` come from its index
  bool was_complete = false;
  Books books;                ///< books of the images with known facts
  std::uint64_t unknown = 0;  ///< images that are not in the journal: open and undecided in the tables
  std::uint64_t lost = 0;     ///< accepted and stored images that are gone from the data files: now errored
};

/// Completes the master of a run, from the journal and the data files, when its process ended early or could not
/// complete it. An image counts as stored only when the journal lists it and its data file has it. Throws FileError
/// when there is no master, no journal or no room, or the run is still being written. Throws RefusedError when the
/// system refuses to open a file; a later repair then finds everything.
Repaired repair(const std::string& prefix);

}  // namespace rashpa::sink
