// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "rashpa/core/frame/results.hpp"
#include "rashpa/kernel/bitshuffle_lz4/bitshuffle_lz4.hpp"
#include "rashpa/sink/hdf5/data_file.hpp"
#include "rashpa/sink/output_files.hpp"

namespace rashpa::sink {

/// Stores the windows of accumulations: <prefix>_accumulated.h5 with an NXdata group /entry/accumulated/<name> for
/// each, one dataset a quantity, [window][elements]; `window`, `first_image`, `end_image` and `images` say which window
/// each is, `crc32c` proves it. A window that has been put is in the file, and can be read while the file grows (SWMR).
/// Used by the thread of an Hdf5Sink only.
class AccumulationStore {
 public:
  /// Creates the file; throws FileError. `files` outlives the store.
  /// `threads`: that compress.
  AccumulationStore(const std::vector<Accumulation>& accumulations, const OutputFiles& files, unsigned threads);

  /// Appends the windows that have ended, if any, and brings them to the file. The first reason why that failed in
  /// `error`; the next window is tried again. Does not throw.
  void put(const Accumulated& windows, std::string& error);
  /// Completes the file after the last put(), and brings it to the disk. Errors as of put().
  void settle(std::string& error);
  [[nodiscard]] std::uint64_t bytes_stored() const noexcept { return bytes_stored_; }

 private:
  struct Group {
    std::vector<h5::Handle> quantities;
    std::vector<h5::Handle> facts;  // in the order of kFacts
    hsize_t windows = 0;
  };
  void make(hid_t file);
  void append(const Accumulation& facts, Group& group, const AccumulatedView& window);
  void make_room(Group& group, const Accumulation& facts, hsize_t windows);

  std::vector<Accumulation> accumulations_;
  const OutputFiles& files_;
  kernel::bitshuffle_lz4::ThreadedCodec codec_4_;  // by size of elements
  kernel::bitshuffle_lz4::ThreadedCodec codec_8_;
  std::vector<std::byte> chunk_;
  std::optional<DataFile> file_;
  std::vector<Group> groups_;
  std::uint64_t bytes_stored_ = 0;
};

/// Leaves out of a file that its writer has not closed the windows from the first one on that is not as it was written:
/// each has the sum of its values in `crc32c`. Throws FileError when the file is damaged.
void keep_proven_windows(const std::filesystem::path& path);

/// Writes into the master /entry/rashpa/accumulated, a link to all of them; nothing where the run has no such file.
/// `lost`: why the file cannot be read; `accumulated_lost` says it in place of the link. Throws FileError.
void refer_to_accumulations(hid_t rashpa, const std::filesystem::path& prefix, const std::string& lost);

}  // namespace rashpa::sink
