// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Writes of large aligned blocks, several at a time, with syncs that flush them to the device.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "rashpa/sink/hdf5_config.hpp"

namespace rashpa::sink {

/// The alignment of offsets and lengths in raw files, and of addresses unless the file system allows less.
inline constexpr std::size_t kBlockAlignment = 4096;
/// The largest write; longer writes are cut into pieces of this size.
inline constexpr std::size_t kLargestWrite = std::size_t{4} << 20;

/// A request. `data` null: a sync of earlier, finished writes to `file`.
struct BlockRequest {
  int file = -1;
  const std::byte* data = nullptr;
  std::size_t bytes = 0;
  std::uint64_t offset = 0;
  std::uint64_t token = 0;  ///< token of the caller
};

struct BlockAnswer {
  std::uint64_t token = 0;
  std::size_t bytes = 0;  ///< bytes written, maybe fewer than requested
  int error = 0;          ///< errno; 0: success
};

/// Writes blocks, with several requests in flight. One thread uses it and counts its requests: at most `in_flight`
/// writes and kMostSyncs syncs. The constructor takes all memory.
class BlockWriter {
 public:
  static constexpr unsigned kMostSyncs = 5;
  virtual ~BlockWriter() = default;
  /// Submits a request; its memory must stay unchanged until the answer.
  virtual void submit(const BlockRequest& request) noexcept = 0;
  /// Takes the next answer, in any order; returns false when there is none yet.
  virtual bool take(BlockAnswer& answer) noexcept = 0;
  /// Waits until take() has an answer; a request must be in flight.
  virtual void wait() noexcept = 0;
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;
};

/// Makes a writer with io_uring. Throws ResourceError when the kernel does not allow it. make_thread_writer() throws it
/// when the system has no threads left.
std::unique_ptr<BlockWriter> make_uring_writer(unsigned in_flight);
std::unique_ptr<BlockWriter> make_thread_writer(unsigned in_flight);
/// Makes the requested writer. `why` gets the reason when automatic has not chosen io_uring.
std::unique_ptr<BlockWriter> make_block_writer(const BlockWriting& wanted, std::string& why);

}  // namespace rashpa::sink
