// SPDX-License-Identifier: Apache-2.0
#include "explorer.hpp"

#include <fmt/format.h>
#include <ucontext.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <utility>

namespace rashpa::interleaving {

namespace {

constexpr std::size_t kStackBytes = 256UL * 1024;
constexpr std::uint64_t kMostSteps = 20'000;

struct Thread {
  ucontext_t context{};
  std::unique_ptr<std::byte[]> stack = std::make_unique<std::byte[]>(kStackBytes);
  std::function<void()> body;
  Clock clock{};
  bool ended = false;
  const void* waits = nullptr;  // blocked until that is woken
};

struct Choice {
  std::size_t taken = 0, of = 0;
};

struct State {
  ucontext_t home{};
  std::array<std::unique_ptr<Thread>, kMostThreads> threads;
  std::size_t started = 0, self = 0;
  std::vector<Choice> choices;
  std::size_t next_choice = 0;
  int deviations_left = 0;
  std::uint64_t steps = 0;
  std::size_t numbers = 0;
  std::string failure;
  bool traced = false;
  std::string trace;
};

State g;

std::size_t choose(std::size_t of) noexcept {
  if (of <= 1) return 0;
  if (g.next_choice == g.choices.size()) g.choices.push_back({0, of});
  return g.choices[g.next_choice++].taken;
}

// False: all were taken.
bool next_choices() noexcept {
  while (!g.choices.empty() && g.choices.back().taken + 1 == g.choices.back().of) g.choices.pop_back();
  if (g.choices.empty()) return false;
  ++g.choices.back().taken;
  return true;
}

[[noreturn]] void go_home() {
  ::setcontext(&g.home);
  std::abort();
}

bool can_run(std::size_t thread) noexcept { return !g.threads[thread]->ended && g.threads[thread]->waits == nullptr; }

void switch_to(std::size_t thread) noexcept {
  if (thread == g.self) return;
  Thread& from = *g.threads[g.self];
  g.self = thread;
  ::swapcontext(&from.context, &g.threads[thread]->context);
}

// The thread in hand does not go on.
void leave() {
  std::array<std::size_t, kMostThreads> others{};
  std::size_t count = 0;
  for (std::size_t t = 0; t < g.started; ++t) {
    if (can_run(t)) others[count++] = t;
  }
  if (count == 0) {
    if (std::all_of(g.threads.begin(), g.threads.begin() + static_cast<std::ptrdiff_t>(g.started),
                    [](const auto& thread) { return thread->ended; })) {
      go_home();
    }
    run::fail("all threads wait, and nobody wakes one");
  }
  switch_to(others[choose(count)]);
}

void body() {
  g.threads[g.self]->body();
  g.threads[g.self]->ended = true;
  run::wake(g.threads[g.self].get());
  leave();
}

void begin_thread(std::size_t number, std::function<void()> what) {
  std::unique_ptr<Thread>& thread = g.threads[number];
  if (thread == nullptr) thread = std::make_unique<Thread>();
  thread->body = std::move(what);
  thread->clock = {};
  thread->ended = false;
  thread->waits = nullptr;
  ::getcontext(&thread->context);
  thread->context.uc_stack = {.ss_sp = thread->stack.get(), .ss_flags = 0, .ss_size = kStackBytes};
  thread->context.uc_link = nullptr;
  ::makecontext(&thread->context, body, 0);
}

void play(const std::function<void()>& program, const Bound& bound) {
  g.next_choice = g.steps = g.numbers = g.self = 0;
  g.started = 1;
  g.deviations_left = bound.deviations;
  g.failure.clear();
  begin_thread(0, program);
  volatile bool begun = false;
  ::getcontext(&g.home);
  if (!begun) {
    begun = true;
    ::setcontext(&g.threads[0]->context);
  }
}

}  // namespace

namespace run {

std::size_t self() noexcept { return g.self; }
Clock& clock() noexcept { return g.threads[g.self]->clock; }
std::size_t number() noexcept { return g.numbers++; }
bool traced() noexcept { return g.traced; }
void trace(const std::string& what) { g.trace += fmt::format("  thread {}: {}\n", g.self, what); }

std::size_t deviate(std::size_t of) noexcept {
  if (g.deviations_left == 0) return 0;
  const std::size_t taken = choose(of);
  if (taken != 0) --g.deviations_left;
  return taken;
}

void point() {
  if (++g.steps > kMostSteps) fail("it does not come to its end");
  std::array<std::size_t, kMostThreads> all{g.self};
  std::size_t count = 1;
  for (std::size_t t = 0; t < g.started; ++t) {
    if (t != g.self && can_run(t)) all[count++] = t;
  }
  switch_to(all[deviate(count)]);
}

void block(const void* on) {
  g.threads[g.self]->waits = on;
  if (g.traced) trace("sleeps");
  leave();
}

void wake(const void* on) noexcept {
  for (std::size_t t = 0; t < g.started; ++t) {
    if (g.threads[t]->waits == on) g.threads[t]->waits = nullptr;
  }
}

std::size_t spawn(std::function<void()> what) {
  if (g.started == kMostThreads) fail("too many threads");
  const std::size_t number = g.started;
  begin_thread(number, std::move(what));
  ++clock()[g.self];
  g.threads[number]->clock = clock();
  ++g.started;
  point();
  return number;
}

void join(std::size_t thread) {
  const Thread& other = *g.threads[thread];
  while (!other.ended) block(&other);
  for (std::size_t t = 0; t < kMostThreads; ++t) clock()[t] = std::max(clock()[t], other.clock[t]);
}

void fail(const std::string& why) {
  g.failure = why;
  go_home();
}

}  // namespace run

Outcome explore(const std::function<void()>& program, Bound bound) {
  Outcome outcome;
  g.choices.clear();
  g.traced = false;
  do {
    play(program, bound);
    ++outcome.runs;
    if (!g.failure.empty()) {
      g.traced = true;
      g.trace.clear();
      play(program, bound);
      outcome.failure = fmt::format("run {}: {}\n{}", outcome.runs, g.failure, g.trace);
      return outcome;
    }
    if (!next_choices()) {
      outcome.all = true;
      return outcome;
    }
  } while (outcome.runs < bound.runs);
  return outcome;
}

}  // namespace rashpa::interleaving
