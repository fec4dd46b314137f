#include "rashpa/core/error.hpp"
#include "rashpa/sink/hdf5_column.hpp"
#include "rashpa/sink/image_store.hpp"

namespace rashpa::sink {
namespace {

constexpr std::size_t kChunk = std::size_t{1}
                               << 18;  // elements: large enough to compress well, small enough to read one image
constexpr std::size_t kRows = 1024;

/// /entry/data/{index, intensity, frame_ptr}: image i owns elements frame_ptr[i] to frame_ptr[i + 1].
class SparseStore final : public ImageStore {
 public:
  SparseStore(const Hdf5Config& config, hid_t data)
      : index_(h5::column<std::uint32_t>(data, "index", kChunk, h5::Storage::bitshuffle_lz4)),
        intensity_(h5::column<std::int16_t>(data, "intensity", kChunk, h5::Storage::bitshuffle_lz4)),
        frame_ptr_(h5::column<std::uint64_t>(data, "frame_ptr", kRows)),
        frame_number_(h5::column<std::uint64_t>(data, "frame_number", kRows)) {
    h5::text_attribute(data, "signal", "intensity");
    const std::uint32_t shape[2] = {config.height, config.width};
    h5::attribute<std::uint32_t>(data, "image_shape", shape);
    h5::text_attribute(index_.dataset(), "description", "row * width + column");
    h5::text_attribute(intensity_.dataset(), "units", "photons");
    frame_ptr_.append(&elements_, 1);
  }

  void put(std::span<StackImage> images, std::span<std::int64_t> stored, std::string& error) override {
    for (std::size_t i = 0; i < images.size(); ++i) {
      if (images[i].decision != Decision::accepted) continue;
      if (store(images[i], error)) {
        stored[i] = static_cast<std::int64_t>(images_++);
      } else {
        images[i].decision = Decision::errored;
      }
    }
  }

  void close() override {
    index_.truncate(elements_);  // a failed append may have left part of an image
    intensity_.truncate(elements_);
    for (h5::Column* column : {&index_, &intensity_, &frame_ptr_, &frame_number_}) column->flush();
  }

  [[nodiscard]] SinkStats stats() const noexcept override {
    return {.images_written = images_,
            .bytes_in = elements_ * 6,
            .bytes_written = index_.bytes_written() + intensity_.bytes_written()};
  }

 private:
  bool store(const StackImage& image, std::string& error) {
    // After a failure the columns hold part of an image: nothing can follow it.
    if (broken_) return false;
    try {
      index_.append(image.sparse.index, image.sparse.count);
      intensity_.append(image.sparse.value, image.sparse.count);
      const std::uint64_t end = elements_ + image.sparse.count;
      frame_ptr_.append(&end, 1);
      frame_number_.append(&image.frame_number, 1);
      elements_ = end;
      return true;
    } catch (const Error& failure) {
      broken_ = true;
      if (error.empty()) error = failure.what();
      return false;
    }
  }

  h5::Column index_, intensity_, frame_ptr_, frame_number_;
  std::uint64_t elements_ = 0;
  std::uint64_t images_ = 0;
  bool broken_ = false;
};

}  // namespace

std::unique_ptr<ImageStore> make_sparse_store(const Hdf5Config& config, hid_t data) {
  return std::make_unique<SparseStore>(config, data);
}

}  // namespace rashpa::sink
