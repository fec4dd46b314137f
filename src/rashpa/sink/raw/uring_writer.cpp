// SPDX-License-Identifier: Apache-2.0
#include <liburing.h>

#include <algorithm>

#include "rashpa/core/error.hpp"
#include "rashpa/sink/raw/block_writer.hpp"

namespace rashpa::sink {
namespace {

class UringWriter final : public BlockWriter {
 public:
  explicit UringWriter(unsigned in_flight) {
    const int failed = io_uring_queue_init(in_flight + kMostSyncs, &ring_, 0);
    if (failed < 0) {
      throw ResourceError("io_uring: the kernel does not give it: " + errno_text(-failed) +
                          "; see /proc/sys/kernel/io_uring_disabled and the container's seccomp profile, or take "
                          "io = \"threads\"");
    }
  }
  ~UringWriter() override {
    // The kernel may still read what requests name: their owner must be able to give it back.
    while (on_its_way_ > 0) {
      wait();
      BlockAnswer answer;
      while (take(answer)) {
      }
    }
    io_uring_queue_exit(&ring_);
  }
  UringWriter(const UringWriter&) = delete;
  UringWriter& operator=(const UringWriter&) = delete;

  void submit(const BlockRequest& request) noexcept override {
    io_uring_sqe* entry = io_uring_get_sqe(&ring_);  // there is one: the caller counts
    if (request.data == nullptr) {
      io_uring_prep_fsync(entry, request.file, IORING_FSYNC_DATASYNC);
    } else {
      io_uring_prep_write(entry, request.file, request.data, static_cast<unsigned>(request.bytes), request.offset);
    }
    io_uring_sqe_set_data64(entry, request.token);
    on_its_way_ += 1;
    // Requests that the kernel does not take now, for lack of memory, go with the next call or with wait().
    io_uring_submit(&ring_);
  }

  bool take(BlockAnswer& answer) noexcept override {
    io_uring_cqe* entry = nullptr;
    if (io_uring_peek_cqe(&ring_, &entry) != 0) return false;
    answer = {.token = io_uring_cqe_get_data64(entry),
              .bytes = static_cast<std::size_t>(std::max(entry->res, 0)),
              .error = std::max(-entry->res, 0)};
    io_uring_cqe_seen(&ring_, entry);
    on_its_way_ -= 1;
    return true;
  }

  void wait() noexcept override { io_uring_submit_and_wait(&ring_, 1); }

  [[nodiscard]] std::string_view name() const noexcept override { return "io_uring"; }

 private:
  io_uring ring_{};
  unsigned on_its_way_ = 0;
};

}  // namespace

std::unique_ptr<BlockWriter> make_uring_writer(unsigned in_flight) { return std::make_unique<UringWriter>(in_flight); }

}  // namespace rashpa::sink
