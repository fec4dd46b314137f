#pragma once
#include <cstdint>
#include <memory>
#include <span>

#include "rashpa/core/stack.hpp"
#include "rashpa/sink/hdf5_io.hpp"
#include "rashpa/sink/hdf5_sink.hpp"

namespace rashpa::sink {

/// Stores the accepted images of an Hdf5Sink. Used by its thread only.
class ImageStore {
 public:
  virtual ~ImageStore() = default;
  /// Stores the accepted ones of `images` in order and sets stored[i] to the image's place; makes those that cannot be
  /// stored errored and says why in `error` (the first reason only). Does not throw.
  virtual void put(std::span<StackImage> images, std::span<std::int64_t> stored, std::string& error) = 0;
  /// Completes the data and what refers to it. Throws FileError.
  virtual void close() = 0;
  [[nodiscard]] virtual SinkStats stats() const noexcept = 0;
};

/// `data` is the master's /entry/data. The first file is created at once; throws FileError.
std::unique_ptr<ImageStore> make_dense_store(const Hdf5Config& config, hid_t data);
std::unique_ptr<ImageStore> make_sparse_store(const Hdf5Config& config, hid_t data);

/// Name of data file `number`, counted from 1, without its folder.
std::string data_file_name(const Hdf5Config& config, std::uint64_t number);

}  // namespace rashpa::sink
