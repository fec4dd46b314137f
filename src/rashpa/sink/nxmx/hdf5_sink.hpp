// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "rashpa/sink/hdf5_config.hpp"
#include "rashpa/sink/sink.hpp"

namespace rashpa::sink {

/// Writes NXmx (docs/reference/files.md): accepted images in order, and under /entry/rashpa one row for every image of
/// the run, the lost lines and the books; rows of tables lie in <prefix>_tables.h5, accumulations in
/// <prefix>_accumulated.h5. Data files can be read while they grow (SWMR); the master file is made complete by close(),
/// at once: until then it has the content that the constructor wrote.
///
/// Until begin() all files have the suffix ".new", and go when it is never called. The rows of the tables are kept in
/// memory and in a journal, <prefix>_master.journal, which holds room for the master besides, so that a full disk does
/// not take it; it goes when the master is complete. Where that cannot be, it stays, for repair().
///
/// An image is written when a flush of its file came back well: it then survives the end of this process, and, after
/// settle(), a loss of power. settle() reads every file anew and takes back images that are not there.
///
/// Memory for compression is taken in the constructor; the HDF5 library allocates on its own in put(), and the rows
/// take 64 bytes an image and 8 for each column. Images that cannot be stored (disk full) are said to be lost; storing
/// is tried again with the next one.
class Hdf5Sink final : public Sink, public Polled, public RowKeeping, public WindowKeeping {
 public:
  /// Creates the master file and the first data file. Throws ConfigError for a request that makes no sense, FileError
  /// when a folder cannot be written, has no room for the tables, or is another's, and when one of the files exists
  /// (Existing::refuse).
  explicit Hdf5Sink(const Hdf5Config& config);
  ~Hdf5Sink() override;
  void begin() override;
  Put put(const Stack& stack, std::span<ErrorReason> results) override;
  void skip(std::span<const SkippedImage> images) override;
  void poll() noexcept override;
  void put_windows(const Accumulated& accumulated) override;
  std::vector<LostImage> settle() override;
  void close(const Books& books) override;
  [[nodiscard]] SinkStats stats() const noexcept override;
  [[nodiscard]] std::string error() const override;

 private:
  void put_tables(const Stack& stack, std::span<ErrorReason> results, std::string& error);

  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rashpa::sink
