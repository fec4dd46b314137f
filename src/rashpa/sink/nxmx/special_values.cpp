// SPDX-License-Identifier: Apache-2.0
#include "rashpa/sink/nxmx/special_values.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "rashpa/core/error.hpp"
#include "rashpa/core/system/refusal.hpp"
#include "rashpa/sink/hdf5/data_file.hpp"
#include "rashpa/sink/output_files.hpp"

namespace rashpa::sink {
namespace {

constexpr const char* kGroup = "special_values";
constexpr hssize_t kMostValues = 1024;

std::vector<std::int64_t> integers(hid_t group, const char* name) {
  const h5::Handle set = h5::open_dataset(group, name);
  const h5::Handle space = h5::space_of_axes(set.get(), 1);
  const hssize_t count = H5Sget_simple_extent_npoints(space.get());
  if (count < 0 || count > kMostValues)
    throw FileError("hdf5: the file lists more special values than there can be; check that it is whole");
  std::vector<std::int64_t> values(static_cast<std::size_t>(count));
  h5::check(H5Dread(set.get(), H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), "read special values");
  return values;
}

std::vector<std::byte> image_of(const std::filesystem::path& path, hsize_t place, const JournalHeader& run) {
  const h5::Handle file = open_afresh(path);
  const h5::Handle set = h5::open_dataset(file.get(), "/entry/data/data");
  const h5::Handle space = h5::space_of_axes(set.get(), 3);
  const hsize_t start[3] = {place, 0, 0}, count[3] = {1, run.height, run.width};
  h5::check(H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, start, nullptr, count, nullptr), "select an image");
  const h5::Handle memory(H5Screate_simple(3, count, nullptr), H5Sclose, "create a data space");
  const h5::Handle type(H5Dget_type(set.get()), H5Tclose, "look at the data");
  if (H5Tget_size(type.get()) != pixel_bytes(run.pixel))
    throw FileError("hdf5: the pixels of the file are of another type than its run; check that it is whole");
  std::vector<std::byte> image(std::size_t{run.width} * run.height * pixel_bytes(run.pixel));
  h5::check(H5Dread(set.get(), type.get(), memory.get(), space.get(), H5P_DEFAULT, image.data()), "read an image");
  return image;
}

}  // namespace

void write_special_values(hid_t parent, std::span<const SpecialValue> special) {
  if (special.empty()) return;
  const h5::Handle group = h5::group(parent, kGroup, "NXcollection");
  h5::text_attribute(group.get(), "description", "Values of the detector's pixels that are no counts");
  std::vector<std::int64_t> values;
  std::vector<std::int64_t> meanings;
  std::vector<std::string> names;
  for (const SpecialValue& one : special) {
    values.push_back(one.value);
    meanings.push_back(static_cast<std::int64_t>(one.meaning));
    names.emplace_back(name_of(one.meaning));
  }
  h5::array<std::int64_t>(group.get(), "value", values);
  h5::array<std::int64_t>(group.get(), "number", meanings);
  h5::texts(group.get(), "meaning", names);
}

std::vector<SpecialValue> read_special_values(const std::filesystem::path& master) {
  const h5::Handle file(H5Fopen(master.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose, "open ", master.native());
  const h5::Handle rashpa = h5::open_group(file.get(), "/entry/rashpa");
  if (H5Lexists(rashpa.get(), kGroup, H5P_DEFAULT) <= 0) return {};
  const h5::Handle group = h5::open_group(rashpa.get(), kGroup);
  const std::vector<std::int64_t> values = integers(group.get(), "value");
  const std::vector<std::int64_t> meanings = integers(group.get(), "number");
  std::vector<SpecialValue> special;
  for (std::size_t i = 0; i < std::min(values.size(), meanings.size()); ++i) {
    if (meanings[i] < 0 || meanings[i] > static_cast<std::int64_t>(Meaning::saturated)) continue;
    special.push_back({values[i], static_cast<Meaning>(meanings[i])});
  }
  return special;
}

std::vector<std::uint32_t> special_mask_of(const std::filesystem::path& prefix, const FrameRows& rows) try {
  const JournalHeader& run = rows.header();
  const std::vector<SpecialValue> special = read_special_values(OutputFiles::master_path(prefix));
  if (special.empty() || run.form != ImageForm::dense) return {};
  for (const FrameRow& row : rows.rows()) {
    if (row.decision != Decision::accepted || row.completeness != Completeness::complete || row.stored.file == 0)
      continue;
    const std::vector<std::byte> image =
        image_of(OutputFiles::data_path(prefix, row.stored.file), row.stored.place, run);
    std::vector<std::uint32_t> mask(std::size_t{run.width} * run.height);
    mark_special(run.pixel, special, image.data(), mask);
    return mask;
  }
  return {};
} catch (const RefusedError&) {
  throw;
} catch (const FileError&) {  // an image that cannot be read: the mask stays as the run began with it
  return {};
}

void add_to_pixel_mask(hid_t detector, std::span<const std::uint32_t> bits) {
  if (bits.empty()) return;
  const h5::Handle set = h5::open_dataset(detector, "pixel_mask");
  const h5::Handle space = h5::space_of_axes(set.get(), 2);
  if (H5Sget_simple_extent_npoints(space.get()) != static_cast<hssize_t>(bits.size())) {
    throw FileError("hdf5: pixel_mask has another size than the images; check that the file is whole");
  }
  std::vector<std::uint32_t> mask(bits.size());
  h5::check(H5Dread(set.get(), H5T_NATIVE_UINT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, mask.data()), "read pixel_mask");
  for (std::size_t i = 0; i < mask.size(); ++i) mask[i] |= bits[i];
  h5::check(H5Dwrite(set.get(), H5T_NATIVE_UINT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, mask.data()), "write pixel_mask");
}

}  // namespace rashpa::sink
