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

/// Creates /entry/rashpa in the master file, with the facts known before the first image.
void write_run_facts(hid_t entry, const NxmxMetadata& metadata, const std::string& buffer,
                     std::span<const SpecialValue> special);

/// Adds the tables to /entry/rashpa, with one row for each image of the run, stored or not. `stored_index` has each
/// row's place among the stored images, −1 for images that are not stored. Throws FileError.
void write_tables(hid_t entry, const FrameRows& rows, std::span<const std::int64_t> stored_index);

/// Adds the books. `unknown` is the number of images without any facts, as repair() counts them. Throws FileError.
void write_books(hid_t entry, const Books& books, std::uint64_t unknown = 0);

}  // namespace rashpa::sink
