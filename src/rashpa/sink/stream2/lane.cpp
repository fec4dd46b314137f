// SPDX-License-Identifier: Apache-2.0
#include "rashpa/sink/stream2/lane.hpp"

#include <fmt/format.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <ctime>
#include <utility>

#include "rashpa/core/error.hpp"
#include "rashpa/core/time/clock.hpp"

namespace rashpa::sink::stream2 {

using publish::Ask;
using publish::Place;
using publish::StreamWords;

namespace {

constexpr const char* kWhat = "sink stream2";
constexpr unsigned kLastPort = 65535;
constexpr std::int64_t kAnswerNs = 100'000'000;  // a process that takes longer stands still: waited for once
constexpr std::int64_t kLookNs = 10'000'000;
constexpr std::chrono::milliseconds kLinger{7000};  // queued messages have five seconds to leave
/// Limit of memory of the process that sends: itself, its libraries, and the connections of strangers.
constexpr std::uint64_t kMemoryBytes = std::uint64_t{1} << 30U;

std::vector<publish::Listener> listeners_of(const LaneConfig& config) {
  publish::Endpoint one = publish::endpoint_of(config.endpoint, kWhat);
  if (config.outlets > publish::kMostOutlets)
    throw ConfigError(
        fmt::format("{}: {} consumers are too many; give {} or fewer", kWhat, config.outlets, publish::kMostOutlets));
  if (one.port != 0 && one.port + config.outlets - 1 > kLastPort) {
    throw ConfigError(fmt::format("{}: {} consumers from port {} on need ports up to {}; give a lower one", kWhat,
                                  config.outlets, one.port, one.port + config.outlets - 1));
  }
  std::vector<publish::Listener> all;
  for (std::uint32_t n = 0; n < config.outlets; ++n) {
    all.emplace_back(publish::text_of(one), kWhat);
    if (one.port != 0) one.port += 1;
  }
  return all;
}

/// Clears the words of a child that has gone, before the next one begins: no consumer is connected.
void forget_child(StreamWords& words) {
  words.open.store(0);
  words.has_start.store(0);
  for (publish::OutletWords& outlet : words.outlets) {
    outlet.connected.store(0);
    outlet.started.store(0);
    outlet.ready.store(0);
  }
  words.place.store(static_cast<std::uint32_t>(Place::free));
}

}  // namespace

Lane::Lane(const LaneConfig& config)
    : message_bytes_(config.message_bytes), listeners_(listeners_of(config)), words_(kWhat, config.message_bytes) {
  publish::Orders orders{
      .what = kWhat,
      .run = config.run,
      .buffer = config.buffer,
      .task = publish::kStreamTask,
      .arguments = {config.pattern == Pattern::pub ? "pub" : "push", std::to_string(config.waiting),
                    std::to_string(message_bytes_)},
      .files = {words_.file()},
      .memory_bytes = kMemoryBytes + 2 * message_bytes_ + config.image_bytes * config.waiting * config.outlets,
      .on_gone = [this] { forget_child(*words_); }};
  for (const publish::Listener& listener : listeners_) orders.files.push_back(listener.file());
  process_ = std::make_unique<publish::Process>(std::move(orders));
}

bool Lane::is_connected(std::size_t outlet) const noexcept { return words_->outlets[outlet].connected.load() != 0; }

bool Lane::is_started(std::size_t outlet) const noexcept { return words_->outlets[outlet].started.load() != 0; }

bool Lane::owes_start() const noexcept { return words_->open.load() != 0 && words_->has_start.load() == 0; }

bool Lane::any_ready() const noexcept {
  for (std::size_t n = 0; n < outlets(); ++n) {
    if (is_connected(n) && is_started(n) && words_->outlets[n].ready.load() != 0) return true;
  }
  return false;
}

bool Lane::wants_image() {
  if (any_ready()) return true;
  for (std::size_t n = 0; n < outlets(); ++n) {
    if (is_connected(n)) return ask(Ask::look) && any_ready();
  }
  return false;
}

bool Lane::move(Place from, Place to) noexcept {
  auto seen = static_cast<std::uint32_t>(from);
  return words_->place.compare_exchange_strong(seen, static_cast<std::uint32_t>(to), std::memory_order_acq_rel);
}

std::optional<std::uint32_t> Lane::ask(Ask what, std::span<const std::byte> head, std::span<const std::byte> rest,
                                       std::size_t outlet) {
  StreamWords& words = *words_;
  move(Place::answered, Place::free);  // too late: nobody waits for that any more
  if (head.size() + rest.size() > message_bytes_ || words.open.load(std::memory_order_acquire) == 0 ||
      words.place.load(std::memory_order_acquire) != static_cast<std::uint32_t>(Place::free))
    return std::nullopt;
  if (!head.empty()) std::memcpy(words_.behind(), head.data(), head.size());
  if (!rest.empty()) std::memcpy(words_.behind() + head.size(), rest.data(), rest.size());
  words.bytes.store(head.size() + rest.size(), std::memory_order_relaxed);
  words.ask.store(static_cast<std::uint32_t>(what), std::memory_order_relaxed);
  words.outlet.store(static_cast<std::uint32_t>(outlet), std::memory_order_relaxed);
  if (!move(Place::free, Place::offered)) return std::nullopt;
  process_->nudge();
  return wait_for_answer();
}

/// None also when the process dies meanwhile, which makes the place free.
std::optional<std::uint32_t> Lane::wait_for_answer() {
  StreamWords& words = *words_;
  for (const std::int64_t until = now_ns() + kAnswerNs;;) {
    const std::uint32_t place = words.place.load(std::memory_order_acquire);
    if (place == static_cast<std::uint32_t>(Place::answered)) {
      const std::uint32_t answer = words.answer.load(std::memory_order_relaxed);
      move(Place::answered, Place::free);
      return answer;
    }
    if (place == static_cast<std::uint32_t>(Place::free)) return std::nullopt;
    const std::int64_t left = until - now_ns();
    if (left <= 0) {
      // It may yet send messages that it has taken already: it was stopped in between.
      move(Place::offered, Place::withdrawn);
      return std::nullopt;
    }
    const timespec limit{.tv_sec = 0, .tv_nsec = std::min(left, kLookNs)};
    ::syscall(SYS_futex, &words.place, FUTEX_WAIT, place, &limit, nullptr, 0);
  }
}

bool Lane::send_start(std::span<const std::byte> message) {
  if (message.size() > message_bytes_)
    throw ConfigError(
        fmt::format("{}: the start of the series has {} bytes, and {} are the most; make the run file or "
                    "the mask smaller",
                    kWhat, message.size(), message_bytes_));
  return ask(Ask::start, message).has_value();
}

std::optional<std::uint32_t> Lane::send_image(std::span<const std::byte> head, std::span<const std::byte> chunk) {
  if (head.size() + chunk.size() > message_bytes_) {
    miss_image();
    return std::nullopt;
  }
  const std::optional<std::uint32_t> taken = ask(Ask::image, head, chunk);
  if (!taken) miss_image();
  return taken.value_or(0);
}

bool Lane::send_end(std::size_t outlet, std::span<const std::byte> message) {
  return ask(Ask::end, message, {}, outlet).value_or(0) != 0;
}

// relaxed: the lane's thread counts, and a status reads this number alone
void Lane::miss_image() noexcept { missed_.fetch_add(1, std::memory_order_relaxed); }

void Lane::leave() noexcept { process_->end(ask(Ask::leave) ? kLinger : std::chrono::milliseconds(0)); }

ConsumerStatus Lane::status(std::size_t outlet) const {
  const publish::OutletWords& words = words_->outlets[outlet];
  return {.endpoint = listeners_[outlet].endpoint(),
          // relaxed: the publisher's process counts, and this status reads each number by itself
          .connected = words.connected.load(std::memory_order_relaxed),
          .sent = words.sent.load(std::memory_order_relaxed),
          .missed = words.missed.load(std::memory_order_relaxed) + missed_.load(std::memory_order_relaxed)};
}

}  // namespace rashpa::sink::stream2
