// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "rashpa/sink/hdf5_config.hpp"
#include "rashpa/sink/sink.hpp"

namespace rashpa::sink {

/// Writes NXmx (docs/reference/files.md): accepted images in order; under /entry/rashpa one row for each image of the
/// run, the lost lines and the books. Rows of tables are in <prefix>_tables.h5, accumulations in
/// <prefix>_accumulated.h5. Data files can be read while they grow (SWMR). close() completes the master file in one
/// step; until then it has the content that the constructor wrote.
/// Until begin() all files have the suffix ".new", and they are removed when it is never called. The rows of the tables
/// are in memory and in a journal, <prefix>_master.journal. The journal also reserves room for the master, so that a
/// full disk cannot prevent it, and is removed when the master is complete. If the master cannot be completed, the
/// journal stays for repair().
/// An image counts as written when its file was flushed without error. It then survives the end of this process and,
/// after settle(), a loss of power. settle() reads each file again and takes back images that are not there.
/// The constructor takes the memory for compression. The HDF5 library allocates in put(), and the rows take 64 bytes an
/// image and 8 for each column. Images that cannot be stored (disk full) are reported as lost, and the next image is
/// tried again.
class Hdf5Sink final : public Sink, public Polled, public RowKeeping, public WindowKeeping {
 public:
  /// Creates the master file and the first data file. Throws ConfigError for an invalid request. Throws FileError when
  /// a folder cannot be written, has no room for the tables, or belongs to another user, and when one of the files
  /// exists (Existing::refuse).
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
