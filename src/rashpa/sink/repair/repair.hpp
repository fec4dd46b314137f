// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>

#include "rashpa/core/books/books.hpp"

namespace rashpa::sink {

/// The result of repairing a master.
struct Repaired {
  std::string master;
  bool was_complete = false;  ///< there was nothing to do; `books` and `unknown` are then of the index of a raw run
  Books books;                ///< of the images of which something is known
  std::uint64_t unknown = 0;  ///< images that the journal does not hold: open and undecided in the tables
  std::uint64_t lost = 0;     ///< errored now: accepted and stored, but not in the data files any more
};

/// Completes the master of a run whose process ended early, or could not complete it, from the journal and the data
/// files. Nothing is invented: an image is stored when the journal says so and its data file holds it. Throws
/// FileError: no master, no journal, a run that is still being written, no room; RefusedError when the system does not
/// let a file be opened. The next repair finds everything then.
Repaired repair(const std::string& prefix);

}  // namespace rashpa::sink
