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

/// Stores the accepted images of an Hdf5Sink in data files. Only the sink's thread uses it.
class ImageStore {
 public:
  virtual ~ImageStore() = default;
  /// Stores the accepted images of the stack in order. `stored` gets their places; `results` gets failures, and `error`
  /// the first reason. Does not throw.
  virtual void put(const Stack& stack, std::span<StoredPlace> stored, std::span<ErrorReason> results,
                   std::string& error) = 0;
  /// Returns the bytes in which an image of the last stack is stored.
  [[nodiscard]] virtual RawPlace raw_place(std::size_t image) const = 0;
  /// Reports that the rows of the last stack are in the journal.
  virtual void noted() {}
  /// Handles finished work of the storage; called from time to time, also without new stacks. Returns true when stats()
  /// has changed.
  virtual bool poll() { return false; }
  /// Completes the data files after the last put(), flushes them to the disk and verifies their content. Puts the first
  /// reason of a failure into `error`. Does not throw.
  virtual void settle(std::string& error) = 0;
  /// Returns true for an image that is stored: before settle() when it was flushed, after settle() when it can be read.
  [[nodiscard]] virtual bool holds(const StoredPlace& image) const = 0;
  /// Returns the reason why an image is lost, as text.
  [[nodiscard]] virtual std::string why_lost(const StoredPlace& image) const = 0;
  [[nodiscard]] virtual SinkStats stats() const noexcept = 0;
};

/// Makes the store and its first file. `files` outlives the store. Throws FileError.
std::unique_ptr<ImageStore> make_dense_store(const Hdf5Config& config, const OutputFiles& files);
std::unique_ptr<ImageStore> make_sparse_store(const Hdf5Config& config, const OutputFiles& files);
/// Makes a store of raw files; `writer` replaces the writer of the configuration.
std::unique_ptr<ImageStore> make_raw_store(const Hdf5Config& config, const OutputFiles& files);
std::unique_ptr<ImageStore> make_raw_store(const Hdf5Config& config, const OutputFiles& files,
                                           std::unique_ptr<BlockWriter> writer);

}  // namespace rashpa::sink
