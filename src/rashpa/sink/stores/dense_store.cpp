// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "rashpa/core/error.hpp"
#include "rashpa/core/numbers/checksum.hpp"
#include "rashpa/sink/hdf5/data_file.hpp"
#include "rashpa/sink/hdf5/hdf5_pixel.hpp"
#include "rashpa/sink/image_store.hpp"
#include "rashpa/sink/stores/compress_pool.hpp"

namespace rashpa::sink {
namespace {

namespace bslz4 = kernel::bitshuffle_lz4;

constexpr const char* kImages = "/entry/data/data";

/// One data file: its images [0, flushed) came through a flush, those up to `count` wait for one.
struct Part {
  std::optional<DataFile> file;  // until it is complete
  h5::Handle set;
  std::uint64_t first = 0;  // stored images in the files before it
  std::uint64_t count = 0;
  std::uint64_t flushed = 0;
  std::string lost;  // why images from `flushed` on are not there; set by settle(), or when the file is gone
};

/// <prefix>_data_NNNNNN.h5 with one dataset each.
class DenseStore final : public ImageStore {
 public:
  DenseStore(const Hdf5Config& config, const OutputFiles& files)
      : config_(config),
        files_(files),
        image_bytes_(std::uint64_t{config.width} * config.height * pixel_bytes(config.pixel)) {
    if (!config.chunked) pool_.emplace(config.threads, pixel_bytes(config.pixel), image_bytes_);
    open_part();
  }

  void put(const Stack& stack, std::span<StoredPlace> stored, std::span<ErrorReason> results,
           std::string& error) override;
  void settle(std::string& error) override;
  [[nodiscard]] RawPlace raw_place(std::size_t image) const override { return bytes_[image]; }
  [[nodiscard]] bool holds(const StoredPlace& image) const override {
    return image.place < parts_[image.file - 1].flushed;
  }
  [[nodiscard]] std::string why_lost(const StoredPlace& image) const override { return parts_[image.file - 1].lost; }
  [[nodiscard]] SinkStats stats() const noexcept override {
    return {.images_written = written_, .bytes_written = written_ * image_bytes_, .bytes_stored = bytes_stored_};
  }

 private:
  /// The arguments of a put().
  struct Target {
    const Stack& stack;
    std::span<StoredPlace> stored;
    std::span<ErrorReason> results;
    std::string& error;
  };
  [[nodiscard]] std::string name_of(std::size_t part) const { return files_.data(part + 1).string(); }
  void make_data(Part& part);
  void open_part();
  void reopen_data(Part& part);
  void flush_parts(std::string& error);
  void complete(std::size_t number, std::string& said);
  void set_flushed(Part& part, std::uint64_t flushed);
  void give_up(std::size_t number, std::string why);
  void correct_number(std::size_t number, std::uint64_t images, std::string& error);
  void store(const StackImage& image, std::span<const std::byte> chunk);
  void compress(const Target& to);
  void keep(const Target& to, std::size_t i, std::span<const std::byte> chunk);

  Hdf5Config config_;
  const OutputFiles& files_;
  std::uint64_t image_bytes_;
  std::optional<CompressPool> pool_;  // none: images come as chunks
  std::vector<Part> parts_;
  std::size_t first_open_ = 0;       // parts before are complete
  std::vector<std::size_t> places_;  // of accepted images in the stack
  std::vector<RawPlace> bytes_;      // of all images in it
  std::vector<CompressPool::Given> given_;
  std::uint64_t written_ = 0;
  std::uint64_t bytes_stored_ = 0;
};

void DenseStore::make_data(Part& part) {
  const h5::Handle entry = h5::group(part.file->get(), "entry", "NXentry");
  const h5::Handle data = h5::group(entry.get(), "data", "NXdata");
  h5::text_attribute(data.get(), "signal", "data");
  const hsize_t chunk[3] = {1, config_.height, config_.width}, none[3] = {0, config_.height, config_.width};
  const hsize_t unlimited[3] = {H5S_UNLIMITED, config_.height, config_.width};
  const h5::Handle properties = h5::bitshuffled(chunk);
  const std::uint32_t fill = h5::fill_bits(config_.pixel);
  h5::check(H5Pset_fill_value(properties.get(), h5::native_of(config_.pixel), &fill), "set the fill value");
  const h5::Handle space(H5Screate_simple(3, none, unlimited), H5Sclose, "create a data space");
  part.set = h5::Handle(H5Dcreate2(data.get(), "data", h5::native_of(config_.pixel), space.get(), H5P_DEFAULT,
                                   properties.get(), H5P_DEFAULT),
                        H5Dclose, "create the data");
  // Counted from 1, as existing readers expect.
  const std::uint64_t low = part.first + 1, high = part.first + config_.images_per_file;
  h5::attribute<std::uint64_t>(part.set.get(), "image_nr_low", {&low, 1});
  h5::attribute<std::uint64_t>(part.set.get(), "image_nr_high", {&high, 1});
}

void DenseStore::open_part() {
  const std::filesystem::path path = files_.data(parts_.size() + 1);
  Part part;
  part.file.emplace(path);
  if (!parts_.empty()) part.first = parts_.back().first + parts_.back().count;
  try {
    make_data(part);
    part.file->follow();
  } catch (const Error&) {
    part.set.close();
    part.file->discard(path);  // the next attempt must not find it in its way
    throw;
  }
  parts_.push_back(std::move(part));
}

void DenseStore::reopen_data(Part& part) { part.set = h5::open_dataset(part.file->get(), kImages); }

void DenseStore::set_flushed(Part& part, std::uint64_t flushed) {
  written_ = written_ + flushed - part.flushed;
  part.flushed = flushed;
}

/// Images of this part from `flushed` on are not there, and no more go to it.
void DenseStore::give_up(std::size_t number, std::string why) {
  Part& part = parts_[number];
  part.lost = std::move(why);
  part.set.close();
  if (part.file) part.file->close();
  part.file.reset();
}

void DenseStore::flush_parts(std::string& error) {
  for (std::size_t number = first_open_; number < parts_.size(); ++number) {
    Part& part = parts_[number];
    if (!part.file) continue;
    if (!part.file->is_at(files_.data(number + 1))) {
      set_flushed(part, 0);
      give_up(number, says_gone(files_.data(number + 1)));
      if (error.empty()) error = part.lost;
      continue;
    }
    if (part.flushed == part.count) continue;
    try {
      if (!part.set.valid()) reopen_data(part);
      h5::check(H5Dflush(part.set.get()), "flush the data");
      set_flushed(part, part.count);
    } catch (const Error& failure) {  // tried again with the next stack, and at the end
      if (error.empty()) error = fmt::format("{}: {}", name_of(number), failure.what());
    }
  }
  // A full file is let go of as soon as all of it came through.
  while (first_open_ + 1 < parts_.size()) {
    Part& part = parts_[first_open_];
    if (part.file) {
      if (part.flushed != part.count || !part.set.close() || !part.file->flush()) break;
      part.file->close();
      part.file.reset();
    }
    ++first_open_;
  }
}

void DenseStore::store(const StackImage& image, std::span<const std::byte> chunk) {
  try {
    if (!parts_.back().file || parts_.back().count == config_.images_per_file) open_part();
    Part& part = parts_.back();
    const hsize_t offset[3] = {part.count, 0, 0};
    const hsize_t shape[3] = {part.count + 1, config_.height, config_.width};
    if (!part.set.valid()) reopen_data(part);
    h5::check(H5Dset_extent(part.set.get(), shape), "extend the data");
    if (H5Dwrite_chunk(part.set.get(), H5P_DEFAULT, 0, offset, chunk.size(), chunk.data()) < 0) {
      const std::string why = h5::failure("write an image");
      // The library remembers the chunk that it failed to write as written; the dataset opened anew forgets it.
      part.set.close();
      throw FileError(why);
    }
    part.count += 1;
    bytes_stored_ += chunk.size();
  } catch (const Error& failure) {
    throw FileError(fmt::format("{}: frame {}: {}", config_.prefix, image.frame_number, failure.what()));
  }
}

/// The chunk of image i of the stack into the file.
void DenseStore::keep(const Target& to, std::size_t i, std::span<const std::byte> chunk) {
  const StackImage& image = to.stack.view()[i];
  try {
    if (const auto bytes = bslz4::uncompressed_bytes(chunk); bytes != image_bytes_) {
      throw FileError(
          fmt::format("hdf5: frame {}: its chunk holds {} bytes of pixels, and an image has {}; report this",
                      image.frame_number, bytes.value_or(0), image_bytes_));
    }
    store(image, chunk);
    to.stored[i] = {.file = static_cast<std::uint32_t>(parts_.size()),
                    .place = static_cast<std::uint32_t>(parts_.back().count - 1)};
    bytes_[i] = {.length = chunk.size(), .crc32c = crc32c(chunk)};
  } catch (const Error& failure) {
    if (to.error.empty()) to.error = failure.what();
    to.results[i] = ErrorReason::storage;
  }
}

void DenseStore::compress(const Target& to) {
  const auto images = to.stack.view();
  given_.clear();
  for (const std::size_t i : places_) given_.push_back({images[i].dense(), images[i].may_change()});
  const auto intact = [&](std::size_t n, const std::byte* read) { return to.stack.intact(images[places_[n]], read); };
  pool_->run(given_, intact, [&](std::size_t n, std::span<const std::byte> chunk) {
    const std::size_t i = places_[n];
    if (chunk.empty()) {
      to.results[i] = ErrorReason::overwritten;
      return;
    }
    if (config_.chunks) config_.chunks->offer(images[i].index, chunk);
    keep(to, i, chunk);
  });
}

void DenseStore::put(const Stack& stack, std::span<StoredPlace> stored, std::span<ErrorReason> results,
                     std::string& error) {
  places_.clear();
  const auto images = stack.view();
  bytes_.assign(images.size(), {});
  for (std::size_t i = 0; i < images.size(); ++i) {
    if (images[i].decision == Decision::accepted) places_.push_back(i);
  }
  if (places_.empty()) return;
  const Target to{stack, stored, results, error};
  if (pool_) {
    compress(to);
  } else {
    for (const std::size_t i : places_) keep(to, i, images[i].chunk);
  }
  flush_parts(error);
}

/// Completes one file as far as that is possible, and looks what is in it.
void DenseStore::complete(std::size_t number, std::string& said) {
  Part& part = parts_[number];
  const std::filesystem::path path = files_.data(number + 1);
  std::string why;
  if (part.file) {
    if (!part.file->is_at(path)) why = says_gone(path);
    try {
      if (!part.set.valid()) reopen_data(part);
      // Drops the room made for an image that could not be written.
      const hsize_t shape[3] = {part.count, config_.height, config_.width};
      h5::check(H5Dset_extent(part.set.get(), shape), "set the number of images");
    } catch (const Error& failure) {
      if (why.empty()) why = failure.what();
    }
    const bool closed = part.set.close() && part.file->flush();
    if (!closed && why.empty()) why = h5::failure("complete ", path.native());
    part.file->close();
    part.file.reset();
  }
  const std::string gone = part.lost;
  if (gone.empty()) {
    std::string failed = lift_mark(path);
    correct_number(number, part.count, said);
    if (failed.empty()) failed = bring_file_to_disk(path);
    // The copy in memory may be the only one of the image.
    const std::uint64_t there = failed.empty() ? std::min(part.count, readable(path, kImages)) : 0;
    if (failed.empty() && there < part.count) {
      correct_number(number, there, said);
      failed = bring_file_to_disk(path);
    }
    if (!failed.empty()) why = failed;
    set_flushed(part, failed.empty() ? there : 0);
  }
  if (part.flushed < part.count && gone.empty()) {
    part.lost = why.empty() ? path.string() + " does not hold all that was written to it" : why;
  }
}

/// Attributes may not change while readers follow the file; the number for a full one is corrected afterwards, and
/// before the file is brought to the disk. One that cannot be is said, and no reason to give up images.
void DenseStore::correct_number(std::size_t number, std::uint64_t images, std::string& error) try {
  if (images == 0 || images == config_.images_per_file) return;
  const std::uint64_t high = parts_[number].first + images;
  const h5::Handle access = h5::writing_access();
  h5::check(H5Pset_file_locking(access.get(), false, true), "switch file locks off");
  const std::string name = name_of(number);
  h5::Handle file(H5Fopen(name.c_str(), H5F_ACC_RDWR, access.get()), H5Fclose, "reopen ", name);
  {
    const h5::Handle set = h5::open_dataset(file.get(), kImages);
    const h5::Handle attribute(H5Aopen(set.get(), "image_nr_high", H5P_DEFAULT), H5Aclose, "open image_nr_high");
    h5::check(H5Awrite(attribute.get(), H5T_NATIVE_UINT64, &high), "write image_nr_high");
  }
  if (!file.close()) throw FileError(h5::failure("complete ", name));
} catch (const Error& failure) {
  if (error.empty()) error = failure.what();
}

void DenseStore::settle(std::string& error) {
  for (std::size_t number = 0; number < parts_.size(); ++number) {
    std::string said;
    complete(number, said);
    if (error.empty()) error = parts_[number].lost.empty() ? said : parts_[number].lost;
  }
}

}  // namespace

std::unique_ptr<ImageStore> make_dense_store(const Hdf5Config& config, const OutputFiles& files) {
  return std::make_unique<DenseStore>(config, files);
}

}  // namespace rashpa::sink
