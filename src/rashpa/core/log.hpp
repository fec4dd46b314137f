// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Events for the log of the node: texts with the run, buffer, DTP and frame that they are about. Messages wait
/// in a bounded queue until the node takes them (src/bindings/log.cpp); where nobody takes them, they are counted and
/// forgotten. Nothing here blocks, allocates or throws. docs/how-to/read_a_nodes_log.md is for their readers.
#include <fmt/format.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>
#include <utility>

namespace rashpa::log {

enum class Level : std::uint8_t { debug, info, warning, error };

/// The subject of a message; parts that do not apply are left out.
struct Where {
  std::int64_t run = -1;
  std::string_view buffer{};
  std::int64_t dtp = -1;  ///< id
  std::int64_t frame = -1;
};

/// One message as it waits. Texts that are too long are cut.
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

/// Messages below `level` are not kept; info at first. Any thread.
void set_level(Level level) noexcept;
[[nodiscard]] bool is_kept(Level level) noexcept;

/// Most messages that wait.
inline constexpr std::size_t kRoom = 512;

/// Any thread.
void add(Level level, const Where& where, fmt::string_view format, fmt::format_args values) noexcept;
template <typename... Values>
void write(Level level, const Where& where, fmt::format_string<Values...> format, Values&&... values) noexcept {
  if (is_kept(level)) add(level, where, format, fmt::make_format_args(values...));
}

/// The oldest message that waits; false when there is none. Any thread.
bool take(Entry& entry) noexcept;
/// Messages that found no room since the last call. Any thread.
std::uint64_t take_lost() noexcept;

/// Keeps a message that comes again and again from filling a log: the first is said, then one an interval, which says
/// how many there were in between. Any thread.
class Limiter {
 public:
  Limiter() noexcept = default;
  explicit Limiter(std::int64_t interval_ns) noexcept : interval_ns_(interval_ns) {}
  /// Returns true when this one is said; `held_back`: how many were not since the last that was.
  [[nodiscard]] bool admit(std::uint64_t& held_back) noexcept;
  /// Returns how many were held back since the last that was said; they are forgotten.
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
