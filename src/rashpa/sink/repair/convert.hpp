// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>

#include "rashpa/core/books/books.hpp"
#include "rashpa/sink/hdf5_config.hpp"

namespace rashpa::sink {

struct ConvertOptions {
  std::string from;  ///< prefix of the raw run's files
  std::string to;    ///< prefix of those that are made
  Existing existing = Existing::refuse;
  std::uint32_t images_a_file = 1000;
  unsigned threads = 1;  ///< that compress
};

/// The result of converting a raw run.
struct Converted {
  std::string master;
  Books books;
  std::uint64_t unknown = 0;  ///< images that the index does not hold: open and undecided in the tables
  std::uint64_t lost = 0;     ///< errored now: in the index, and not whole in the raw files
};

/// Makes NXmx files of a raw run, as the sink hdf5 would have written them, by the same writer; also of a run whose
/// process was killed. Each image is checked by its CRC32C. The raw files stay as they are. Throws FileError and
/// ConfigError; files that are not complete then have a journal beside them, for repair().
Converted convert(const ConvertOptions& options);

}  // namespace rashpa::sink
