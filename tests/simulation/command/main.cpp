// SPDX-License-Identifier: Apache-2.0
/// rashpa_simulation: many seeds, or one of them again with its trace, or what is left of it when it is made simpler.
#include <execinfo.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "command/arguments.hpp"
#include "play.hpp"
#include "rashpa/sink/repair/repair.hpp"
#include "world.hpp"

namespace rashpa::simulation {
namespace {

constexpr int kSeconds = 30;            // of a processor, for one seed
constexpr unsigned kWallSeconds = 300;  // of the real clock: a busy machine takes its time
constexpr int kWrong = 1;

struct Wanted {
  std::uint64_t first = 1;
  std::uint64_t seeds = 0;  ///< 0: the first alone, told at length
  unsigned jobs = 2;
  std::set<std::string> without;
  bool trace = false;
  bool shrink = false;
  bool twice = false;  ///< each seed a second time: both must be the same
  std::uint64_t most_failures = 10;
};

struct Outcome {
  bool good = false;
  std::string text;  ///< of what was wrong, or the words of a good one
  std::string digest;
};

std::string command_of(std::uint64_t seed, const std::set<std::string>& without) {
  return fmt::format("rashpa_simulation --seed {}{}", seed,
                     without.empty() ? "" : fmt::format(" --without {}", fmt::join(without, ",")));
}

std::filesystem::path folder_of_this() {
  return std::filesystem::path("/dev/shm") / fmt::format("rashpa_simulation_{}", ::getpid());
}

// Where the thread is that a signal has found: said, and died of as without this.
void say_where(int signal) {
  std::array<void*, 64> frames{};
  const int depth = ::backtrace(frames.data(), static_cast<int>(frames.size()));
  ::backtrace_symbols_fd(frames.data(), depth, STDOUT_FILENO);
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

// In a process of its own. It says all on its output.
[[noreturn]] void play_here(std::uint64_t seed, const std::set<std::string>& without, bool trace) {
  std::setvbuf(stdout, nullptr, _IOFBF, 1U << 16);
  for (const int signal : {SIGSEGV, SIGBUS, SIGABRT, SIGALRM, SIGPROF}) std::signal(signal, say_where);
  world::print_trace(trace);
  world::on_end([](const std::string& why) {
    std::printf("%s\n%s", why.c_str(), world::latest(30).c_str());
    std::fflush(stdout);
    ::_exit(kWrong);
  });
  const Scenario scenario = draw(seed, without);
  if (trace) std::fprintf(stderr, "%s\n", scenario.describe().c_str());
  const std::filesystem::path folder = folder_of_this();
  if (scenario.raw || scenario.hdf5) std::filesystem::create_directories(folder);
  const Result result = play(scenario, folder);
  std::printf("%016llx %llu switches, %.3f ms, %llu of %llu images complete\n",
              static_cast<unsigned long long>(result.digest), static_cast<unsigned long long>(result.switches),
              static_cast<double>(result.ns) * 1e-6, static_cast<unsigned long long>(result.complete),
              static_cast<unsigned long long>(result.expected));
  for (const std::string& text : result.wrong) std::printf("%s\n", text.c_str());
  std::fflush(stdout);
  ::_exit(result.wrong.empty() ? 0 : kWrong);
}

Outcome play_apart(std::uint64_t seed, const std::set<std::string>& without, bool trace = false) {
  int ends[2] = {};
  if (::pipe(ends) != 0) return {.good = false, .text = "no pipe", .digest = {}};
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(ends[1], STDOUT_FILENO);
    ::close(ends[0]);
    ::close(ends[1]);
    const itimerval limit{.it_interval = {}, .it_value = {.tv_sec = kSeconds, .tv_usec = 0}};
    ::setitimer(ITIMER_PROF, &limit, nullptr);
    ::alarm(kWallSeconds);
    play_here(seed, without, trace);
  }
  ::close(ends[1]);
  std::string said;
  char room[4096];
  for (ssize_t got = 0; (got = ::read(ends[0], room, sizeof room)) > 0 || (got < 0 && errno == EINTR);) {
    if (got > 0) said.append(room, static_cast<std::size_t>(got));
  }
  ::close(ends[0]);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  std::error_code nothing;
  std::filesystem::remove_all(std::filesystem::path("/dev/shm") / fmt::format("rashpa_simulation_{}", child), nothing);
  Outcome outcome{.good = WIFEXITED(status) && WEXITSTATUS(status) == 0, .text = said, .digest = said.substr(0, 16)};
  if (WIFSIGNALED(status)) {
    outcome.text += WTERMSIG(status) == SIGALRM || WTERMSIG(status) == SIGPROF
                        ? "a thread runs for ever without a call to the system\n"
                        : fmt::format("died of signal {} ({})\n", WTERMSIG(status), ::strsignal(WTERMSIG(status)));
  }
  return outcome;
}

// One worker's seeds; the failures go to stdout as they are found. Returns their number, 255 at most.
int work(const Wanted& wanted, unsigned number) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  ::sched_getaffinity(0, sizeof allowed, &allowed);
  std::vector<int> processors;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &allowed)) processors.push_back(cpu);
  }
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(processors[number % processors.size()], &one);
  ::sched_setaffinity(0, sizeof one, &one);  // threads that hand on a baton are quickest on one
  std::uint64_t failures = 0;
  for (std::uint64_t i = number; i < wanted.seeds && failures < wanted.most_failures; i += wanted.jobs) {
    const std::uint64_t seed = wanted.first + i;
    const Outcome outcome = play_apart(seed, wanted.without);
    std::string text;
    if (!outcome.good)
      text = fmt::format("seed {} failed: {}again: {}\n\n", seed, outcome.text, command_of(seed, wanted.without));
    if (outcome.good && wanted.twice && play_apart(seed, wanted.without).digest != outcome.digest) {
      text = fmt::format("seed {} does not give the same run twice\n", seed);
    }
    if (text.empty()) continue;
    ++failures;
    static_cast<void>(!::write(STDOUT_FILENO, text.data(), text.size()));
  }
  return static_cast<int>(std::min<std::uint64_t>(failures, 255));
}

int play_many(const Wanted& wanted) {
  const auto begun = std::chrono::steady_clock::now();
  std::vector<pid_t> workers;
  for (unsigned number = 0; number < wanted.jobs; ++number) {
    const pid_t worker = ::fork();
    if (worker == 0) ::_exit(work(wanted, number));
    workers.push_back(worker);
  }
  int failures = 0;
  for (const pid_t worker : workers) {
    int status = 0;
    ::waitpid(worker, &status, 0);
    failures += WIFEXITED(status) ? WEXITSTATUS(status) : 1;
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  std::printf("%llu seeds from %llu on, %d failed, %.1f s, %.0f an hour\n",
              static_cast<unsigned long long>(wanted.seeds), static_cast<unsigned long long>(wanted.first), failures,
              seconds, static_cast<double>(wanted.seeds) * 3600 / seconds);
  return failures == 0 ? 0 : 1;
}

int play_one(const Wanted& wanted) {
  const Outcome outcome = play_apart(wanted.first, wanted.without, wanted.trace);
  std::printf("%s\n%s%s\n", draw(wanted.first, wanted.without).describe().c_str(), outcome.text.c_str(),
              outcome.good ? "good" : "FAILED");
  return outcome.good ? 0 : 1;
}

// Goes without one thing after the other, as long as it fails.
int shrink(Wanted wanted) {
  if (play_apart(wanted.first, wanted.without).good) {
    std::printf("seed %llu is good: nothing to shrink\n", static_cast<unsigned long long>(wanted.first));
    return 1;
  }
  for (const std::string& name : shrink_names()) {
    std::set<std::string> less = wanted.without;
    less.insert(name);
    if (draw(wanted.first, less).describe() == draw(wanted.first, wanted.without).describe()) continue;
    if (play_apart(wanted.first, less).good) continue;
    wanted.without = less;
    std::printf("fails without %s\n", name.c_str());
  }
  std::printf("again: %s\n", command_of(wanted.first, wanted.without).c_str());
  play_one(wanted);
  return 1;
}

// Of the same program, by a run whose machine has lost its power: the number of images that are found.
int repair(const std::string& prefix) {
  try {
    const sink::Repaired found = sink::repair(prefix);
    std::printf("%llu\n", static_cast<unsigned long long>(found.books.written));
    return 0;
  } catch (const std::exception& error) {
    std::printf("%s\n", error.what());
    return 1;
  }
}

[[noreturn]] void refuse(const std::string& why) {
  std::fprintf(stderr,
               "rashpa_simulation: %s\n"
               "  --seeds N [--from S] [--jobs J] [--twice] [--most-failures M]\n"
               "  --seed S [--without NAME,…] [--trace] [--shrink]\n"
               "names: %s\n",
               why.c_str(), fmt::format("{}", fmt::join(shrink_names(), " ")).c_str());
  std::exit(2);
}

Wanted read(Arguments arguments) {
  Wanted wanted;
  while (arguments.next()) {
    const std::string name = arguments.name();
    if (name == "--seeds") {
      wanted.seeds = arguments.number();
    } else if (name == "--from" || name == "--seed") {
      wanted.first = arguments.number();
    } else if (name == "--jobs") {
      wanted.jobs = arguments.jobs();
    } else if (name == "--most-failures") {
      wanted.most_failures = arguments.number();
    } else if (name == "--without") {
      const std::string& text = arguments.value();
      for (std::size_t begin = 0; begin <= text.size();) {
        const std::size_t end = std::min(text.find(',', begin), text.size());
        const std::string one = text.substr(begin, end - begin);
        if (std::count(shrink_names().begin(), shrink_names().end(), one) == 0) refuse("there is no \"" + one + "\"");
        wanted.without.insert(one);
        begin = end + 1;
      }
    } else if (name == "--trace") {
      wanted.trace = true;
    } else if (name == "--shrink") {
      wanted.shrink = true;
    } else if (name == "--twice") {
      wanted.twice = true;
    } else {
      refuse("there is no option " + name);
    }
  }
  return wanted;
}

}  // namespace
}  // namespace rashpa::simulation

int main(int argc, char** argv) {
  using namespace rashpa::simulation;  // NOLINT(google-build-using-namespace)
  if (argc == 3 && std::strcmp(argv[1], "--repair") == 0) return repair(argv[2]);
  const Wanted wanted = read({{argv + 1, argv + argc}, refuse});
  if (wanted.seeds > 0) return play_many(wanted);
  return wanted.shrink ? shrink(wanted) : play_one(wanted);
}
