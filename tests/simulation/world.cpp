// SPDX-License-Identifier: Apache-2.0
#include "world.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <linux/futex.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>

#include "memory.hpp"

namespace rashpa::simulation {

namespace {

constexpr std::uint64_t mixed(std::uint64_t x) noexcept {
  x += 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

constexpr std::uint64_t hash_of(std::string_view text) noexcept {
  std::uint64_t hash = 0xCBF29CE484222325ULL;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
  return hash;
}

long real_futex(std::uint32_t* word, int operation, std::uint32_t value) noexcept {
  using Call = long (*)(long, ...);
  static const auto call = reinterpret_cast<Call>(dlsym(RTLD_NEXT, "syscall"));
  return call(SYS_futex, word, operation, value, nullptr, nullptr, 0);
}

struct Thread {
  int number = 0;
  Process process = 0;
  std::string name;
  pthread_t handle{};
  void* (*run)(void*) = nullptr;
  void* argument = nullptr;
  alignas(64) std::uint32_t baton = 0;
  bool ended = false;
  bool ready = true;
  bool notified = false;
  const void* channel = nullptr;
  std::int64_t until = kNever;
  const char* why = "";
  int locks = 0;  // that it has
};

constexpr std::int64_t kEpoch = 1'800'000'000'000'000'000;  // of the world's calendar
constexpr std::int64_t kStart = 1'000'000'000'000;          // of its clock: nobody may take 0 for "never"
constexpr std::size_t kTraceLines = 4000;
constexpr std::size_t kMostProcesses = 64;

struct World {
  explicit World(std::uint64_t seed) : dice(seed, "threads"), random(seed, "random device") {}
  Dice dice;
  Dice random;
  std::int64_t now = kStart;
  std::int64_t wall = kEpoch - kStart;
  std::int64_t limit = kNever;
  std::vector<std::unique_ptr<Thread>> threads;
  std::array<std::int64_t, kMostProcesses> frozen{};
  std::array<bool, kMostProcesses> dead{};
  std::uint64_t digest = 0;
  std::uint64_t switches = 0;
  std::deque<std::string> lines;
  bool print = false;
  void (*end)(const std::string&) = nullptr;
};

World* g_world = nullptr;
thread_local Thread* t_self = nullptr;

std::size_t at(Process process) noexcept { return static_cast<std::size_t>(process) % kMostProcesses; }

// Processes here share what in the system is each one's own, such as the lock of the log: none dies or stops with it.
bool is_dead(const Thread& thread) noexcept { return thread.locks == 0 && g_world->dead[at(thread.process)]; }
std::int64_t frozen_until(const Thread& thread) noexcept {
  return thread.locks == 0 ? g_world->frozen[at(thread.process)] : 0;
}
bool may_run(const Thread& thread) noexcept {
  return !thread.ended && !is_dead(thread) && frozen_until(thread) <= g_world->now;
}

void take_baton(Thread& self) noexcept {
  while (__atomic_load_n(&self.baton, __ATOMIC_ACQUIRE) == 0) real_futex(&self.baton, FUTEX_WAIT_PRIVATE, 0);
  __atomic_store_n(&self.baton, 0, __ATOMIC_RELAXED);
}

void give_baton(Thread& to) noexcept {
  __atomic_store_n(&to.baton, 1, __ATOMIC_RELEASE);
  real_futex(&to.baton, FUTEX_WAKE_PRIVATE, 1);
}

[[noreturn]] void end_world(const std::string& why) noexcept {
  g_world->end(why);
  std::abort();
}

// Which thread goes on; time jumps where none can.
Thread& choose() noexcept {
  const memory::Spared spared;
  World& world = *g_world;
  static std::vector<Thread*> can;
  for (;;) {
    can.clear();
    std::int64_t next = kNever;
    for (const auto& thread : world.threads) {
      if (thread->ended || is_dead(*thread)) continue;
      if (!thread->ready && thread->until <= world.now) thread->ready = true;
      if (thread->ready && may_run(*thread)) {
        can.push_back(thread.get());
      } else {
        const std::int64_t awake = thread->ready ? world.now : thread->until;
        next = std::min(next, std::max(awake, frozen_until(*thread)));
      }
    }
    if (!can.empty()) return *can[world.dice.below(can.size())];
    if (next == kNever) end_world("all threads wait, and nobody wakes one:\n" + world::describe());
    world.now = std::max(world.now + 1, next);
    if (world.now > world.limit) end_world("the run does not come to its end:\n" + world::describe());
  }
}

// Lets another thread run, perhaps the same again. Returns when this one has the baton.
void switch_away(Thread& self) noexcept {
  World& world = *g_world;
  Thread& next = choose();
  world.digest = mixed(world.digest ^ static_cast<std::uint64_t>(next.number)) + static_cast<std::uint64_t>(world.now);
  if (&next == &self) return;
  ++world.switches;
  const bool gone = self.ended;
  give_baton(next);
  if (!gone) take_baton(self);
}

void* body(void* given) {
  Thread& self = *static_cast<Thread*>(given);
  take_baton(self);
  t_self = &self;
  void* const result = self.run(self.argument);
  self.ended = true;
  world::notify(&self, INT_MAX);
  t_self = nullptr;
  switch_away(self);
  return result;
}

// The latest of that handle: the system gives those of detached threads that have ended to others.
Thread* find(pthread_t handle) noexcept {
  const auto found = std::find_if(g_world->threads.rbegin(), g_world->threads.rend(),
                                  [&](const auto& thread) { return pthread_equal(thread->handle, handle) != 0; });
  return found == g_world->threads.rend() ? nullptr : found->get();
}

template <typename Function>
Function real(const char* name) noexcept {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

}  // namespace

Dice::Dice(std::uint64_t seed, std::string_view use) noexcept : state_(mixed(seed) ^ hash_of(use)) {}
std::uint64_t Dice::next() noexcept { return mixed(state_++); }

namespace world {

bool inside() noexcept { return t_self != nullptr; }

void begin(std::uint64_t seed, std::int64_t limit_ns) {
  const bool print = g_world != nullptr && g_world->print;
  void (*const end)(const std::string&) = g_world != nullptr ? g_world->end : nullptr;
  auto made = std::make_unique<World>(seed);
  made->print = print;
  made->end = end;
  made->limit = kStart + limit_ns;
  g_world = made.release();
  auto first = std::make_unique<Thread>();
  first->name = "hand";
  first->handle = pthread_self();
  t_self = first.get();
  g_world->threads.push_back(std::move(first));
}

void on_end(void (*end)(const std::string&)) {
  if (g_world == nullptr) g_world = new World(0);
  g_world->end = end;
}

std::int64_t now() noexcept { return g_world->now; }
std::int64_t wall_ns() noexcept { return g_world->now + g_world->wall; }
void jump_wall(std::int64_t ns) noexcept { g_world->wall += ns; }

void pass(std::int64_t ns, double others) noexcept {
  World& world = *g_world;
  world.now += ns;
  // A stopped or killed process stands still at its next call.
  if (!may_run(*t_self) || world.dice.chance(others)) switch_away(*t_self);
}

bool wait(const void* channel, std::int64_t until, const char* why) noexcept {
  Thread& self = *t_self;
  self.ready = false;
  self.notified = false;
  self.channel = channel;
  self.until = until;
  self.why = why;
  switch_away(self);
  self.channel = nullptr;
  self.until = kNever;
  self.why = "";
  return self.notified;
}

int notify(const void* channel, int most) noexcept {
  const memory::Spared spared;
  World& world = *g_world;
  std::vector<Thread*> waiting;
  for (const auto& thread : world.threads) {
    if (channel != nullptr && !thread->ended && !thread->ready && thread->channel == channel)
      waiting.push_back(thread.get());
  }
  int woken = 0;
  while (woken < most && !waiting.empty()) {
    const std::size_t which = world.dice.below(waiting.size());
    waiting[which]->ready = true;
    waiting[which]->notified = true;
    waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(which));
    ++woken;
  }
  return woken;
}

int create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*), void* argument) noexcept {
  const memory::Spared spared;
  static const auto call = real<int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)>("pthread_create");
  auto made = std::make_unique<Thread>();
  made->number = static_cast<int>(g_world->threads.size());
  made->process = t_self->process;
  made->name = fmt::format("thread-{}", made->number);
  made->run = run;
  made->argument = argument;
  const int failed = call(&made->handle, attributes, body, made.get());
  if (failed != 0) return failed;
  *thread = made->handle;
  g_world->threads.push_back(std::move(made));
  pass(10'000, 0.5);
  return 0;
}

int join(pthread_t thread, void** result) noexcept {
  static const auto call = real<int (*)(pthread_t, void**)>("pthread_join");
  Thread* const other = find(thread);
  while (other != nullptr && !other->ended) wait(other, kNever, "the end of a thread");
  if (other != nullptr) other->handle = pthread_t{};
  return call(thread, result);
}

void has_lock(int more) noexcept { t_self->locks += more; }
void name_this(const char* name) noexcept {
  const memory::Spared spared;
  t_self->name = name;
}
Process process() noexcept { return t_self->process; }
void enter(Process process) noexcept { t_self->process = process; }

void freeze(Process process, std::int64_t until) noexcept { g_world->frozen[at(process)] = until; }
void kill(Process process) noexcept { g_world->dead[at(process)] = true; }
bool killed(Process process) noexcept { return g_world->dead[at(process)]; }

int threads() noexcept {
  return static_cast<int>(std::count_if(g_world->threads.begin(), g_world->threads.end(), [](const auto& thread) {
    return !thread->ended && !g_world->dead[at(thread->process)];
  }));
}

std::string describe() {
  std::string all;
  for (const auto& thread : g_world->threads) {
    if (thread->ended) continue;
    const char* const state = g_world->dead[at(thread->process)] ? "killed" : thread->ready ? "could run" : "waits";
    all += fmt::format("  process {} {}: {} {}\n", thread->process, thread->name, state, thread->why);
  }
  return all;
}

std::uint64_t digest() noexcept { return g_world->digest; }
std::uint64_t switches() noexcept { return g_world->switches; }
void mix(std::uint64_t value) noexcept { g_world->digest = mixed(g_world->digest ^ value); }
std::uint64_t random() noexcept { return g_world->random.next(); }

void trace(const std::string& text) { trace_at(g_world->now, text); }

void trace_at(std::int64_t ns, const std::string& text) {
  const memory::Spared spared;
  World& world = *g_world;
  std::string line = fmt::format("{:12.3f} ms  {:<14} {}", static_cast<double>(ns - kStart) * 1e-6,
                                 t_self == nullptr ? "" : t_self->name, text);
  if (world.print) std::fprintf(stderr, "%s\n", line.c_str());
  world.lines.push_back(std::move(line));
  if (world.lines.size() > kTraceLines) world.lines.pop_front();
}

void print_trace(bool at_once) {
  if (g_world == nullptr) g_world = new World(0);
  g_world->print = at_once;
}

std::string latest(std::size_t lines) {
  std::string all;
  const std::size_t first = g_world->lines.size() - std::min(lines, g_world->lines.size());
  for (std::size_t i = first; i < g_world->lines.size(); ++i) all += g_world->lines[i] + "\n";
  return all;
}

}  // namespace world
}  // namespace rashpa::simulation
