#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>
#include <limits>

#include "rashpa/core/error.hpp"
#include "rashpa/core/fill.hpp"
#include "rashpa/sink/compress_pool.hpp"
#include "rashpa/sink/hdf5_column.hpp"
#include "rashpa/sink/image_store.hpp"

namespace rashpa::sink {
namespace {

hid_t native_of(PixelType pixel) {
  switch (pixel) {
    case PixelType::u8:
      return h5::native<std::uint8_t>();
    case PixelType::u16:
      return h5::native<std::uint16_t>();
    case PixelType::u32:
      return h5::native<std::uint32_t>();
    case PixelType::i16:
      return h5::native<std::int16_t>();
    case PixelType::i32:
      return h5::native<std::int32_t>();
    default:
      return h5::native<float>();
  }
}

/// The value that stands for "no valid pixel", in the bytes of the type.
std::uint32_t fill_bits(PixelType pixel) {
  switch (pixel) {
    case PixelType::u8:
      return UINT8_MAX;
    case PixelType::u16:
      return kLostRaw;
    case PixelType::u32:
      return UINT32_MAX;
    case PixelType::i16:
      return static_cast<std::uint16_t>(kMaskedPhotons);
    case PixelType::i32:
      return static_cast<std::uint32_t>(INT32_MIN);
    default:
      return std::bit_cast<std::uint32_t>(std::numeric_limits<float>::quiet_NaN());
  }
}

h5::Handle data_file_access() {
  h5::Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, "create file properties");
  // The newest format that HDF5 1.10 knows: what reading while writing (SWMR) needs.
  h5::check(H5Pset_libver_bounds(access.get(), H5F_LIBVER_V110, H5F_LIBVER_V110), "choose the file format");
  // A reader that follows the file must not be able to stop us by a lock of its own.
  h5::check(H5Pset_file_locking(access.get(), false, true), "switch file locks off");
  return access;
}

/// <prefix>_data_NNNNNN.h5 with one dataset each; links and a virtual dataset in the master.
class DenseStore final : public ImageStore {
 public:
  DenseStore(const Hdf5Config& config, hid_t data)
      : config_(config),
        data_(data),
        folder_(std::filesystem::path(config.prefix).parent_path()),
        image_bytes_(std::uint64_t{config.width} * config.height * pixel_bytes(config.pixel)),
        pool_(config.threads, pixel_bytes(config.pixel), image_bytes_),
        frame_number_(h5::column<std::uint64_t>(data, "frame_number", 1024)) {
    h5::text_attribute(data, "signal", "data");
    h5::texts_attribute(data, "axes", std::vector<std::string>{"frame_number", ".", "."});
    open_file();
  }

  void put(std::span<StackImage> images, std::span<std::int64_t> stored, std::string& error) override;
  void close() override;
  [[nodiscard]] SinkStats stats() const noexcept override {
    return {.images_written = images_, .bytes_in = images_ * image_bytes_, .bytes_written = bytes_written_};
  }

 private:
  void open_file();
  void reopen_data();
  void close_file();
  void write_virtual();
  bool store(const StackImage& image, std::span<const std::byte> chunk, std::string& error);

  Hdf5Config config_;
  hid_t data_;
  std::filesystem::path folder_;
  std::uint64_t image_bytes_;
  CompressPool pool_;
  h5::Column frame_number_;
  h5::Handle file_, set_;
  std::vector<std::uint64_t> counts_;  // images of each data file
  std::vector<const std::byte*> pixels_;
  std::vector<std::size_t> places_;  // of `pixels_` in the stack
  std::uint64_t images_ = 0;
  std::uint64_t bytes_written_ = 0;
};

void DenseStore::open_file() {
  const std::string name = data_file_name(config_, counts_.size() + 1);
  const h5::Handle access = data_file_access();
  h5::Handle file(H5Fcreate((folder_ / name).c_str(), H5F_ACC_EXCL, H5P_DEFAULT, access.get()), H5Fclose,
                  "create " + name);
  h5::Handle set;
  {
    const h5::Handle entry = h5::group(file.get(), "entry", "NXentry");
    const h5::Handle data = h5::group(entry.get(), "data", "NXdata");
    h5::text_attribute(data.get(), "signal", "data");
    const hsize_t chunk[3] = {1, config_.height, config_.width}, none[3] = {0, config_.height, config_.width};
    const hsize_t unlimited[3] = {H5S_UNLIMITED, config_.height, config_.width};
    const h5::Handle properties = h5::bitshuffled(chunk);
    const std::uint32_t fill = fill_bits(config_.pixel);
    h5::check(H5Pset_fill_value(properties.get(), native_of(config_.pixel), &fill), "set the fill value");
    const h5::Handle space(H5Screate_simple(3, none, unlimited), H5Sclose, "create a data space");
    set = h5::Handle(H5Dcreate2(data.get(), "data", native_of(config_.pixel), space.get(), H5P_DEFAULT,
                                properties.get(), H5P_DEFAULT),
                     H5Dclose, "create data in " + name);
    // Counted from 1, as existing readers expect.
    const std::uint64_t low = images_ + 1, high = images_ + config_.images_per_file;
    h5::attribute<std::uint64_t>(set.get(), "image_nr_low", {&low, 1});
    h5::attribute<std::uint64_t>(set.get(), "image_nr_high", {&high, 1});
  }
  h5::check(H5Fstart_swmr_write(file.get()), "let " + name + " be read while it is written");
  const std::string link = fmt::format("data_{:06}", counts_.size() + 1);
  h5::check(H5Lcreate_external(name.c_str(), "/entry/data/data", data_, link.c_str(), H5P_DEFAULT, H5P_DEFAULT),
            "link " + name);
  file_ = std::move(file);
  set_ = std::move(set);
  counts_.push_back(0);
}

void DenseStore::reopen_data() {
  set_ = h5::Handle(H5Dopen2(file_.get(), "/entry/data/data", H5P_DEFAULT), H5Dclose, "reopen the data");
}

void DenseStore::close_file() {
  if (!file_.valid()) return;
  if (!set_.valid()) reopen_data();
  const std::string name = data_file_name(config_, counts_.size());
  const std::uint64_t high = images_;
  const hsize_t shape[3] = {counts_.back(), config_.height, config_.width};
  const bool shrunk = H5Dset_extent(set_.get(), shape) >= 0;  // drops room made for an image that could not be written
  const bool closed = set_.close();
  if (!file_.close() || !closed || !shrunk) throw FileError("hdf5: cannot complete " + name + ": " + h5::last_error());
  if (counts_.back() == config_.images_per_file) return;
  // Attributes may not change while readers follow the file, so the number of the last image of a file that did not
  // fill up is put right afterwards.
  const h5::Handle access = data_file_access();
  const h5::Handle file(H5Fopen((folder_ / name).c_str(), H5F_ACC_RDWR, access.get()), H5Fclose, "reopen " + name);
  const h5::Handle set(H5Dopen2(file.get(), "/entry/data/data", H5P_DEFAULT), H5Dclose, "open the data of " + name);
  const h5::Handle attribute(H5Aopen(set.get(), "image_nr_high", H5P_DEFAULT), H5Aclose, "open image_nr_high");
  h5::check(H5Awrite(attribute.get(), H5T_NATIVE_UINT64, &high), "write image_nr_high");
}

bool DenseStore::store(const StackImage& image, std::span<const std::byte> chunk, std::string& error) {
  try {
    if (file_.valid() && counts_.back() == config_.images_per_file) close_file();
    if (!file_.valid()) open_file();
    const hsize_t offset[3] = {counts_.back(), 0, 0};
    const hsize_t shape[3] = {counts_.back() + 1, config_.height, config_.width};
    if (!set_.valid()) reopen_data();
    h5::check(H5Dset_extent(set_.get(), shape), "extend the data");
    if (H5Dwrite_chunk(set_.get(), H5P_DEFAULT, 0, offset, chunk.size(), chunk.data()) < 0) {
      const std::string reason = h5::last_error();
      // The library remembers the chunk that it failed to write as written; the dataset opened anew forgets it.
      set_.close();
      throw FileError("hdf5: cannot write an image: " + reason);
    }
    counts_.back() += 1;
    images_ += 1;
    bytes_written_ += chunk.size();
    frame_number_.append(&image.frame_number, 1);
    return true;
  } catch (const Error& failure) {
    if (error.empty())
      error = fmt::format("frame {}: {}; check the space in the folder of {}", image.frame_number, failure.what(),
                          config_.prefix);
    return false;
  }
}

void DenseStore::put(std::span<StackImage> images, std::span<std::int64_t> stored, std::string& error) {
  pixels_.clear();
  places_.clear();
  for (std::size_t i = 0; i < images.size(); ++i) {
    if (images[i].decision != Decision::accepted) continue;
    pixels_.push_back(images[i].pixels != nullptr ? images[i].pixels : images[i].raw);
    places_.push_back(i);
  }
  struct Target {
    std::span<StackImage> images;
    std::span<std::int64_t> stored;
    std::string& error;
  } target{images, stored, error};
  pool_.run(pixels_, [this, &target](std::size_t n, std::span<const std::byte> chunk) {
    const std::size_t i = places_[n];
    if (store(target.images[i], chunk, target.error)) {
      target.stored[i] = static_cast<std::int64_t>(images_ - 1);
    } else {
      target.images[i].decision = Decision::errored;
    }
  });
  if (set_.valid() && !pixels_.empty() && H5Dflush(set_.get()) < 0 && error.empty()) {
    error = "hdf5: cannot flush the data: " + h5::last_error();
  }
}

/// /entry/data/data of the master: all data files as one dataset.
void DenseStore::write_virtual() {
  const hsize_t shape[3] = {images_, config_.height, config_.width};
  const h5::Handle space(H5Screate_simple(3, shape, nullptr), H5Sclose, "create a data space");
  const h5::Handle properties(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, "create dataset properties");
  const std::uint32_t fill = fill_bits(config_.pixel);
  h5::check(H5Pset_fill_value(properties.get(), native_of(config_.pixel), &fill), "set the fill value");
  hsize_t start[3] = {0, 0, 0};
  for (std::size_t i = 0; i < counts_.size() && images_ > 0; ++i) {
    if (counts_[i] == 0) continue;
    const hsize_t count[3] = {counts_[i], config_.height, config_.width};
    const h5::Handle source(H5Screate_simple(3, count, nullptr), H5Sclose, "create a data space");
    h5::check(H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, start, nullptr, count, nullptr), "select images");
    h5::check(H5Pset_virtual(properties.get(), space.get(), data_file_name(config_, i + 1).c_str(), "/entry/data/data",
                             source.get()),
              "map a data file");
    start[0] += counts_[i];
  }
  h5::check(H5Sselect_all(space.get()), "select all images");
  const h5::Handle set(
      H5Dcreate2(data_, "data", native_of(config_.pixel), space.get(), H5P_DEFAULT, properties.get(), H5P_DEFAULT),
      H5Dclose, "create the virtual dataset");
}

void DenseStore::close() {
  close_file();
  frame_number_.flush();
  write_virtual();
}

}  // namespace

std::unique_ptr<ImageStore> make_dense_store(const Hdf5Config& config, hid_t data) {
  return std::make_unique<DenseStore>(config, data);
}

std::string data_file_name(const Hdf5Config& config, std::uint64_t number) {
  return fmt::format("{}_data_{:06}.h5", std::filesystem::path(config.prefix).filename().string(), number);
}

}  // namespace rashpa::sink
