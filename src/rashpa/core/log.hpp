// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Messages for the node's log: texts with their run, buffer, DTP and frame. They wait in a bounded queue until the
/// node takes them (src/bindings/log.cpp). Without a node they are counted and discarded. Nothing here blocks,
/// allocates or throws. docs/how-to/read_a_nodes_log.md explains the log to its readers.
#include <fmt/format.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>
#include <utility>

namespace rashpa::log {

enum class Level : std::uint8_t { debug, info, warning, error };

/// The subject of a message; members that do not apply keep their defaults.
struct Where {
  std::int64_t run = -1;
  std::string_view buffer{};
  std::int64_t dtp = -1;  ///< id of the DTP
  std::int64_t frame = -1;
};

/// A queued message. Long texts are cut.
struct Entry {
  std::int64_t time_ns = 0;  ///< since 1970, UTC
  Level level = Level::info;
  std::int64_t run = -1;
  std::int64_t dtp = -1;
  std::int64_t frame = -1;
  std::array<char, 32> buffer_name{};
  std::array<char, 400> characters{};
  std::uint8_t buffer_length = 0;
  std::uint16_t length = 0;
  [[nodiscard]] std::string_view buffer() const noexcept { return {buffer_name.data(), buffer_length}; }
  [[nodiscard]] std::string_view text() const noexcept { return {characters.data(), length}; }
};

/// Sets the lowest level that is kept; it starts at info. Any thread.
void set_level(Level level) noexcept;
[[nodiscard]] bool is_kept(Level level) noexcept;

/// The most messages in the queue.
inline constexpr std::size_t kRoom = 512;

/// Adds a message to the queue. Any thread.
void add(Level level, const Where& where, fmt::string_view format, fmt::format_args values) noexcept;
template <typename... Values>
void write(Level level, const Where& where, fmt::format_string<Values...> format, Values&&... values) noexcept {
  if (is_kept(level)) add(level, where, format, fmt::make_format_args(values...));
}

/// Takes the oldest message from the queue; returns false when the queue is empty. Any thread.
bool take(Entry& entry) noexcept;
/// Returns how many messages found no room since the last call. Any thread.
std::uint64_t take_lost() noexcept;

/// Keeps a repeated message from filling the log. It admits the first message, then one in each interval together with
/// the number held back in between. Any thread.
class Limiter {
 public:
  Limiter() noexcept = default;
  explicit Limiter(std::int64_t interval_ns) noexcept : interval_ns_(interval_ns) {}
  /// Returns true when the message may be logged. `held_back` gets the number of messages held back since the last
  /// admitted one.
  [[nodiscard]] bool admit(std::uint64_t& held_back) noexcept;
  /// Returns the number of messages held back since the last admitted one, and resets it.
  [[nodiscard]] std::uint64_t rest() noexcept { return held_back_.exchange(0, std::memory_order_relaxed); }

 private:
  std::int64_t interval_ns_ = 1'000'000'000;
  std::atomic<std::int64_t> next_ns_{0};  // relaxed: threads that log race for one turn; they hand nothing over
  std::atomic<std::uint64_t> held_back_{0};
};

/// Writes as write() does, unless the limiter holds it back.
template <typename... Values>
void write(Limiter& limiter, Level level, const Where& where, fmt::format_string<Values...> format,
           Values&&... values) noexcept {
  std::uint64_t held_back = 0;
  if (!is_kept(level) || !limiter.admit(held_back)) return;
  add(level, where, format, fmt::make_format_args(values...));
  if (held_back > 0) write(level, where, "… and {} like it before, which were not said one by one", held_back);
}

}  // namespace rashpa::log
