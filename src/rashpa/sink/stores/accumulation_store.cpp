// SPDX-License-Identifier: Apache-2.0
#include "rashpa/sink/stores/accumulation_store.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <string_view>

#include "rashpa/core/error.hpp"
#include "rashpa/core/frame/result_types.hpp"
#include "rashpa/core/numbers/checksum.hpp"
#include "rashpa/sink/hdf5/hdf5_column.hpp"

namespace rashpa::sink {
namespace {

namespace bslz4 = kernel::bitshuffle_lz4;

constexpr std::array<const char*, 5> kFacts{"window", "first_image", "end_image", "images", "crc32c"};
constexpr hsize_t kFactsChunk = 1024;

hid_t native_of(Quantity::Type type) {
  return with_type(type, []<typename T>(T) { return h5::native<T>(); });
}

/// [windows][shape]
std::vector<hsize_t> extent_of(const Accumulation& facts, hsize_t windows) {
  std::vector<hsize_t> extent{windows};
  extent.insert(extent.end(), facts.shape.begin(), facts.shape.end());
  return extent;
}

h5::Handle growing(hid_t group, const std::string& name, hid_t type, std::vector<hsize_t> extent, hsize_t chunk,
                   h5::Storage storage) {
  std::vector<hsize_t> most = extent, chunks = extent;
  extent[0] = 0;
  most[0] = H5S_UNLIMITED;
  chunks[0] = chunk;
  const auto rank = static_cast<int>(extent.size());
  h5::Handle properties;
  if (storage == h5::Storage::bitshuffle_lz4) {
    properties = h5::bitshuffled(chunks);
  } else {
    properties = h5::Handle(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, "create dataset properties");
    h5::check(H5Pset_chunk(properties.get(), rank, chunks.data()), "set the chunk shape");
  }
  const h5::Handle space(H5Screate_simple(rank, extent.data(), most.data()), H5Sclose, "create a data space");
  return {H5Dcreate2(group, name.c_str(), type, space.get(), H5P_DEFAULT, properties.get(), H5P_DEFAULT), H5Dclose,
          "create ", name};
}

/// Adds a quantity to the sum of a window, in any order.
std::uint32_t sum_with(std::uint32_t sum, std::string_view name, std::span<const std::byte> values) noexcept {
  return sum + crc32c(values, crc32c(std::as_bytes(std::span(name))));
}

/// Writes element `at` of a dataset that grows.
void write_one(hid_t set, hsize_t at, std::uint64_t value) {
  const hsize_t length = at + 1, one = 1;
  h5::check(H5Dset_extent(set, &length), "extend the windows");
  const h5::Handle file_space(H5Dget_space(set), H5Sclose, "look at the windows");
  h5::check(H5Sselect_hyperslab(file_space.get(), H5S_SELECT_SET, &at, nullptr, &one, nullptr), "select a window");
  const h5::Handle space(H5Screate_simple(1, &one, nullptr), H5Sclose, "create a data space");
  h5::check(H5Dwrite(set, H5T_NATIVE_UINT64, space.get(), file_space.get(), H5P_DEFAULT, &value), "write the windows");
}

}  // namespace

AccumulationStore::AccumulationStore(const std::vector<Accumulation>& accumulations, const OutputFiles& files,
                                     unsigned threads)
    : accumulations_(accumulations),
      files_(files),
      codec_4_(4, threads),
      codec_8_(8, threads),
      groups_(accumulations.size()) {
  for (const Accumulation& one : accumulations_) {
    for (const Quantity& quantity : one.quantities) {
      if (one.elements() * bytes_of(quantity.type) < std::uint64_t{1} << 32) continue;
      throw ConfigError(files.sink() + one.name + ": " + quantity.name +
                        " takes 4 GiB or more, and does not fit an HDF5 chunk; accumulate fewer elements");
    }
  }
  const std::filesystem::path path = files.accumulated();
  file_.emplace(path);
  try {
    make(file_->get());
    file_->follow();
  } catch (const Error&) {
    groups_.clear();
    file_->discard(path);
    throw;
  }
}

void AccumulationStore::make(hid_t file) {
  const h5::Handle entry = h5::group(file, "entry", "NXentry");
  const h5::Handle all = h5::group(entry.get(), "accumulated", "NXcollection");
  for (std::size_t a = 0; a < accumulations_.size(); ++a) {
    const Accumulation& facts = accumulations_[a];
    const h5::Handle group = h5::group(all.get(), facts.name, "NXdata");
    std::vector<std::string> others, axes{"first_image"};
    for (std::size_t d = 0; d < facts.shape.size(); ++d) {
      axes.push_back(facts.axes.empty() ? "." : facts.axes[d].name);
    }
    for (const Quantity& quantity : facts.quantities) {
      h5::Handle set = growing(group.get(), quantity.name, native_of(quantity.type), extent_of(facts, 1), 1,
                               h5::Storage::bitshuffle_lz4);
      if (!quantity.doc.empty()) h5::text_attribute(set.get(), "description", quantity.doc);
      if (!quantity.unit.empty()) h5::text_attribute(set.get(), "units", quantity.unit);
      if (facts.shape.size() == 2) h5::text_attribute(set.get(), "interpretation", "image");
      groups_[a].quantities.push_back(std::move(set));
      if (&quantity != &facts.quantities.front()) others.push_back(quantity.name);
    }
    for (const char* name : kFacts) {
      groups_[a].facts.push_back(growing(group.get(), name, H5T_NATIVE_UINT64, {1}, kFactsChunk, h5::Storage::plain));
    }
    for (const Axis& axis : facts.axes) {
      const h5::Handle set = h5::array<double>(group.get(), axis.name, axis.values);
      if (!axis.unit.empty()) h5::text_attribute(set.get(), "units", axis.unit);
    }
    h5::text_attribute(group.get(), "signal", facts.quantities.front().name);
    if (!others.empty()) h5::texts_attribute(group.get(), "auxiliary_signals", others);
    h5::texts_attribute(group.get(), "axes", axes);
    h5::attribute<std::uint64_t>(group.get(), "window_images", {&facts.window, 1});
    h5::text_attribute(group.get(), "images_added", facts.accepted ? "accepted" : "reached");
  }
}

void AccumulationStore::make_room(Group& group, const Accumulation& facts, hsize_t windows) {
  const std::vector<hsize_t> extent = extent_of(facts, windows);
  for (const h5::Handle& set : group.quantities)
    h5::check(H5Dset_extent(set.get(), extent.data()), "extend ", facts.name);
}

void AccumulationStore::append(const Accumulation& facts, Group& group, const AccumulatedView& window) {
  make_room(group, facts, group.windows + 1);
  std::vector<hsize_t> offset(facts.shape.size() + 1);
  offset[0] = group.windows;
  std::uint32_t sum = 0;
  for (std::size_t q = 0; q < facts.quantities.size(); ++q) {
    const std::size_t element_bytes = bytes_of(facts.quantities[q].type);
    const std::span<const std::byte> values(window.values[q], facts.elements() * element_bytes);
    chunk_.resize(std::max(chunk_.size(), bslz4::compressed_bound(values.size(), element_bytes)));
    sum = sum_with(sum, facts.quantities[q].name, values);
    const std::size_t bytes = (element_bytes == 4 ? codec_4_ : codec_8_).compress(values, chunk_);
    h5::check(H5Dwrite_chunk(group.quantities[q].get(), H5P_DEFAULT, 0, offset.data(), bytes, chunk_.data()),
              "write " + facts.name + " " + facts.quantities[q].name);
    bytes_stored_ += bytes;
  }
  for (const h5::Handle& set : group.quantities) h5::check(H5Dflush(set.get()), "flush ", facts.name);
  // Last: the windows that they count are there.
  std::array<std::uint64_t, kFacts.size()> values{window.window, window.first, window.end, window.images};
  values.back() = sum_with(sum, "", std::as_bytes(std::span(values).first(kFacts.size() - 1)));
  for (std::size_t f = 0; f < kFacts.size(); ++f) write_one(group.facts[f].get(), group.windows, values[f]);
  for (const h5::Handle& set : group.facts) h5::check(H5Dflush(set.get()), "flush ", facts.name);
  group.windows += 1;
}

void AccumulationStore::put(const Accumulated& windows, std::string& error) {
  for (std::size_t a = 0; a < groups_.size(); ++a) {
    if (!windows[a].ended()) continue;
    try {
      if (!file_->is_at(files_.accumulated())) throw FileError(says_gone(files_.accumulated()));
      append(accumulations_[a], groups_[a], windows[a]);
    } catch (const Error& failure) {
      if (error.empty()) error = failure.what();
    }
  }
}

void AccumulationStore::settle(std::string& error) {
  if (!file_->open()) return;
  const std::filesystem::path path = files_.accumulated();
  std::string why;
  if (!file_->is_at(path)) why = says_gone(path);
  try {
    // Drops the room made for a window that could not be written.
    for (std::size_t a = 0; a < groups_.size(); ++a) {
      make_room(groups_[a], accumulations_[a], groups_[a].windows);
      for (const h5::Handle& set : groups_[a].facts)
        h5::check(H5Dset_extent(set.get(), &groups_[a].windows), "set the windows");
    }
  } catch (const Error& failure) {
    if (why.empty()) why = failure.what();
  }
  groups_.clear();
  if (!file_->flush() && why.empty()) why = h5::failure("complete ", path.native());
  file_->close();
  if (why.empty()) why = complete_on_disk(path);
  if (error.empty()) error = why;
}

namespace {

herr_t take_name(hid_t /*group*/, const char* name, const H5L_info_t* /*facts*/, void* names) {
  static_cast<std::vector<std::string>*>(names)->emplace_back(name);
  return 0;
}

std::vector<std::string> names_in(hid_t group) {
  std::vector<std::string> names;
  h5::check(H5Literate(group, H5_INDEX_NAME, H5_ITER_INC, nullptr, take_name, &names), "list the accumulations");
  return names;
}

/// A dataset that has an element for each window.
struct Grown {
  std::string name;
  h5::Handle set;
  h5::Handle type;
  std::vector<hsize_t> extent{};
  std::size_t window_bytes = 0;
  [[nodiscard]] bool is_fact() const { return std::find(kFacts.begin(), kFacts.end(), name) != kFacts.end(); }
};

std::vector<Grown> grown_in(hid_t group) {
  std::vector<Grown> all;
  for (const std::string& name : names_in(group)) {
    Grown one{.name = name, .set = h5::open_dataset(group, name), .type = {}};
    const h5::Handle space(H5Dget_space(one.set.get()), H5Sclose, "look at a window");
    std::vector<hsize_t> most(static_cast<std::size_t>(std::max(H5Sget_simple_extent_ndims(space.get()), 0)));
    one.extent.resize(most.size());
    if (most.empty()) continue;
    h5::check(H5Sget_simple_extent_dims(space.get(), one.extent.data(), most.data()), "look at a window");
    if (most[0] != H5S_UNLIMITED) continue;  // an axis
    const h5::Handle stored(H5Dget_type(one.set.get()), H5Tclose, "look at a window");
    one.type = h5::Handle(H5Tget_native_type(stored.get(), H5T_DIR_ASCEND), H5Tclose, "look at a window");
    one.window_bytes = H5Tget_size(one.type.get());
    for (std::size_t axis = 1; axis < most.size(); ++axis) one.window_bytes *= one.extent[axis];
    all.push_back(std::move(one));
  }
  return all;
}

/// The values of a window; throws FileError.
std::span<const std::byte> values_of(const Grown& from, hsize_t window, std::vector<std::byte>& scratch) {
  std::vector<hsize_t> first(from.extent.size(), 0), count = from.extent;
  first[0] = window;
  count[0] = 1;
  const h5::Handle space(H5Dget_space(from.set.get()), H5Sclose, "look at a window");
  h5::check(H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, first.data(), nullptr, count.data(), nullptr), "select");
  const h5::Handle memory(H5Screate_simple(static_cast<int>(count.size()), count.data(), nullptr), H5Sclose,
                          "create a data space");
  scratch.resize(std::max(scratch.size(), from.window_bytes));
  h5::check(H5Dread(from.set.get(), from.type.get(), memory.get(), space.get(), H5P_DEFAULT, scratch.data()),
            "read a window");
  return std::span(scratch).first(from.window_bytes);
}

bool is_proven(const std::vector<Grown>& datasets, hsize_t window, std::vector<std::byte>& scratch) try {
  std::array<std::uint64_t, kFacts.size()> facts{};
  std::uint32_t sum = 0;
  for (const Grown& one : datasets) {
    const std::span<const std::byte> values = values_of(one, window, scratch);
    const auto fact = std::find(kFacts.begin(), kFacts.end(), one.name);
    if (fact == kFacts.end()) {
      sum = sum_with(sum, one.name, values);
    } else if (values.size() == sizeof(facts[0])) {
      std::memcpy(&facts[static_cast<std::size_t>(fact - kFacts.begin())], values.data(), values.size());
    }
  }
  return facts.back() == sum_with(sum, "", std::as_bytes(std::span(facts).first(kFacts.size() - 1)));
} catch (const FileError&) {
  return false;
}

void keep_proven(hid_t group) {
  std::vector<Grown> datasets = grown_in(group);
  const auto has = [&](const char* name) {
    return std::any_of(datasets.begin(), datasets.end(), [&](const Grown& one) { return one.name == name; });
  };
  if (datasets.empty() || !has(kFacts.back())) return;  // of an earlier version
  hsize_t windows = datasets[0].extent[0], good = 0;
  for (const Grown& one : datasets) windows = std::min(windows, one.extent[0]);
  std::vector<std::byte> scratch;
  while (good < windows && is_proven(datasets, good, scratch)) ++good;
  for (Grown& one : datasets) {
    if (one.extent[0] == good) continue;
    one.extent[0] = good;
    h5::check(H5Dset_extent(one.set.get(), one.extent.data()), "leave out windows that are damaged");
  }
}

}  // namespace

void keep_proven_windows(const std::filesystem::path& path) {
  const h5::Handle access = h5::writing_access();
  h5::check(H5Pset_file_locking(access.get(), false, true), "switch file locks off");
  h5::Handle file(H5Fopen(path.c_str(), H5F_ACC_RDWR, access.get()), H5Fclose, "open ", path.native());
  {
    const h5::Handle all = h5::open_group(file.get(), "/entry/accumulated");
    for (const std::string& name : names_in(all.get())) keep_proven(h5::open_group(all.get(), name).get());
  }
  if (!file.close()) throw FileError(h5::failure("complete ", path.native()));
}

void refer_to_accumulations(hid_t rashpa, const std::filesystem::path& prefix, const std::string& lost) {
  const std::filesystem::path path = OutputFiles::accumulated_path(prefix);
  if (!std::filesystem::exists(path)) return;
  if (!lost.empty()) return h5::text(rashpa, "accumulated_lost", path.filename().string() + " is damaged: " + lost);
  h5::check(H5Lcreate_external(path.filename().c_str(), "/entry/accumulated", rashpa, "accumulated", H5P_DEFAULT,
                               H5P_DEFAULT),
            "link the accumulations");
}

}  // namespace rashpa::sink
