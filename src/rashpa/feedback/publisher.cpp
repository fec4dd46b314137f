// SPDX-License-Identifier: Apache-2.0
#include "rashpa/feedback/publisher.hpp"

#include <array>
#include <chrono>
#include <exception>
#include <span>

#include "rashpa/core/clock.hpp"
#include "rashpa/core/log.hpp"
#include "rashpa/feedback/ring_reader.hpp"
#include "rashpa/memory/cpu_set.hpp"

namespace rashpa::feedback {

namespace {

/// Messages that wait for a slow subscriber before it loses some.
constexpr int kRoom = 4096;
constexpr std::chrono::seconds kSleep{1};

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
  if (options.zmq.empty()) return;
  socket_ = std::make_unique<PubSocket>(options.zmq, kRoom);
  auto reader = std::make_shared<RingReader>(ring_.open_path(), Begin::oldest);
  thread_ = std::thread([this, reader] { forward(*reader); });
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
  if (thread_.joinable()) thread_.join();
}

void Publisher::forward(RingReader& reader) noexcept {
  memory::place_this_thread("feedback", -1);
  std::array<std::span<const std::byte>, 3> parts{std::as_bytes(std::span(buffer_)),
                                                  std::as_bytes(std::span(description_))};
  try {
    for (;;) {
      const Got got = reader.next(kSleep, Wait::sleep);
      dropped_.store(reader.lost(), std::memory_order_relaxed);
      if (got == Got::nothing) continue;
      if (got == Got::ended) {
        parts[2] = {};
        socket_->send(parts);
        return;
      }
      const std::span<const std::uint64_t> record = reader.record();
      parts[2] = std::as_bytes(record);
      if (!socket_->send(parts)) full_.fetch_add(1, std::memory_order_relaxed);
      sent_.fetch_add(1, std::memory_order_relaxed);
      if (record[entry::kLastPacket] != 0)
        by_zmq_.record(now_ns() - static_cast<std::int64_t>(record[entry::kLastPacket]));
    }
  } catch (const std::exception& error) {  // the ring is our own: it was damaged by another process
    log::write(log::Level::error, {.buffer = buffer_}, "{}", error.what());
  }
}

PublisherStatus Publisher::status() const {
  return {.ring = ring_path_,
          .zmq = socket_ ? socket_->endpoint() : std::string(),
          .published = ring_.published(),
          .sent = sent_.load(std::memory_order_relaxed),
          .dropped = dropped_.load(std::memory_order_relaxed),
          .full = full_.load(std::memory_order_relaxed),
          .in_ring = &in_ring_,
          .by_zmq = &by_zmq_};
}

}  // namespace rashpa::feedback
