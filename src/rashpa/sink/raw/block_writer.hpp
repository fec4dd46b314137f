// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Writes of large aligned blocks, several at a time, and the syncs that bring them to the device.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "rashpa/sink/hdf5_config.hpp"

namespace rashpa::sink {

/// Offsets and lengths in raw files are multiples of it; so are addresses, where the file system does not say less.
inline constexpr std::size_t kBlockAlignment = 4096;
/// Longer writes are cut into these.
inline constexpr std::size_t kLargestWrite = std::size_t{4} << 20;

/// One request. `data` null: a sync of earlier, finished writes to `file`.
struct BlockRequest {
  int file = -1;
  const std::byte* data = nullptr;
  std::size_t bytes = 0;
  std::uint64_t offset = 0;
  std::uint64_t token = 0;  ///< of the caller
};

struct BlockAnswer {
  std::uint64_t token = 0;
  std::size_t bytes = 0;  ///< that were written, maybe fewer than asked for
  int error = 0;          ///< errno; 0: it went well
};

/// Used by one thread, which counts its requests: no more than `in_flight` writes and kMostSyncs syncs at a time. Takes
/// all memory when it is made.
class BlockWriter {
 public:
  static constexpr unsigned kMostSyncs = 5;
  virtual ~BlockWriter() = default;
  /// Submits a request, whose memory must stay until the answer.
  virtual void submit(const BlockRequest& request) noexcept = 0;
  /// The next answer, in any order; false when there is none yet.
  virtual bool take(BlockAnswer& answer) noexcept = 0;
  /// Returns when take() has something; something must be on its way.
  virtual void wait() noexcept = 0;
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;
};

/// Throws ResourceError when the kernel does not allow io_uring, or gives no threads.
std::unique_ptr<BlockWriter> make_uring_writer(unsigned in_flight);
std::unique_ptr<BlockWriter> make_thread_writer(unsigned in_flight);
/// The one that `wanted` names. `why`: why automatic has not chosen io_uring.
std::unique_ptr<BlockWriter> make_block_writer(const BlockWriting& wanted, std::string& why);

}  // namespace rashpa::sink
