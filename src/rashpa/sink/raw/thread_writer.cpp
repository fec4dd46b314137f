// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <vector>

#include "rashpa/core/error.hpp"
#include "rashpa/memory/team.hpp"
#include "rashpa/sink/raw/block_writer.hpp"

namespace rashpa::sink {
namespace {

constexpr unsigned kMostThreads = 8;

BlockAnswer answer_to(const BlockRequest& request) noexcept {
  if (request.data == nullptr) {
    return {.token = request.token, .bytes = 0, .error = ::fdatasync(request.file) == 0 ? 0 : errno};
  }
  for (;;) {
    const ssize_t done = ::pwrite(request.file, request.data, request.bytes, static_cast<off_t>(request.offset));
    if (done < 0 && errno == EINTR) continue;
    return {.token = request.token,
            .bytes = static_cast<std::size_t>(std::max<ssize_t>(done, 0)),
            .error = done < 0 ? errno : 0};
  }
}

/// A queue that takes no memory once it is made.
template <typename T>
class Queue {
 public:
  explicit Queue(std::size_t most) : items_(most) {}
  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
  void push(const T& item) noexcept { items_[(first_ + count_++) % items_.size()] = item; }
  T pop() noexcept {
    const T item = items_[first_];
    first_ = (first_ + 1) % items_.size();
    --count_;
    return item;
  }

 private:
  std::vector<T> items_;
  std::size_t first_ = 0, count_ = 0;
};

class ThreadWriter final : public BlockWriter, private memory::Team::Work {
 public:
  explicit ThreadWriter(unsigned in_flight)
      : requests_(in_flight + kMostSyncs),
        answers_(in_flight + kMostSyncs),
        team_(std::min(in_flight, kMostThreads), -1, "raw-sink") {
    team_.publish(*this, team_.threads());
  }
  ~ThreadWriter() override {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    wanted_.notify_all();
  }
  ThreadWriter(const ThreadWriter&) = delete;
  ThreadWriter& operator=(const ThreadWriter&) = delete;

  void submit(const BlockRequest& request) noexcept override {
    {
      const std::lock_guard lock(mutex_);
      requests_.push(request);
    }
    wanted_.notify_one();
  }
  bool take(BlockAnswer& answer) noexcept override {
    const std::lock_guard lock(mutex_);
    if (answers_.empty()) return false;
    answer = answers_.pop();
    return true;
  }
  void wait() noexcept override {
    std::unique_lock lock(mutex_);
    answered_.wait(lock, [this] { return !answers_.empty(); });
  }
  [[nodiscard]] std::string_view name() const noexcept override { return "threads"; }

 private:
  /// A task a thread: requests until the end.
  void run(unsigned /*worker*/, std::uint32_t /*task*/) noexcept override {
    std::unique_lock lock(mutex_);
    for (;;) {
      wanted_.wait(lock, [this] { return stop_ || !requests_.empty(); });
      if (requests_.empty()) return;  // and earlier requests are done first
      const BlockRequest request = requests_.pop();
      lock.unlock();
      const BlockAnswer answer = answer_to(request);
      lock.lock();
      answers_.push(answer);
      answered_.notify_one();
    }
  }

  std::mutex mutex_;
  std::condition_variable wanted_, answered_;
  Queue<BlockRequest> requests_;  // guarded by mutex_, as the members below
  Queue<BlockAnswer> answers_;
  bool stop_ = false;
  memory::Team team_;  // last: its threads use all of the above
};

}  // namespace

std::unique_ptr<BlockWriter> make_thread_writer(unsigned in_flight) {
  return std::make_unique<ThreadWriter>(in_flight);
}

std::unique_ptr<BlockWriter> make_block_writer(const BlockWriting& wanted, std::string& why) {
  if (wanted.way == BlockWay::threads) return make_thread_writer(wanted.in_flight);
  try {
    return make_uring_writer(wanted.in_flight);
  } catch (const ResourceError& failure) {
    if (wanted.way == BlockWay::io_uring) throw;
    why = failure.what();
    return make_thread_writer(wanted.in_flight);
  }
}

}  // namespace rashpa::sink
