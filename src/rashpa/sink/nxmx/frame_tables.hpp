// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "rashpa/core/books/books.hpp"
#include "rashpa/core/image/special_value.hpp"
#include "rashpa/sink/hdf5/hdf5_io.hpp"
#include "rashpa/sink/journal/frame_rows.hpp"
#include "rashpa/sink/nxmx_metadata.hpp"

namespace rashpa::sink {

/// Creates /entry/rashpa of the master file with the facts known before the first image.
void write_run_facts(hid_t entry, const NxmxMetadata& metadata, const std::string& buffer,
                     std::span<const SpecialValue> special);

/// Adds the tables to /entry/rashpa, one row for every image of the run, stored or not. `stored_index`: of each row the
/// image's place among the stored ones, −1 when it is not there. Throws FileError.
void write_tables(hid_t entry, const FrameRows& rows, std::span<const std::int64_t> stored_index);

/// Adds the books. `unknown`: images of which nothing is known any more, which repair() says. Throws FileError.
void write_books(hid_t entry, const Books& books, std::uint64_t unknown = 0);

}  // namespace rashpa::sink
