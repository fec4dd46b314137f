// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Plays a small program of several threads in all the ways in which it can go, up to a bound, and says which one goes
/// wrong. Its atomics are Explored (explored.hpp): every access may be where another thread goes on, and a load may
/// have any value that the orders of memory allow.
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace rashpa::interleaving {

inline constexpr std::size_t kMostThreads = 4;
/// A vector clock: by thread, how much of its past is known.
using Clock = std::array<std::uint32_t, kMostThreads>;

struct Bound {
  /// A deviation is a thread that is interrupted although it could go on, or a load of a value that is not the newest.
  int deviations = 3;
  std::uint64_t runs = 5'000'000;
};

struct Outcome {
  std::uint64_t runs = 0;
  bool all = false;       ///< there is no other run within the bound
  std::string failure{};  ///< of the first run that went wrong, with what it did; empty: none did
};

/// `program` is thread 0 of each run; it spawns the others, and ends when they have. The same each time, but for what
/// is chosen here.
Outcome explore(const std::function<void()>& program, Bound bound);

/// For programs and their atomics, within explore().
namespace run {

[[nodiscard]] std::size_t self() noexcept;
[[nodiscard]] Clock& clock() noexcept;
/// Another thread may go on here.
void point();
/// One of so many, 0 first; the others are deviations. Always 0 when no more of them are allowed.
[[nodiscard]] std::size_t deviate(std::size_t of) noexcept;
void block(const void* on);
void wake(const void* on) noexcept;
[[nodiscard]] std::size_t spawn(std::function<void()> body);
void join(std::size_t thread);
/// Ends the run, which went wrong.
[[noreturn]] void fail(const std::string& why);
/// A number for each thing that is shared, the same in each run.
[[nodiscard]] std::size_t number() noexcept;
[[nodiscard]] bool traced() noexcept;
void trace(const std::string& what);

}  // namespace run

inline void check(bool good, const std::string& otherwise) {
  if (!good) run::fail(otherwise);
}

}  // namespace rashpa::interleaving
