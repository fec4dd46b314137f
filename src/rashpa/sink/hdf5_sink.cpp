#include "rashpa/sink/hdf5_sink.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <mutex>
#include <utility>

#include "rashpa/core/error.hpp"
#include "rashpa/sink/frame_tables.hpp"
#include "rashpa/sink/image_store.hpp"
#include "rashpa/sink/nxmx_tree.hpp"

namespace rashpa::sink {
namespace {

namespace fs = std::filesystem;

void check_request(const Hdf5Config& config) {
  const auto refuse = [](const std::string& why) { throw ConfigError("hdf5 sink: " + why); };
  const std::uint64_t pixels = std::uint64_t{config.width} * config.height;
  if (pixels == 0) refuse("width and height must be at least 1");
  if (pixels * pixel_bytes(config.pixel) >= std::uint64_t{1} << 32)
    refuse("an image of 4 GiB or more does not fit an HDF5 chunk");
  if (config.images_per_file == 0) refuse("images_per_file must be at least 1");
  if (config.threads == 0) refuse("threads must be at least 1");
  if (config.form == ImageForm::sparse && config.pixel != PixelType::i16)
    refuse("CSR images hold photons, pixel type int16");
  if (!config.metadata.pixel_mask.empty() && config.metadata.pixel_mask.size() != pixels) {
    refuse(fmt::format("pixel_mask has {} values for an image of {} × {}", config.metadata.pixel_mask.size(),
                       config.height, config.width));
  }
}

/// Refuses early and in plain words what the library would refuse late and in its own.
void check_folder(const Hdf5Config& config) {
  if (fs::path(config.prefix).filename().empty()) {
    throw FileError("hdf5 sink: prefix '" + config.prefix + "' names no file; give folder/name");
  }
  const fs::path folder = fs::absolute(config.prefix).parent_path();
  if (!fs::is_directory(folder)) {
    throw FileError("hdf5 sink: folder " + folder.string() + " does not exist; create it or change the prefix");
  }
  if (::access(folder.c_str(), W_OK) != 0) {
    throw FileError("hdf5 sink: folder " + folder.string() + " cannot be written (" + errno_text(errno) +
                    "); change its permissions or the prefix");
  }
  const std::uint64_t files = config.form == ImageForm::sparse ? 0 : config.images / config.images_per_file + 1;
  const auto refuse_existing = [&](const std::string& name) {
    if (fs::exists(folder / name)) {
      throw FileError("hdf5 sink: " + (folder / name).string() + " exists; remove it or change the prefix");
    }
  };
  refuse_existing(fs::path(config.prefix).filename().string() + "_master.h5");
  for (std::uint64_t i = 1; i <= files; ++i) refuse_existing(data_file_name(config, i));
}

h5::Handle create_master(const Hdf5Config& config) {
  check_request(config);
  check_folder(config);
  h5::silence();
  const std::string name = config.prefix + "_master.h5";
  const h5::Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, "create file properties");
  // Readers wait for close(), where the file system knows locks.
  h5::check(H5Pset_file_locking(access.get(), true, true), "choose file locks");
  return {H5Fcreate(name.c_str(), H5F_ACC_EXCL, H5P_DEFAULT, access.get()), H5Fclose, "create " + name};
}

}  // namespace

struct Hdf5Sink::Impl {
  explicit Impl(const Hdf5Config& config)
      : expected(config.images),
        file(create_master(config)),
        entry(h5::group(file.get(), "entry", "NXentry")),
        detector(write_nxmx_tree(file.get(), entry.get(), config.metadata,
                                 {config.width, config.height, config.pixel, config.images})),
        data(h5::group(entry.get(), "data", "NXdata")),
        store(config.form == ImageForm::sparse ? make_sparse_store(config, data.get())
                                               : make_dense_store(config, data.get())),
        tables(std::make_unique<FrameTables>(entry.get(), config.metadata, config.buffer)) {
    h5::check(H5Fflush(file.get(), H5F_SCOPE_LOCAL), "flush the master file");
  }

  void keep_error(const std::string& text) {
    const std::lock_guard lock(mutex);
    if (first_error.empty()) first_error = text;
  }

  /// Everything that is written at the end; the reason when that failed.
  std::string complete(const Books& books) {
    std::string failure;
    const auto attempt = [&](auto&& step) {
      try {
        step();
      } catch (const Error& error) {
        if (failure.empty()) failure = error.what();
      }
    };
    // Each step on its own: a data file that cannot be completed does not take the tables with it.
    attempt([&] { store->close(); });
    attempt([&] { tables->close(books); });
    attempt([&] {
      finish_nxmx_tree(entry.get(), detector.get(), expected, books.complete + books.partial,
                       store->stats().images_written);
    });
    return failure;
  }

  std::uint64_t expected;
  h5::Handle file, entry, detector, data;
  std::unique_ptr<ImageStore> store;
  std::unique_ptr<FrameTables> tables;
  std::vector<std::int64_t> stored;  // scratch of put(), grown to the stack's size once
  bool closed = false;
  mutable std::mutex mutex;  // guards what stats() and error() read
  SinkStats stats;
  std::string first_error;
};

Hdf5Sink::Hdf5Sink(const Hdf5Config& config) : impl_(std::make_unique<Impl>(config)) {}

Hdf5Sink::~Hdf5Sink() {
  try {
    if (!impl_->closed) close(Books{});
  } catch (const Error&) {  // the files stay as far as they came; whoever wanted to know has called close()
  }
}

void Hdf5Sink::put(Stack& stack) {
  h5::silence();
  const auto images = stack.view();
  impl_->stored.assign(std::max(impl_->stored.size(), images.size()), -1);
  std::string error;
  impl_->store->put(images, std::span(impl_->stored).first(images.size()), error);
  try {
    for (std::size_t i = 0; i < images.size(); ++i) impl_->tables->append(images[i], impl_->stored[i]);
  } catch (const Error& failure) {
    if (error.empty()) error = failure.what();
  }
  if (!error.empty()) impl_->keep_error(error);
  const std::lock_guard lock(impl_->mutex);
  impl_->stats = impl_->store->stats();
}

void Hdf5Sink::close(const Books& books) {
  if (std::exchange(impl_->closed, true)) return;
  h5::silence();
  std::string failure = impl_->complete(books);
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->stats = impl_->store->stats();
  }
  // Whatever happened, the files are let go, so that readers can open what there is.
  impl_->tables.reset();
  impl_->store.reset();
  for (h5::Handle* handle : {&impl_->data, &impl_->detector, &impl_->entry, &impl_->file}) {
    if (!handle->close() && failure.empty()) failure = "hdf5: cannot complete the master file: " + h5::last_error();
  }
  if (failure.empty()) return;
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
