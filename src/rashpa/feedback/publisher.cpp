// SPDX-License-Identifier: Apache-2.0
#include "rashpa/feedback/publisher.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

#include "rashpa/core/error.hpp"
#include "rashpa/core/log.hpp"
#include "rashpa/core/time/clock.hpp"

namespace rashpa::feedback {

namespace {

/// Messages that wait for a slow subscriber before it loses some.
constexpr int kRoom = 4096;
constexpr const char* kWhat = "feedback";
/// Limit of memory of the process that publishes: itself, its libraries, and kMostConnections subscribers that stand
/// still, without the messages that they share.
constexpr std::uint64_t kMemoryBytes = std::uint64_t{1} << 30U;
/// Longest time that the process has at its end, for the entries left in the ring and for its linger.
constexpr std::chrono::milliseconds kLastPatience{2000};

RingSize size_of(const Options& options, const Results& results) {
  RingSize size{.entries = options.entries, .columns = static_cast<std::uint32_t>(results.columns.size())};
  for (const Table& table : results.tables)
    size.tables.push_back({static_cast<std::uint32_t>(table.columns.size()), table.capacity});
  return size;
}

}  // namespace

Publisher::Publisher(const Options& options, const Described& what)
    : buffer_(what.buffer),
      description_(describe(what)),
      ring_(options.ring, description_, size_of(options, what.results)),
      ring_path_(options.ring) {
  if (!options.zmq.empty()) start_process(options, what);
}

void Publisher::start_process(const Options& options, const Described& what) {
  to_read_ = FileDescriptor(::open(ring_.open_path().c_str(), O_RDONLY | O_CLOEXEC));
  if (to_read_.get() < 0)
    throw ResourceError(fmt::format(
        "feedback: its own ring cannot be opened to be read: {}; check the limit of open files", errno_text(errno)));
  listener_ = std::make_unique<publish::Listener>(options.zmq, kWhat);
  words_ = std::make_unique<publish::SharedWords<publish::FeedbackWords>>(kWhat);
  process_ = std::make_unique<publish::Process>(
      publish::Orders{.what = kWhat,
                      .run = what.run,
                      .buffer = buffer_,
                      .task = publish::kFeedbackTask,
                      .arguments = {buffer_, std::to_string(kRoom)},
                      .files = {listener_->file(), to_read_.get(), words_->file()},  // as FeedbackFile has them
                      .memory_bytes = kMemoryBytes + ring_.bytes() + kRoom * ring_.most_record_bytes()});
}

Publisher::~Publisher() { end(); }

void Publisher::publish(const Stack& stack) noexcept {
  for (const StackImage& image : stack.view()) {
    ring_.publish(image, stack.decided_ns);
    if (image.last_packet_ns != 0) in_ring_.record(now_ns() - image.last_packet_ns);
  }
  ring_.wake();
  if (ring_.cut() && !said_cut_) {
    said_cut_ = true;
    log::write(log::Level::error, {.buffer = buffer_},
               "feedback: {} was cut by another process: nobody reads it any more; the run goes on without it",
               ring_path_);
  }
}

void Publisher::end() noexcept {
  ring_.end();
  if (!process_ || ended_) return;
  ended_ = true;
  if (process_->end(kLastPatience)) return;
  const std::uint64_t published = ring_.published();
  left_ = published - std::min(published, (*words_)->next.load());
  log::write(log::Level::warning, {.buffer = buffer_},
             "feedback: the process that publishes had not sent the last {} images when the run was over",
             left_.load());
}

PublisherStatus Publisher::status() const {
  PublisherStatus known{.ring = ring_path_, .published = ring_.published(), .in_ring = &in_ring_};
  if (!process_) return known;
  const publish::FeedbackWords& words = **words_;
  known.zmq = listener_->endpoint();
  known.sent = words.sent.load(std::memory_order_relaxed);
  known.dropped = words.dropped.load(std::memory_order_relaxed) + left_.load(std::memory_order_relaxed);
  known.full = words.full.load(std::memory_order_relaxed);
  known.restarts = process_->restarts();
  known.by_zmq = &words.by_zmq;
  return known;
}

}  // namespace rashpa::feedback
