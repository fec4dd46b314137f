// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "rashpa/core/frame/stack.hpp"
#include "rashpa/sink/hdf5/hdf5_io.hpp"
#include "rashpa/sink/hdf5_config.hpp"
#include "rashpa/sink/journal/frame_rows.hpp"
#include "rashpa/sink/output_files.hpp"

namespace rashpa::sink {

class BlockWriter;  // raw/block_writer.hpp

/// Stores the accepted images of an Hdf5Sink in data files. Used by its thread only.
class ImageStore {
 public:
  virtual ~ImageStore() = default;
  /// Stores the accepted images of the stack in order and says where in `stored`, or in `results` that it could not,
  /// and why in `error` (the first reason only). Does not throw.
  virtual void put(const Stack& stack, std::span<StoredPlace> stored, std::span<ErrorReason> results,
                   std::string& error) = 0;
  /// The bytes that hold an image of the last stack.
  [[nodiscard]] virtual RawPlace raw_place(std::size_t image) const = 0;
  /// The rows of the last stack are in the journal.
  virtual void noted() {}
  /// Called now and then, also while no stack comes: takes finished work of the storage. True when stats() has changed.
  virtual bool poll() { return false; }
  /// Completes the data files after the last put(), brings them to the disk and looks what is in them. Puts the first
  /// reason into `error`. Does not throw.
  virtual void settle(std::string& error) = 0;
  /// Returns true before settle() when the image came through a flush, and after it when the image can be read.
  [[nodiscard]] virtual bool holds(const StoredPlace& image) const = 0;
  /// Returns why not, in words.
  [[nodiscard]] virtual std::string why_lost(const StoredPlace& image) const = 0;
  [[nodiscard]] virtual SinkStats stats() const noexcept = 0;
};

/// The first file is created at once; throws FileError. `files` outlives the store.
std::unique_ptr<ImageStore> make_dense_store(const Hdf5Config& config, const OutputFiles& files);
std::unique_ptr<ImageStore> make_sparse_store(const Hdf5Config& config, const OutputFiles& files);
/// `writer`: a writer in place of the one that the configuration names.
std::unique_ptr<ImageStore> make_raw_store(const Hdf5Config& config, const OutputFiles& files);
std::unique_ptr<ImageStore> make_raw_store(const Hdf5Config& config, const OutputFiles& files,
                                           std::unique_ptr<BlockWriter> writer);

}  // namespace rashpa::sink
