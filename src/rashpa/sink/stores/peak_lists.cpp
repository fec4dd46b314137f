// SPDX-License-Identifier: Apache-2.0
#include "rashpa/sink/stores/peak_lists.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "rashpa/sink/hdf5/data_file.hpp"
#include "rashpa/sink/output_files.hpp"

namespace rashpa::sink {
namespace {

constexpr std::size_t kChunkValues = 4096;  // values

/// A dataset of CXI, and the column that it is made from.
struct Name {
  const char* dataset;
  const char* column;
};
constexpr Name kNames[] = {{"peakXPosRaw", "x"},
                           {"peakYPosRaw", "y"},
                           {"peakTotalIntensity", "intensity"},
                           {"peakSNR", "snr"},
                           {"peakNPixels", "pixels"},
                           {"peakMaximumValue", "largest"},
                           {"peakBackground", "background"}};
constexpr std::size_t kNeeded = 3;

bool has(const Table& table, const char* column) {
  return std::any_of(table.columns.begin(), table.columns.end(),
                     [column](const Column& one) { return one.name == column; });
}

bool has_peaks(const Table& table) {
  return std::all_of(kNames, kNames + kNeeded, [&](const Name& name) { return has(table, name.column); });
}

/// Rows of a stored image in its table.
struct Rows {
  hsize_t first = 0;
  hsize_t count = 0;
};

std::vector<Rows> rows_of(const FrameRows& rows, std::size_t table, std::span<const std::int64_t> stored_index) {
  std::vector<Rows> found;
  hsize_t at = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const hsize_t count = rows.rows()[i].table_rows[table];
    if (stored_index[i] >= 0) found.push_back({at, count});
    at += count;
  }
  return found;
}

/// One column as [image][most], image by image: of those without peaks nothing is stored.
void write_padded(hid_t group, const Name& name, hid_t column, const std::vector<Rows>& images, hsize_t most) {
  const hsize_t shape[2] = {images.size(), most};
  const hsize_t chunk[2] = {std::clamp<hsize_t>(kChunkValues / most, 1, std::max<hsize_t>(images.size(), 1)),
                            std::min<hsize_t>(most, kChunkValues)};
  const h5::Handle properties = h5::bitshuffled(chunk);
  const h5::Handle space(H5Screate_simple(2, shape, nullptr), H5Sclose, "create a data space");
  const h5::Handle set(
      H5Dcreate2(group, name.dataset, H5T_NATIVE_FLOAT, space.get(), H5P_DEFAULT, properties.get(), H5P_DEFAULT),
      H5Dclose, "create ", name.dataset);
  const h5::Handle source = h5::space_of_axes(column, 1);
  std::vector<float> values(most);
  for (hsize_t image = 0; image < images.size(); ++image) {
    const Rows& rows = images[image];
    if (rows.count == 0) continue;
    const hsize_t start[2] = {image, 0}, count[2] = {1, rows.count};
    const h5::Handle memory(H5Screate_simple(1, &rows.count, nullptr), H5Sclose, "create a data space");
    h5::check(H5Sselect_hyperslab(source.get(), H5S_SELECT_SET, &rows.first, nullptr, &rows.count, nullptr), "select");
    h5::check(H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, start, nullptr, count, nullptr), "select");
    h5::check(H5Dread(column, H5T_NATIVE_FLOAT, memory.get(), source.get(), H5P_DEFAULT, values.data()), "read peaks");
    h5::check(H5Dwrite(set.get(), H5T_NATIVE_FLOAT, memory.get(), space.get(), H5P_DEFAULT, values.data()), "write ",
              name.dataset);
  }
}

void write_peaks(hid_t entry, hid_t tables, const Table& table, const std::vector<Rows>& images, int number) {
  const h5::Handle group = h5::group(entry, "result_" + std::to_string(number), "NXcollection");
  h5::text_attribute(group.get(), "kernel", table.name);
  h5::text_attribute(group.get(), "description",
                     "peaks of each stored image, as CXI files have them: the middle of the first pixel is 0, 0");
  std::vector<std::int32_t> counts;
  hsize_t most = 1;
  for (const Rows& rows : images) {
    counts.push_back(static_cast<std::int32_t>(rows.count));
    most = std::max(most, rows.count);
  }
  h5::array<std::int32_t>(group.get(), "nPeaks", counts);
  for (const Name& name : kNames) {
    if (!has(table, name.column)) continue;
    const std::string path = "/entry/tables/" + table.name + "/" + name.column;
    const h5::Handle column = h5::open_dataset(tables, path);
    write_padded(group.get(), name, column.get(), images, most);
  }
}

}  // namespace

void write_peak_lists(hid_t entry, const std::filesystem::path& prefix, const FrameRows& rows,
                      std::span<const std::int64_t> stored_index) {
  const std::vector<Table>& tables = rows.header().results.tables;
  if (std::none_of(tables.begin(), tables.end(), has_peaks)) return;
  const h5::Handle file = open_afresh(OutputFiles::tables_path(prefix));
  int number = 0;
  for (std::size_t t = 0; t < tables.size(); ++t) {
    if (has_peaks(tables[t])) write_peaks(entry, file.get(), tables[t], rows_of(rows, t, stored_index), ++number);
  }
}

}  // namespace rashpa::sink
