// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>

#include "rashpa/core/error.hpp"
#include "rashpa/core/numbers/checksum.hpp"
#include "rashpa/sink/hdf5/data_file.hpp"
#include "rashpa/sink/hdf5/hdf5_column.hpp"
#include "rashpa/sink/image_store.hpp"

namespace rashpa::sink {
namespace {

constexpr std::size_t kChunk = std::size_t{1}
                               << 18;  // elements: large enough to compress well, small enough to read one image

/// <prefix>_data_000001.h5 with /entry/data/{index, intensity}, the elements of all images one after the other. They
/// reach the file in chunks, so that the latest images wait for others, or for settle(), to be written.
class SparseStore final : public ImageStore {
 public:
  SparseStore(const Hdf5Config& config, const OutputFiles& files) : config_(config), files_(files) {
    const std::filesystem::path path = files.data(1);
    file_.emplace(path);
    try {
      make_data();
      file_->follow();
    } catch (const Error&) {
      index_.reset();
      intensity_.reset();
      file_->discard(path);
      throw;
    }
  }

  void put(const Stack& stack, std::span<StoredPlace> stored, std::span<ErrorReason> results,
           std::string& error) override {
    const auto images = stack.view();
    bytes_.assign(images.size(), {});
    for (std::size_t i = 0; i < images.size(); ++i) {
      if (images[i].decision != Decision::accepted) continue;
      if (store(images[i], error)) {
        stored[i] = {.file = 1, .place = static_cast<std::uint32_t>(ends_.size()), .end = elements_};
        bytes_[i] = bytes_of_list(images[i].sparse);
        ends_.push_back(elements_);
      } else {
        results[i] = ErrorReason::storage;
      }
    }
    flush(error);
  }

  void settle(std::string& error) override;
  [[nodiscard]] RawPlace raw_place(std::size_t image) const override { return bytes_[image]; }
  [[nodiscard]] bool holds(const StoredPlace& image) const override { return image.place < written_; }
  [[nodiscard]] std::string why_lost(const StoredPlace&) const override { return lost_; }
  [[nodiscard]] SinkStats stats() const noexcept override {
    const std::size_t element = sizeof(std::uint32_t) + pixel_bytes(config_.pixel);
    return {.images_written = written_,
            .bytes_written = (written_ == 0 ? 0 : ends_[written_ - 1]) * element,
            .bytes_stored = bytes_stored_};
  }

 private:
  void make_data() {
    const h5::Handle entry = h5::group(file_->get(), "entry", "NXentry");
    const h5::Handle data = h5::group(entry.get(), "data", "NXdata");
    index_.emplace(h5::column<std::uint32_t>(data.get(), "index", kChunk, h5::Storage::bitshuffle_lz4));
    intensity_.emplace(value_column(data.get()));
    h5::text_attribute(index_->dataset(), "description", "row * width + column");
    h5::text_attribute(intensity_->dataset(), "units", "photons");
  }

  [[nodiscard]] RawPlace bytes_of_list(const SparseView& list) const noexcept {
    const std::span index(list.index, list.count);
    const std::span values(static_cast<const std::byte*>(list.value), list.count * pixel_bytes(config_.pixel));
    return {.length = list.count, .crc32c = crc32c(values, crc32c(std::as_bytes(index)))};
  }

  h5::Column value_column(hid_t data) const {
    const auto column = [&]<typename T>(T) {
      return h5::column<T>(data, "intensity", kChunk, h5::Storage::bitshuffle_lz4);
    };
    switch (config_.pixel) {
      case PixelType::u8:
        return column(std::uint8_t{});
      case PixelType::u16:
        return column(std::uint16_t{});
      case PixelType::u32:
        return column(std::uint32_t{});
      case PixelType::i32:
        return column(std::int32_t{});
      default:
        return column(std::int16_t{});
    }
  }

  /// Images whose elements all are among the first `elements` are there.
  void set_readable(std::uint64_t elements) {
    const auto end = std::upper_bound(ends_.begin(), ends_.end(), elements);
    written_ = static_cast<std::uint64_t>(end - ends_.begin());
  }

  void flush(std::string& error) {
    bytes_stored_ = index_->bytes_stored() + intensity_->bytes_stored();
    if (!file_->is_at(files_.data(1))) {
      broken_ = true;
      lost_ = says_gone(files_.data(1));
      if (error.empty()) error = lost_;
      return set_readable(0);
    }
    const std::uint64_t whole = std::min(index_->stored(), intensity_->stored());
    if (whole == flushed_ || broken_) return;
    if (H5Dflush(index_->dataset()) < 0 || H5Dflush(intensity_->dataset()) < 0) {
      if (error.empty()) error = h5::failure("flush the data");
      return;  // tried again with the next stack, and at the end
    }
    flushed_ = whole;
    set_readable(whole);
  }

  bool store(const StackImage& image, std::string& error) {
    // After a failure the columns hold part of an image: nothing can follow it.
    if (broken_) return false;
    try {
      index_->append(image.sparse.index, image.sparse.count);
      intensity_->append(image.sparse.value, image.sparse.count);
      elements_ += image.sparse.count;
      return true;
    } catch (const Error& failure) {
      broken_ = true;
      if (error.empty())
        error = config_.prefix + ": " + failure.what() + ". CSR images share chunks: no further one is stored";
      return false;
    }
  }

  Hdf5Config config_;
  const OutputFiles& files_;
  std::optional<DataFile> file_;
  std::optional<h5::Column> index_, intensity_;
  std::vector<std::uint64_t> ends_;  // of each image stored, in elements
  std::vector<RawPlace> bytes_;      // of the last stack, by image
  std::uint64_t elements_ = 0;
  std::uint64_t flushed_ = 0;  // elements
  std::uint64_t written_ = 0;  // images
  std::uint64_t bytes_stored_ = 0;
  bool broken_ = false;
  std::string lost_;
};

void SparseStore::settle(std::string& error) {
  const std::filesystem::path path = files_.data(1);
  std::string why = lost_;
  if (why.empty() && !file_->is_at(path)) why = says_gone(path);
  const bool gone = !why.empty();
  try {
    for (auto* column : {&index_, &intensity_}) {
      (*column)->truncate(elements_);  // a failed append may have left part of an image
      (*column)->flush();
    }
  } catch (const Error& failure) {
    if (why.empty()) why = failure.what();
  }
  bytes_stored_ = index_->bytes_stored() + intensity_->bytes_stored();
  index_.reset();
  intensity_.reset();
  if (!file_->flush() && why.empty()) why = h5::failure("complete ", path.native());
  file_->close();
  const std::string failed = gone ? std::string() : complete_on_disk(path);
  if (!failed.empty()) why = failed;
  const bool there = !gone && failed.empty();
  set_readable(there ? std::min(readable(path, "/entry/data/index"), readable(path, "/entry/data/intensity")) : 0);
  // Images without any element are there as soon as the file is.
  if (!there) written_ = 0;
  if (written_ < ends_.size()) lost_ = why.empty() ? path.string() + " does not hold all that was written to it" : why;
  if (error.empty()) error = lost_;
}

}  // namespace

std::unique_ptr<ImageStore> make_sparse_store(const Hdf5Config& config, const OutputFiles& files) {
  return std::make_unique<SparseStore>(config, files);
}

}  // namespace rashpa::sink
