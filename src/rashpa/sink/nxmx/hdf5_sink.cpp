// SPDX-License-Identifier: Apache-2.0
#include "rashpa/sink/nxmx/hdf5_sink.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <utility>

#include "rashpa/core/error.hpp"
#include "rashpa/core/time/clock.hpp"
#include "rashpa/sink/image_store.hpp"
#include "rashpa/sink/journal/frame_rows.hpp"
#include "rashpa/sink/nxmx/master.hpp"
#include "rashpa/sink/output_files.hpp"
#include "rashpa/sink/stores/accumulation_store.hpp"
#include "rashpa/sink/stores/table_store.hpp"

namespace rashpa::sink {
namespace {

constexpr int kAttempts = 3;  // to complete the master: a full disk may be full for a moment
constexpr std::chrono::milliseconds kPause{300};

void check_request(const Hdf5Config& config) {
  const auto refuse = [&](const std::string& why) { throw ConfigError(sink_of(config.form) + why); };
  const std::uint64_t pixels = std::uint64_t{config.width} * config.height;
  if (pixels == 0) refuse("width or height is 0; give 1 or more");
  if (pixels * pixel_bytes(config.pixel) >= std::uint64_t{1} << 32)
    refuse("an image of 4 GiB or more does not fit an HDF5 chunk; use several buffers");
  if (config.images_per_file == 0) refuse("images_per_file is 0; give 1 or more");
  if (config.threads == 0) refuse("threads is 0; give 1 or more");
  if (config.form == ImageForm::raw && (config.raw.in_flight == 0 || config.raw.in_flight > 128))
    refuse("in_flight is not possible; give 1 to 128");
  if (config.form == ImageForm::sparse && config.pixel == PixelType::f32)
    refuse("CSR images cannot hold float32 pixels; convert them to photons of an integer type");
  if (!config.metadata.pixel_mask.empty() && config.metadata.pixel_mask.size() != pixels) {
    refuse(fmt::format("pixel_mask has {} values for an image of {} × {}; give one for each pixel",
                       config.metadata.pixel_mask.size(), config.height, config.width));
  }
}

/// Room for completing: the tables with the overhead of HDF5, links, the copy of the master, and the open bytes of data
/// files.
FrameRows::Reserve reserve_for(const Hdf5Config& config) {
  constexpr std::uint64_t kImage = 72, kFile = 2048, kFixed = 1U << 20, kChunks = 4U << 20, kTableChunk = 16384;
  const std::uint64_t mask = config.metadata.pixel_mask.size() * sizeof(std::uint32_t);
  const std::uint64_t image = kImage + config.results.columns.size() * sizeof(Scalar) +
                              config.results.tables.size() * sizeof(std::uint64_t) + kFile / config.images_per_file + 1;
  std::uint64_t tables = 0;
  for (const Table& table : config.results.tables) tables += table.columns.size() * (kFile + kTableChunk);
  for (const Profile& profile : config.results.profiles) {
    constexpr std::uint64_t kProfileChunk = 131072;  // or one image
    tables += profile.arrays.size() * (kFile + std::max(kProfileChunk, profile.bins() * sizeof(double)));
  }
  return {.fixed = kFile + kFixed + mask + tables + (config.form == ImageForm::sparse ? kChunks : 0), .image = image};
}

std::unique_ptr<ImageStore> make_store(const Hdf5Config& config, const OutputFiles& files) {
  if (config.form == ImageForm::sparse) return make_sparse_store(config, files);
  return config.form == ImageForm::raw ? make_raw_store(config, files) : make_dense_store(config, files);
}

h5::Handle first_master(const Hdf5Config& config, const OutputFiles& files) {
  h5::silence();
  h5::need_locks();
  return create_master(config, files.master());
}

}  // namespace

struct Hdf5Sink::Impl {
  explicit Impl(const Hdf5Config& config)
      : files(config),
        rows(files.journal(),
             {.images = config.end == End::known ? config.images : JournalHeader::kNotKnown,
              .slice = config.slice,
              .width = config.width,
              .height = config.height,
              .pixel = config.pixel,
              .form = config.form,
              .results = config.results},
             reserve_for(config)),
        master(first_master(config, files)),
        mask(config.special_mask),
        store(make_store(config, files)),
        keeps_index(config.form == ImageForm::raw) {
    if (!config.results.tables.empty() || !config.results.profiles.empty()) tables.emplace(config.results, files);
    if (!config.results.accumulations.empty())
      accumulations.emplace(config.results.accumulations, files, config.threads);
  }

  void keep_error(const std::string& text) {
    const std::lock_guard lock(mutex);
    if (first_error.empty()) first_error = text;
  }
  void keep_stats() {
    const std::lock_guard lock(mutex);
    stats = store->stats();
    if (accumulations) stats.bytes_stored += accumulations->bytes_stored();
    if (!tables) return;
    stats.images_written = std::min(stats.images_written, with_rows);
    stats.bytes_stored += tables->bytes_stored();
  }

  [[nodiscard]] std::string journal_fails() const {
    return std::string(sink_of(rows.header().form)) + "the journal of the tables cannot be written";
  }

  /// Completes the master; the reason when that failed.
  std::string complete(const Books& books) {
    const std::vector<std::int64_t> places =
        index_stored(rows, [this](const StoredPlace& image) { return store->holds(image); });
    std::string failure;
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      if (attempt > 0) std::this_thread::sleep_for(kPause);
      try {
        if (keeps_index) keep_facts(files.prefix());
        const std::string without_peaks =
            complete_master(files.prefix(), {.rows = rows,
                                             .stored_index = places,
                                             .books = books,
                                             .lasted_ns = static_cast<std::uint64_t>(now_ns() - made_ns),
                                             .special_mask = mask ? mask->bits() : std::span<const std::uint32_t>()});
        if (!without_peaks.empty()) keep_error("the master is without lists of peaks: " + without_peaks);
        return {};
      } catch (const Error& error) {
        failure = error.what();
      }
    }
    const bool noted = rows.note();
    const std::string prefix = files.prefix().string();
    return fmt::format("{}; the master {}_master.h5 is not complete: {}", failure, prefix,
                       noted ? "make room and type rashpa repair " + prefix
                             : "its tables could not be kept in " + prefix + "_master.journal either, not all of them");
  }

  std::int64_t made_ns = now_ns();  // the master, whose start_time is of then
  OutputFiles files;
  FrameRows rows;
  h5::Handle master;  // for its lock
  std::shared_ptr<const SpecialMask> mask;
  std::unique_ptr<ImageStore> store;
  std::optional<TableStore> tables;
  std::optional<AccumulationStore> accumulations;
  std::uint64_t with_rows = 0;      // stored images of which all rows are in the file
  std::vector<StoredPlace> stored;  // scratch of put(), grown to the stack's size once …
  std::vector<std::uint32_t> sums;  // … and of the images' rows of tables
  bool keeps_index;                 // of raw files: their journal says where images are
  bool settled = false;
  bool closed = false;
  mutable std::mutex mutex;  // guards what stats() and error() read
  SinkStats stats;
  std::string first_error;
};

Hdf5Sink::Hdf5Sink(const Hdf5Config& config) {
  check_request(config);
  impl_ = std::make_unique<Impl>(config);
}

Hdf5Sink::~Hdf5Sink() {
  // A run that never began leaves nothing. A run that was not closed stays as a killed process leaves it, for repair().
}

void Hdf5Sink::begin() { impl_->files.begin(); }

Put Hdf5Sink::put(const Stack& stack, std::span<ErrorReason> results) {
  h5::silence();
  const auto images = stack.view();
  impl_->stored.assign(std::max(impl_->stored.size(), images.size()), {});
  impl_->sums.assign(impl_->stored.size(), 0);
  std::string error;
  try {
    begin();
    impl_->store->put(stack, std::span(impl_->stored).first(images.size()), results, error);
    if (impl_->tables) put_tables(stack, results, error);
    if (impl_->accumulations) impl_->accumulations->put(stack.accumulated, error);
  } catch (const Error& failure) {
    error = failure.what();
    for (std::size_t i = 0; i < images.size(); ++i) {
      if (images[i].decision == Decision::accepted) results[i] = ErrorReason::storage;
    }
  }
  for (std::size_t i = 0; i < images.size(); ++i) {
    RawPlace bytes;
    if (impl_->stored[i].file != 0) bytes = impl_->store->raw_place(i);
    bytes.rows_crc32c = impl_->sums[i];
    impl_->rows.append(images[i], results[i], impl_->stored[i], bytes);
  }
  if (impl_->rows.note()) {
    impl_->store->noted();
  } else if (error.empty()) {
    error = impl_->journal_fails();
  }
  if (!error.empty()) impl_->keep_error(error);
  impl_->keep_stats();
  return Put::done;
}

/// The rows of images that are stored; an image of which they are not is not stored.
void Hdf5Sink::put_tables(const Stack& stack, std::span<ErrorReason> results, std::string& error) {
  const auto images = stack.view();
  for (std::size_t i = 0; i < images.size(); ++i) {
    if (images[i].decision != Decision::accepted || results[i] != ErrorReason::none) continue;
    if (!impl_->tables->put(images[i], impl_->sums[i], error)) results[i] = ErrorReason::storage;
  }
  impl_->with_rows = impl_->tables->flush(error);
}

void Hdf5Sink::poll() noexcept {
  if (impl_->store->poll()) impl_->keep_stats();
}

void Hdf5Sink::put_windows(const Accumulated& accumulated) {
  if (!impl_->accumulations) return;
  h5::silence();
  std::string error;
  impl_->accumulations->put(accumulated, error);
  if (!error.empty()) impl_->keep_error(error);
  impl_->keep_stats();
}

void Hdf5Sink::skip(std::span<const SkippedImage> images) {
  for (const SkippedImage& image : images) impl_->rows.append(image);  // reach the journal with the next stack
}

std::vector<LostImage> Hdf5Sink::settle() {
  if (std::exchange(impl_->settled, true)) return {};
  h5::silence();
  std::string error;
  if (!impl_->rows.note()) error = impl_->journal_fails();
  impl_->rows.give_back_reserve();
  // The files may wait for their master: until then the journal tells of the images, also after a loss of power.
  if (!impl_->rows.sync() && error.empty()) error = impl_->journal_fails();
  impl_->files.sync_names();
  impl_->store->settle(error);
  const TableRows there = impl_->tables ? impl_->tables->settle(error) : TableRows{};
  if (impl_->accumulations) impl_->accumulations->settle(error);
  if (!error.empty()) impl_->keep_error(error);
  RowsOfImages rows_of_images(there);
  std::uint64_t kept = 0;
  std::vector<LostImage> lost;
  for (std::size_t i = 0; i < impl_->rows.size(); ++i) {
    FrameRow& row = impl_->rows.row(i);
    const bool rows_there = rows_of_images.are_there(row);
    if (row.decision != Decision::accepted) continue;
    const bool image_there = impl_->store->holds(row.stored);
    if (image_there && rows_there) {
      kept += 1;
      continue;
    }
    lost.push_back({.index = row.index,
                    .frame_number = row.frame_number,
                    .reason = image_there
                                  ? "its rows of a table or its profiles are not in " + impl_->files.tables().string()
                                  : impl_->store->why_lost(row.stored)});
    row.decision = Decision::errored;
    row.error = ErrorReason::storage;
  }
  impl_->with_rows = kept;
  impl_->keep_stats();
  return lost;
}

void Hdf5Sink::close(const Books& books) {
  if (std::exchange(impl_->closed, true)) return;
  begin();
  settle();
  h5::silence();
  const std::string failure = impl_->complete(books);
  impl_->master.close();  // lets readers in, to the new one or the old one
  if (failure.empty()) return impl_->keeps_index ? void() : impl_->files.complete();
  impl_->keep_error(failure);
  throw FileError(failure);
}

SinkStats Hdf5Sink::stats() const noexcept {
  const std::lock_guard lock(impl_->mutex);
  return impl_->stats;
}

std::string Hdf5Sink::error() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->first_error;
}

}  // namespace rashpa::sink
