// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "rashpa/sink/raw/block_writer.hpp"

namespace rashpa::sink {

/// Long writes through a BlockWriter: it cuts them into requests, continues incomplete ones, and keeps at most
/// `in_flight` in flight. The constructor takes all memory. One thread.
class BlockWrites {
 public:
  /// Reports that bytes [offset, offset + bytes) of a file could not be written, with the errno.
  using Failed = std::function<void(int file, std::uint64_t offset, std::size_t bytes, int error)>;

  BlockWrites(std::unique_ptr<BlockWriter> writer, unsigned in_flight, Failed failed);

  /// Queues a write. `owner`, if not null, counts the requests that read these bytes; at 0 they may be reused.
  void write(int file, const std::byte* data, std::size_t bytes, std::uint64_t offset, unsigned* owner = nullptr);
  /// Sets the mark behind all writes so far.
  void mark() noexcept {
    marked_ += 1;
    before_mark_ = requests_.size() - free_.size();
  }
  /// Returns how many writes before the mark were still in flight at the last check.
  [[nodiscard]] std::size_t before_mark() const noexcept { return before_mark_; }
  /// Begins a sync, which finished_sync() reports; at most BlockWriter::kMostSyncs at a time.
  void sync(int file, std::uint64_t token);
  struct Sync {
    std::uint64_t token = 0;
    int error = 0;
  };
  /// Takes a finished sync, in any order; returns false when there is none.
  [[nodiscard]] bool finished_sync(Sync& sync);
  /// Waits until one more request has ended; one must be in flight.
  void wait();
  /// Waits until no write is in flight.
  void drain();
  [[nodiscard]] bool syncing() const noexcept { return syncs_ > 0; }
  [[nodiscard]] std::string_view name() const noexcept { return writer_->name(); }

 private:
  struct Request {
    BlockRequest what{};
    unsigned* owner = nullptr;
    std::uint64_t marked = 0;
  };
  static constexpr std::uint64_t kSync = std::uint64_t{1} << 63;
  void look();
  void end(const BlockAnswer& answer);

  std::vector<Request> requests_;    // by token
  std::vector<std::uint64_t> free_;  // tokens
  std::vector<Sync> ended_;          // syncs that nobody was told of
  unsigned syncs_ = 0;
  std::uint64_t marked_ = 0;     // how often
  std::size_t before_mark_ = 0;  // writes on their way
  Failed failed_;
  std::unique_ptr<BlockWriter> writer_;  // last: ends before the members that it reads
};

}  // namespace rashpa::sink
