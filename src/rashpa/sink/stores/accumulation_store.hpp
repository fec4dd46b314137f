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

/// Stores accumulation windows in <prefix>_accumulated.h5. Each accumulation has an NXdata group
/// /entry/accumulated/<name> with one dataset for each quantity, [window][elements]. `window`, `first_image`,
/// `end_image` and `images` describe each window, and `crc32c` proves it. A window is readable after put(), while the
/// file grows (SWMR). Only the thread of an Hdf5Sink uses it.
class AccumulationStore {
 public:
  /// Creates the file. `files` outlives the store; `threads` is the number of compressing threads. Throws FileError.
  AccumulationStore(const std::vector<Accumulation>& accumulations, const OutputFiles& files, unsigned threads);

  /// Appends windows that have ended, if any, and flushes them to the file. `error` gets the first reason of a failure;
  /// the next window is tried again. Does not throw.
  void put(const Accumulated& windows, std::string& error);
  /// Completes the file after the last put(), and flushes it to the disk. Errors as in put().
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

/// Removes windows from a file that its writer has not closed, beginning with the first one whose values do not match
/// `crc32c`. Throws FileError when the file is damaged.
void keep_proven_windows(const std::filesystem::path& path);

/// Writes a link to all windows, /entry/rashpa/accumulated, into the master, if the run has such a file. `lost` is the
/// reason why the file cannot be read, which `accumulated_lost` then has in place of the link. Throws FileError.
void refer_to_accumulations(hid_t rashpa, const std::filesystem::path& prefix, const std::string& lost);

}  // namespace rashpa::sink
