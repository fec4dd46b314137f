// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The world of a simulated run: a virtual clock, one source of randomness, and threads of which one runs at a time.
///
/// The threads are real ones of the product, which hand a baton on in every call to the system. Which one has it next
/// is drawn from the seed, so that the same seed gives the same run. The clock stands still while a thread computes; it
/// goes on by a little in each call, and jumps when all threads wait.
#include <pthread.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace rashpa::simulation {

/// Random numbers of one use: no use takes numbers from another.
class Dice {
 public:
  Dice(std::uint64_t seed, std::string_view use) noexcept;
  std::uint64_t next() noexcept;
  /// 0 … bound−1.
  std::uint64_t below(std::uint64_t bound) noexcept { return bound == 0 ? 0 : next() % bound; }
  /// Both ends can come.
  std::int64_t between(std::int64_t low, std::int64_t high) noexcept {
    return low + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(high - low) + 1));
  }
  bool chance(double probability) noexcept { return static_cast<double>(next() >> 11) * 0x1p-53 < probability; }

 private:
  std::uint64_t state_;
};

inline constexpr std::int64_t kNever = INT64_MAX;

/// A process of the world, by number: 0 has the hand that plays the scenario. Threads belong to the process of the
/// thread that made them.
using Process = int;

namespace world {

/// True in a thread of the world, after begin().
[[nodiscard]] bool inside() noexcept;
/// The calling thread becomes the first one. Nothing runs before that.
void begin(std::uint64_t seed, std::int64_t limit_ns);
/// What happens when the world cannot go on: the text says why. It must not return.
void on_end(void (*end)(const std::string& why));

[[nodiscard]] std::int64_t now() noexcept;
/// Nanoseconds since 1970: the virtual clock, and what the clock of the machine was put forward.
[[nodiscard]] std::int64_t wall_ns() noexcept;
void jump_wall(std::int64_t ns) noexcept;
/// A call to the system that takes a little time. Others may run in it.
void pass(std::int64_t ns, double others) noexcept;
/// Waits for notify(channel), at most until `until`. False: it is late.
bool wait(const void* channel, std::int64_t until, const char* why) noexcept;
/// Those that wait for it go on, at most `most`.
int notify(const void* channel, int most) noexcept;

int create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*), void* argument) noexcept;
int join(pthread_t thread, void** result) noexcept;
/// The calling thread has taken a lock, or given one back (−1).
void has_lock(int more) noexcept;
void name_this(const char* name) noexcept;
[[nodiscard]] Process process() noexcept;
/// Threads that the caller makes from now on, and what it does, belong to that process.
void enter(Process process) noexcept;
/// SIGSTOP, until that time.
void freeze(Process process, std::int64_t until) noexcept;
/// SIGKILL: none of its threads ever runs again.
void kill(Process process) noexcept;
[[nodiscard]] bool killed(Process process) noexcept;

/// Threads that have not ended, without killed ones.
[[nodiscard]] int threads() noexcept;
/// One line a thread: where it waits.
[[nodiscard]] std::string describe();
/// Of all that was decided: two runs of a seed have the same.
[[nodiscard]] std::uint64_t digest() noexcept;
[[nodiscard]] std::uint64_t switches() noexcept;
void mix(std::uint64_t value) noexcept;
[[nodiscard]] std::uint64_t random() noexcept;

/// A line of the trace, with the time and the thread; kept in a ring, or printed at once.
void trace(const std::string& text);
void trace_at(std::int64_t ns, const std::string& text);
void print_trace(bool at_once);
[[nodiscard]] std::string latest(std::size_t lines);

}  // namespace world
}  // namespace rashpa::simulation
