// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What stands in place of std::atomic, std::atomic_ref, std::thread, futexes and shared plain values while a program
/// is explored. A header of the product that is included behind explored_begin.hpp has them: no line of it changes.
///
/// Of each atomic all values are kept that were written, in their order, with the clock that each has released. A load
/// may return any of them from the latest on that its thread knows of: by its own earlier accesses, by what it has
/// acquired, and with seq_cst by the latest write with seq_cst. So a wrong order is found, also where the machine that
/// tests would never show it. Not explored: loads of values that are written later, spurious failures of
/// compare_exchange.
#include <fmt/format.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <map>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "explorer.hpp"

namespace rashpa::interleaving {

inline bool acquires(std::memory_order order) noexcept {
  return order == std::memory_order_acquire || order == std::memory_order_acq_rel ||
         order == std::memory_order_seq_cst || order == std::memory_order_consume;
}
inline bool releases(std::memory_order order) noexcept {
  return order == std::memory_order_release || order == std::memory_order_acq_rel || order == std::memory_order_seq_cst;
}

inline void join_clock(Clock& into, const Clock& other) noexcept {
  for (std::size_t t = 0; t < kMostThreads; ++t) into[t] = std::max(into[t], other[t]);
}

template <typename T>
class Explored {
 public:
  Explored() noexcept : Explored(T{}) {}
  Explored(T value) noexcept {  // NOLINT(google-explicit-constructor): as std::atomic
    number_ = run::number();
    written_.push_back({value, run::clock(), run::self(), run::clock()[run::self()], false});
  }
  Explored(const Explored&) = delete;
  Explored& operator=(const Explored&) = delete;

  T load(std::memory_order order = std::memory_order_seq_cst) const noexcept {
    run::point();
    std::size_t oldest = seen_[run::self()];
    for (std::size_t i = written_.size(); i-- > oldest + 1;) {
      const Written& one = written_[i];
      if (run::clock()[one.thread] >= one.time || (order == std::memory_order_seq_cst && one.seq_cst)) oldest = i;
    }
    const std::size_t at = written_.size() - 1 - run::deviate(written_.size() - oldest);
    take(at, order);
    say("loads", written_[at].value);
    return written_[at].value;
  }
  void store(T value, std::memory_order order = std::memory_order_seq_cst) noexcept {
    run::point();
    write(value, order, std::nullopt);
    say("stores", value);
  }
  T exchange(T value, std::memory_order order = std::memory_order_seq_cst) noexcept {
    return change([&](T) { return value; }, order);
  }
  T fetch_add(T more, std::memory_order order = std::memory_order_seq_cst) noexcept {
    return change([&](T old) { return static_cast<T>(old + more); }, order);
  }
  T fetch_sub(T less, std::memory_order order = std::memory_order_seq_cst) noexcept {
    return change([&](T old) { return static_cast<T>(old - less); }, order);
  }
  bool compare_exchange_strong(T& expected, T value, std::memory_order order = std::memory_order_seq_cst) noexcept {
    run::point();
    const T old = written_.back().value;
    take(written_.size() - 1, order);
    if (old != expected) {
      expected = old;
      return false;
    }
    write(value, order, written_.back().released);
    say("exchanges", value);
    return true;
  }
  bool compare_exchange_weak(T& expected, T value, std::memory_order order = std::memory_order_seq_cst) noexcept {
    return compare_exchange_strong(expected, value, order);
  }

  /// As the system looks at a word under its own lock: nothing older than the newest.
  T of_the_system() noexcept {
    seen_[run::self()] = written_.size() - 1;
    return written_.back().value;
  }

 private:
  struct Written {
    T value{};
    std::optional<Clock> released;
    std::size_t thread = 0;
    std::uint32_t time = 0;
    bool seq_cst = false;
  };
  void take(std::size_t at, std::memory_order order) const noexcept {
    seen_[run::self()] = at;
    if (acquires(order) && written_[at].released) join_clock(run::clock(), *written_[at].released);
  }
  // `before`: what the write that is changed here had released goes on.
  void write(T value, std::memory_order order, const std::optional<Clock>& before) noexcept {
    Clock& clock = run::clock();
    ++clock[run::self()];
    std::optional<Clock> released = before;
    if (releases(order)) {
      if (!released) released.emplace();
      join_clock(*released, clock);
    }
    written_.push_back({value, released, run::self(), clock[run::self()], order == std::memory_order_seq_cst});
    seen_[run::self()] = written_.size() - 1;
  }
  template <typename Change>
  T change(const Change& next, std::memory_order order) noexcept {
    run::point();
    const T old = written_.back().value;
    take(written_.size() - 1, order);
    write(next(old), order, written_.back().released);
    say("changes", next(old));
    return old;
  }
  void say(const char* what, T value) const {
    if (!run::traced()) return;
    if constexpr (std::is_integral_v<T>) {
      run::trace(fmt::format("{} {} of word {}", what, value, number_));
    } else {
      run::trace(fmt::format("{} word {}", what, number_));
    }
  }

  std::size_t number_ = 0;
  std::vector<Written> written_;
  mutable std::array<std::size_t, kMostThreads> seen_{};
};

/// Words of plain memory that are used by std::atomic_ref: of one run, until forget().
template <typename T>
std::map<const T*, std::unique_ptr<Explored<T>>>& words() {
  static std::map<const T*, std::unique_ptr<Explored<T>>> all;
  return all;
}

template <typename T>
class ExploredRef {
 public:
  explicit ExploredRef(T& word) : word_(word), explored_(words<T>()[&word]) {
    if (explored_ == nullptr) explored_ = std::make_unique<Explored<T>>(word);
  }
  T load(std::memory_order order) const noexcept { return explored_->load(order); }
  void store(T value, std::memory_order order) const noexcept {
    explored_->store(value, order);
    word_ = value;
  }

 private:
  T& word_;
  std::unique_ptr<Explored<T>>& explored_;
};

/// A plain value: two threads that may use it at once, and one of them writes, are a failure.
class Plain {
 public:
  Plain(int value = 0) : value_(value) {}  // NOLINT(google-explicit-constructor): stands for an int
  Plain(const Plain& other) : value_(other.read()) {}
  Plain& operator=(const Plain& other) {
    write(other.read());
    return *this;
  }
  ~Plain() = default;
  [[nodiscard]] int read() const {
    check(knows(writer_, written_), "a value is read while another thread may write it");
    read_[run::self()] = ++run::clock()[run::self()];
    return value_;
  }

 private:
  static bool knows(std::size_t thread, std::uint32_t time) noexcept { return run::clock()[thread] >= time; }
  void write(int value) {
    check(knows(writer_, written_), "a value is written while another thread may write it");
    for (std::size_t t = 0; t < kMostThreads; ++t) {
      check(knows(t, read_[t]), "a value is written while another thread may read it");
    }
    writer_ = run::self();
    written_ = ++run::clock()[run::self()];
    value_ = value;
  }
  int value_;
  std::size_t writer_ = 0;
  std::uint32_t written_ = 0;
  mutable std::array<std::uint32_t, kMostThreads> read_{};
};

class ExploredThread {
 public:
  ExploredThread() = default;
  template <typename Body>
  explicit ExploredThread(Body&& body) : number_(run::spawn(std::forward<Body>(body))) {}
  void join() {
    run::join(number_);
    number_ = 0;
  }
  [[nodiscard]] bool joinable() const noexcept { return number_ != 0; }

 private:
  std::size_t number_ = 0;
};

/// As std::latch, of which nobody explores the inside.
class ExploredLatch {
 public:
  explicit ExploredLatch(std::ptrdiff_t count) : left_(static_cast<std::uint64_t>(count)) {}
  void count_down() {
    if (left_.fetch_sub(1, std::memory_order_acq_rel) == 1) run::wake(this);
  }
  void wait() {
    while (left_.of_the_system() != 0) run::block(this);
    left_.load(std::memory_order_acquire);
  }

 private:
  Explored<std::uint64_t> left_;
};

/// FUTEX_WAIT and FUTEX_WAKE; no time ever runs out, so that one that is not woken is found.
template <typename Word>
long futex(Word& word, const void* address, int operation, std::uint32_t value) {
  run::point();
  if ((operation & FUTEX_CMD_MASK) == FUTEX_WAKE) {
    if (run::traced()) run::trace("wakes who sleeps");
    run::wake(address);
    return 0;
  }
  if (static_cast<std::uint32_t>(word.of_the_system()) != value) {
    errno = EAGAIN;
    return -1;
  }
  run::block(address);
  return 0;
}

}  // namespace rashpa::interleaving

template <typename T, typename... Rest>
long explored_syscall(long /*number*/, rashpa::interleaving::Explored<T>* word, int operation, std::uint32_t value,
                      Rest... /*rest*/) {
  return rashpa::interleaving::futex(*word, word, operation, value);
}
template <typename... Rest>
long explored_syscall(long /*number*/, const std::uint64_t* word, int operation, std::uint32_t value,
                      Rest... /*rest*/) {
  auto& known = rashpa::interleaving::words<std::uint64_t>()[word];
  if (known == nullptr) known = std::make_unique<rashpa::interleaving::Explored<std::uint64_t>>(*word);
  return rashpa::interleaving::futex(*known, word, operation, value);
}
