// SPDX-License-Identifier: Apache-2.0
#include "rashpa/sink/nxmx/master.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "rashpa/core/error.hpp"
#include "rashpa/core/system/refusal.hpp"
#include "rashpa/core/time/clock.hpp"
#include "rashpa/core/time/iso_time.hpp"
#include "rashpa/sink/hdf5/data_file.hpp"
#include "rashpa/sink/hdf5/hdf5_column.hpp"
#include "rashpa/sink/hdf5/hdf5_pixel.hpp"
#include "rashpa/sink/nxmx/frame_tables.hpp"
#include "rashpa/sink/nxmx/nxmx_tree.hpp"
#include "rashpa/sink/nxmx/special_values.hpp"
#include "rashpa/sink/output_files.hpp"
#include "rashpa/sink/stores/accumulation_store.hpp"
#include "rashpa/sink/stores/peak_lists.hpp"
#include "rashpa/sink/stores/table_store.hpp"

namespace rashpa::sink {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kRows = 1024;  // a chunk of the columns

std::string name_of_data(const fs::path& prefix, std::uint64_t number) {
  return OutputFiles::data_path(prefix, number).filename().string();
}

/// Images that lie one after the other in one data file.
struct Run {
  std::uint32_t file = 0;
  hsize_t first = 0, count = 0;
};

std::vector<Run> runs_of(const MasterContents& contents) {
  std::vector<Run> runs;
  for (std::size_t i = 0; i < contents.stored_index.size(); ++i) {
    if (contents.stored_index[i] < 0) continue;
    const StoredPlace& at = contents.rows.rows()[i].stored;
    if (runs.empty() || runs.back().file != at.file || runs.back().first + runs.back().count != at.place) {
      runs.push_back({.file = at.file, .first = at.place});
    }
    runs.back().count += 1;
  }
  return runs;
}

/// All stored images as one dataset over the data files.
h5::Handle make_images(hid_t group, const fs::path& prefix, const JournalHeader& run, const std::vector<Run>& runs) {
  hsize_t images = 0;
  for (const Run& part : runs) images += part.count;
  const hsize_t shape[3] = {images, run.height, run.width};
  const h5::Handle space(H5Screate_simple(3, shape, nullptr), H5Sclose, "create a data space");
  const h5::Handle properties(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, "create dataset properties");
  const std::uint32_t fill = h5::fill_bits(run.pixel);
  h5::check(H5Pset_fill_value(properties.get(), h5::native_of(run.pixel), &fill), "set the fill value");
  hsize_t start[3] = {0, 0, 0};
  for (const Run& part : runs) {
    const hsize_t count[3] = {part.count, run.height, run.width};
    const hsize_t from[3] = {part.first, 0, 0};
    const hsize_t whole[3] = {part.first + part.count, run.height, run.width};
    const h5::Handle source(H5Screate_simple(3, whole, nullptr), H5Sclose, "create a data space");
    h5::check(H5Sselect_hyperslab(source.get(), H5S_SELECT_SET, from, nullptr, count, nullptr), "select images");
    h5::check(H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, start, nullptr, count, nullptr), "select images");
    h5::check(H5Pset_virtual(properties.get(), space.get(), name_of_data(prefix, part.file).c_str(), "/entry/data/data",
                             source.get()),
              "map a data file");
    start[0] += part.count;
  }
  h5::check(H5Sselect_all(space.get()), "select all images");
  return {H5Dcreate2(group, "data", h5::native_of(run.pixel), space.get(), H5P_DEFAULT, properties.get(), H5P_DEFAULT),
          H5Dclose, "create the virtual dataset"};
}

/// /entry/data/data and /view/data/data. A link to each data file lies in /entry/rashpa/data_files: beside the
/// dataset, readers that take everything named data… would count each image twice.
void refer_to_dense(hid_t file, hid_t entry, hid_t data, const fs::path& prefix, const MasterContents& contents) {
  const JournalHeader& run = contents.rows.header();
  const std::vector<Run> runs = runs_of(contents);
  const h5::Handle files = h5::group(entry, "rashpa/data_files", "NXcollection");
  std::uint32_t linked = 0;
  for (const Run& part : runs) {
    if (part.file == linked) continue;
    linked = part.file;
    const std::string link = fmt::format("data_{:06}", part.file);
    h5::check(H5Lcreate_external(name_of_data(prefix, part.file).c_str(), "/entry/data/data", files.get(), link.c_str(),
                                 H5P_DEFAULT, H5P_DEFAULT),
              "link ", link);
  }
  const h5::Handle view = h5::open_group(file, "view/data");
  const std::string units = h5::read_text_attribute(entry, "rashpa", "pixel_units");
  for (const hid_t group : {data, view.get()}) {
    const h5::Handle set = make_images(group, prefix, run, runs);
    if (!units.empty()) h5::text_attribute(set.get(), "units", units);
    // NXmx does not define it, viewers look for it.
    if (group != data) h5::text_attribute(set.get(), "interpretation", "image");
    if (group == data) h5::text_attribute(set.get(), "target", "/entry/data/data");
  }
}

/// /entry/data/{index, intensity}: links; frame_ptr here, where it covers what is stored.
void refer_to_sparse(hid_t data, const fs::path& prefix, const MasterContents& contents) {
  for (const char* name : {"index", "intensity"}) {
    const std::string path = std::string("/entry/data/") + name;
    h5::check(H5Lcreate_external(name_of_data(prefix, 1).c_str(), path.c_str(), data, name, H5P_DEFAULT, H5P_DEFAULT),
              "link ", name);
  }
  h5::Column ptr = h5::column<std::uint64_t>(data, "frame_ptr", kRows);
  const std::uint64_t none = 0;
  ptr.append(&none, 1);
  for (std::size_t i = 0; i < contents.stored_index.size(); ++i) {
    if (contents.stored_index[i] >= 0) ptr.append(&contents.rows.rows()[i].stored.end, 1);
  }
  ptr.flush();
}

/// /entry/rashpa/raw: which bytes of which file each image is, and how they are to be read.
void refer_to_raw(hid_t entry, const MasterContents& contents) {
  const JournalHeader& run = contents.rows.header();
  const h5::Handle group = h5::group(entry, "rashpa/raw", "NXcollection");
  h5::text_attribute(group.get(), "pixel", std::string(pixel_name(run.pixel)));
  const std::uint32_t shape[2] = {run.height, run.width};
  h5::attribute<std::uint32_t>(group.get(), "image_shape", shape);
  const auto column = [&]<typename T>(const char* name, T RawPlace::*field) {
    h5::Column values = h5::column<T>(group.get(), name, kRows);
    for (std::size_t i = 0; i < contents.rows.size(); ++i) {
      const RawPlace place = contents.stored_index[i] >= 0 ? contents.rows.raw_place(i) : RawPlace{};
      values.append(&(place.*field), 1);
    }
    values.flush();
  };
  column("offset", &RawPlace::offset);
  column("length", &RawPlace::length);
  column("crc32c", &RawPlace::crc32c);
}

std::uint64_t stored_in(const MasterContents& contents) {
  std::uint64_t stored = 0;
  for (const std::int64_t place : contents.stored_index) stored += place >= 0 ? 1U : 0U;
  return stored;
}

enum class Peaks : std::uint8_t { listed, left_out };

std::string end_time_of(hid_t entry, const MasterContents& contents) {
  if (!contents.end_time.empty()) return contents.end_time;
  const auto start = utc_of_iso(h5::read_text(entry, "start_time"));
  return iso_time(start ? *start + contents.lasted_ns
                        : now_utc_ns());  // an RFC 3339 text of somebody else: by the clock
}

void write_contents(const fs::path& path, const fs::path& prefix, const MasterContents& contents, Peaks peaks) {
  h5::Handle file(H5Fopen(path.c_str(), H5F_ACC_RDWR, h5::writing_access().get()), H5Fclose, "open ", path.native());
  {
    const h5::Handle entry = h5::open_group(file.get(), "entry");
    const h5::Handle data = h5::open_group(entry.get(), "data");
    const h5::Handle detector = h5::open_group(entry.get(), "instrument/detector");
    write_tables(entry.get(), contents.rows, contents.stored_index);
    {
      const h5::Handle rashpa = h5::open_group(entry.get(), "rashpa");
      refer_to_tables(rashpa.get(), prefix, contents.rows);
      refer_to_accumulations(rashpa.get(), prefix, contents.accumulated_lost);
    }
    refer_to_profiles(entry.get(), prefix, contents.rows, contents.stored_index);
    if (peaks == Peaks::listed) write_peak_lists(entry.get(), prefix, contents.rows, contents.stored_index);
    h5::Column frames = h5::column<std::uint64_t>(data.get(), "frame_number", kRows);
    for (std::size_t i = 0; i < contents.stored_index.size(); ++i) {
      if (contents.stored_index[i] >= 0) frames.append(&contents.rows.rows()[i].frame_number, 1);
    }
    frames.flush();
    h5::text_attribute(frames.dataset(), "target", "/entry/data/frame_number");
    switch (contents.rows.header().form) {
      case ImageForm::sparse:
        refer_to_sparse(data.get(), prefix, contents);
        break;
      case ImageForm::raw:
        refer_to_raw(entry.get(), contents);
        break;
      case ImageForm::dense:
        refer_to_dense(file.get(), entry.get(), data.get(), prefix, contents);
        break;
    }
    add_to_pixel_mask(detector.get(), contents.special_mask);
    finish_nxmx_tree(entry.get(), detector.get(), contents.books.expected,
                     contents.books.complete + contents.books.partial, stored_in(contents),
                     end_time_of(entry.get(), contents));
    write_books(entry.get(), contents.books, contents.unknown);
  }
  h5::check(H5Fflush(file.get(), H5F_SCOPE_LOCAL), "write ", path.native());
  if (!file.close()) throw FileError(h5::failure("complete ", path.native()));
}

/// The group that viewers show first. Masked pixels hold the smallest value of the type, which would flatten a linear
/// scale, so that silx is asked for a logarithmic one; in /entry NXmx does not allow that.
void make_view(hid_t file) {
  const h5::Handle view = h5::group(file, "view", "NXcollection");
  h5::text_attribute(view.get(), "default", "data");
  const h5::Handle data = h5::group(view.get(), "data", "NXdata");
  h5::text_attribute(data.get(), "signal", "data");
  h5::texts_attribute(data.get(), "axes", std::vector<std::string>{"frame_number", ".", "."});
  h5::text_attribute(data.get(), "SILX_style", R"({"signal_scale_type": "log"})");
  h5::check(H5Lcreate_soft("/entry/data/frame_number", data.get(), "frame_number", H5P_DEFAULT, H5P_DEFAULT),
            "link frame_number");
}

/// All that is known before the first image.
void fill_master(const Hdf5Config& config, hid_t file) {
  const h5::Handle entry = h5::group(file, "entry", "NXentry");
  write_nxmx_tree(file, entry.get(), config.metadata,
                  {.width = config.width,
                   .height = config.height,
                   .pixel = config.pixel,
                   .delivered = config.delivered,
                   .largest_count = config.largest_count,
                   .special = config.special,
                   .expected = config.end == End::known ? std::optional(config.images) : std::nullopt,
                   .lists = config.form == ImageForm::sparse});
  const h5::Handle data = h5::group(entry.get(), "data", "NXdata");
  if (config.form == ImageForm::sparse) {
    h5::text_attribute(data.get(), "signal", "intensity");
    const std::uint32_t shape[2] = {config.height, config.width};
    h5::attribute<std::uint32_t>(data.get(), "image_shape", shape);
  } else {
    h5::text_attribute(data.get(), "signal", "data");
    h5::texts_attribute(data.get(), "axes", std::vector<std::string>{"frame_number", ".", "."});
  }
  if (config.form != ImageForm::sparse) make_view(file);
  write_run_facts(entry.get(), config.metadata, config.buffer, config.special);
  h5::check(H5Fflush(file, H5F_SCOPE_LOCAL), "flush it");
}

}  // namespace

h5::Handle create_master(const Hdf5Config& config, const fs::path& path) {
  const h5::Handle access = h5::writing_access();
  // Readers wait for close(), where the file system knows locks.
  h5::check(H5Pset_file_locking(access.get(), true, true), "choose file locks");
  h5::Handle file(H5Fcreate(path.c_str(), H5F_ACC_EXCL, H5P_DEFAULT, access.get()), H5Fclose, "create ", path.native());
  try {
    fill_master(config, file.get());
  } catch (const FileError& error) {
    throw FileError(path.string() + ": " + error.what());
  }
  return file;
}

Books books_of(const FrameRows& rows) {
  Books books{.expected = rows.header().end_known() ? rows.header().images : rows.size()};
  for (const FrameRow& row : rows.rows()) {
    books.complete += row.completeness == Completeness::complete ? 1U : 0U;
    books.partial += row.completeness == Completeness::partial ? 1U : 0U;
    books.missing += row.completeness == Completeness::missing ? 1U : 0U;
    books.accepted += row.decision == Decision::accepted ? 1U : 0U;
    books.vetoed += row.decision == Decision::vetoed ? 1U : 0U;
    books.errored += row.decision == Decision::errored ? 1U : 0U;
  }
  books.written = books.accepted;
  return books;
}

void keep_facts(const fs::path& prefix) {
  const fs::path facts = OutputFiles::facts_path(prefix);
  ::unlink(facts.c_str());  // a link is not written through
  std::error_code failed;
  fs::copy_file(OutputFiles::master_path(prefix), facts, failed);
  if (failed)
    throw FileError(facts.string() + " cannot be written: " + failed.message() +
                    "; check the space and the permissions of its folder");
  if (const std::string lost = bring_file_to_disk(facts); !lost.empty()) throw FileError(lost + "; check the disk");
}

std::string complete_master(const fs::path& prefix, const MasterContents& contents) {
  const fs::path path = OutputFiles::master_path(prefix);
  const fs::path copy = path.string() + ".completing";
  const auto write = [&](Peaks peaks) {
    ::unlink(copy.c_str());  // whatever somebody has put there: a link is not written through
    std::error_code failed;
    fs::copy_file(path, copy, failed);
    if (failed)
      throw FileError(path.string() + " cannot be copied: " + failed.message() +
                      "; check the space and the permissions of its folder");
    write_contents(copy, prefix, contents, peaks);
  };
  std::string without_peaks;
  try {
    try {
      write(Peaks::listed);
    } catch (const RefusedError&) {
      throw;
    } catch (const FileError& failure) {
      without_peaks = failure.what();
      write(Peaks::left_out);
    }
    if (const std::string lost = bring_file_to_disk(copy); !lost.empty()) throw FileError(lost + "; check the disk");
    if (::rename(copy.c_str(), path.c_str()) != 0)
      throw FileError(path.string() + " cannot be replaced: " + errno_text(errno) +
                      "; check the permissions of its folder");
    // The name, too. A folder that cannot be opened for that is no reason to fail: the name is there.
    sync_to_disk(fs::absolute(path).parent_path());
    return without_peaks;
  } catch (const FileError&) {
    ::unlink(copy.c_str());
    throw;
  }
}

}  // namespace rashpa::sink
