// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>

#include "rashpa/core/books/books.hpp"
#include "rashpa/sink/hdf5_config.hpp"

namespace rashpa::sink {

struct ConvertOptions {
  std::string from;  ///< prefix of the raw run's files
  std::string to;    ///< prefix of the new files
  Existing existing = Existing::refuse;
  std::uint32_t images_a_file = 1000;
  unsigned threads = 1;  ///< compressing threads
};

/// The result of converting a raw run.
struct Converted {
  std::string master;
  Books books;
  std::uint64_t unknown = 0;  ///< images that are not in the index: open and undecided in the tables
  std::uint64_t lost = 0;     ///< images in the index that are damaged in the raw files: now errored
};

/// Makes the NXmx files of a raw run as the sink hdf5 would have written them, by the same writer. It also works for a
/// run whose process was killed. Each image is checked by its CRC32C; the raw files are unchanged. Throws FileError and
/// ConfigError; incomplete files then have a journal beside them, for repair().
Converted convert(const ConvertOptions& options);

}  // namespace rashpa::sink
