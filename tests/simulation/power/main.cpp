// SPDX-License-Identifier: Apache-2.0
/// Records runs of sinks that write files, and looks at their disk as it may be when the power fails at a moment
/// between: every seed is another run, every cut another moment, every draw another disk.
///
///   rashpa_power_failure --seeds N [--from S] [--cuts C] [--jobs J]
///   rashpa_power_failure --seed S [--cut K [--draw D]] [--trace] [--keep FOLDER]
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "command/arguments.hpp"
#include "power/judge.hpp"
#include "power/stored_run.hpp"
#include "power/trace.hpp"

namespace rashpa::simulation::power {
namespace {

namespace fs = std::filesystem;

constexpr unsigned kSeconds = 30;  // of one look at a disk

struct Wanted {
  std::uint64_t seeds = 0;
  std::uint64_t first = 1;
  std::uint64_t cuts = 40;
  unsigned jobs = 2;
  std::optional<std::uint64_t> cut{};
  std::optional<std::uint64_t> draw{};
  bool trace = false;
  std::string keep{};
};

/// A place of one process, in memory.
struct Place {
  fs::path path = fs::path("/dev/shm") / fmt::format("rashpa_power_{}", ::getpid());
  Place() { fs::create_directories(path); }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  ~Place() {
    std::error_code nothing;
    fs::remove_all(path, nothing);
  }
};

struct Said {
  bool good = false;
  std::string text;
};

/// Does it in a process of its own. `what` returns what is wrong, and prints other words.
template <typename What>
Said apart(What what) {
  int ends[2] = {};
  if (::pipe(ends) != 0) return {.good = false, .text = "no pipe"};
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(ends[0]);
    ::dup2(ends[1], STDOUT_FILENO);
    ::alarm(kSeconds * 10);
    const rlimit limit{.rlim_cur = kSeconds, .rlim_max = kSeconds};
    ::setrlimit(RLIMIT_CPU, &limit);
    std::string wrong;
    try {
      wrong = what();
    } catch (const std::exception& error) {
      wrong = error.what();
    }
    std::printf("%s", wrong.c_str());
    std::fflush(stdout);
    ::_exit(wrong.empty() ? 0 : 1);
  }
  ::close(ends[1]);
  std::string text;
  char room[4096];
  for (ssize_t got = 0; (got = ::read(ends[0], room, sizeof room)) > 0 || (got < 0 && errno == EINTR);) {
    if (got > 0) text.append(room, static_cast<std::size_t>(got));
  }
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) text += fmt::format("died of signal {}", WTERMSIG(status));
  return {.good = WIFEXITED(status) && WEXITSTATUS(status) == 0, .text = text};
}

std::string bytes_of(const fs::path& file) {
  std::ostringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  return text.str();
}

/// The trace of the run, which must lead to the folder that the run has left. Throws what is wrong.
Trace trace_of(const StoredRun& run, const fs::path& place) {
  const fs::path folder = place / "run", file = place / "trace";
  const Said said = apart([&] {
    world::on_end([](const std::string& why) {
      std::printf("%s", why.c_str());
      std::fflush(stdout);
      ::_exit(1);
    });
    record(run, folder, file);
    return std::string();
  });
  if (!said.good) throw std::runtime_error("the run itself: " + said.text);
  Trace trace = load(file);
  for (const auto& [name, content] : whole_folder(trace)) {
    std::string bytes = content.bytes;
    bytes.resize(content.size, '\0');
    if (!fs::exists(folder / name) || bytes_of(folder / name) != bytes) {
      throw std::runtime_error("the trace does not lead to " + name);
    }
  }
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (whole_folder(trace).count(entry.path().filename().string()) == 0) {
      throw std::runtime_error("the trace knows nothing of " + entry.path().filename().string());
    }
  }
  fs::remove_all(folder);
  return trace;
}

/// Before and behind every call that makes something safe, or gives names; and others by chance.
std::vector<std::size_t> cuts_of(const StoredRun& run, const Trace& trace, std::uint64_t most) {
  std::set<std::size_t> all;
  std::size_t first = 0;
  for (std::size_t i = 0; i < trace.size(); ++i) {
    if (trace[i].kind == Op::Kind::mark && trace[i].name == kEarlierDone) {
      first = i + 1;
      all = {first};
      continue;
    }
    if (trace[i].kind == Op::Kind::write || trace[i].kind == Op::Kind::resize) continue;
    all.insert({i, i + 1});
  }
  Dice dice(run.seed, "cuts");
  for (std::uint64_t i = 0; i < most / 3; ++i) all.insert(first + dice.below(trace.size() + 1 - first));
  std::vector<std::size_t> chosen(all.begin(), all.end());
  while (chosen.size() > most) chosen.erase(chosen.begin() + static_cast<std::ptrdiff_t>(dice.below(chosen.size())));
  return chosen;
}

Dice dice_of(const StoredRun& run, std::size_t cut, std::uint64_t draw) {
  return Dice(run.seed * 1'000'003 + cut * 1009 + draw, "power");
}

std::string command_of(const StoredRun& run, std::size_t cut, std::uint64_t draw) {
  return fmt::format("rashpa_power_failure --seed {} --cut {} --draw {}", run.seed, cut, draw);
}

/// One loss of power. Returns the text for a failure.
std::string fail_at(const StoredRun& run, const Trace& trace, std::size_t cut, std::uint64_t draw,
                    const fs::path& folder, std::string& said) {
  fs::remove_all(folder);
  write(folder_after(trace, cut, dice_of(run, cut, draw), !run.names_by_any_sync), folder);
  const Said looked = apart([&] {
    std::string words;
    const std::string wrong = judge(run, due_at(trace, cut), folder, words);
    if (wrong.empty()) std::printf("%s", words.c_str());
    return wrong;
  });
  if (looked.good) {
    said = looked.text;
    return {};
  }
  return fmt::format("seed {}, power fails behind op {} ({}): {}\nagain: {}\n", run.seed, cut,
                     cut == 0 ? "none" : describe(trace[cut - 1]), looked.text, command_of(run, cut, draw));
}

struct Counts {
  std::uint64_t looks = 0, refused = 0, failures = 0;
};

void play(const Wanted& wanted, std::uint64_t seed, Counts& counts) {
  const Place place;
  const StoredRun run = draw_stored(seed);
  std::string text;
  try {
    const Trace trace = trace_of(run, place.path);
    for (const std::size_t cut : cuts_of(run, trace, wanted.cuts)) {
      std::string said;
      text = fail_at(run, trace, cut, wanted.draw.value_or(0), place.path / "disk", said);
      counts.looks += 1;
      counts.refused += said.empty() ? 0U : 1U;
      if (!text.empty()) break;
    }
  } catch (const std::exception& error) {
    text = fmt::format("seed {}: {}\n", seed, error.what());
  }
  if (text.empty()) return;
  counts.failures += 1;
  text = fmt::format("{}  {}\n", text, run.describe());
  static_cast<void>(!::write(STDOUT_FILENO, text.data(), text.size()));
}

int play_many(const Wanted& wanted) {
  const auto begun = std::chrono::steady_clock::now();
  std::vector<std::pair<pid_t, int>> workers;
  for (unsigned number = 0; number < wanted.jobs; ++number) {
    int ends[2] = {};
    if (::pipe(ends) != 0) return 1;
    const pid_t worker = ::fork();
    if (worker == 0) {
      Counts counts;
      for (std::uint64_t i = number; i < wanted.seeds; i += wanted.jobs) play(wanted, wanted.first + i, counts);
      static_cast<void>(!::write(ends[1], &counts, sizeof counts));
      ::_exit(0);
    }
    ::close(ends[1]);
    workers.emplace_back(worker, ends[0]);
  }
  Counts all;
  for (const auto& [worker, end] : workers) {
    Counts counts{.failures = 1};
    static_cast<void>(!::read(end, &counts, sizeof counts));
    ::waitpid(worker, nullptr, 0);
    all.looks += counts.looks;
    all.refused += counts.refused;
    all.failures += counts.failures;
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  std::printf("%llu runs from seed %llu on, %llu losses of power, %llu refused in words, %llu runs failed, %.1f s\n",
              static_cast<unsigned long long>(wanted.seeds), static_cast<unsigned long long>(wanted.first),
              static_cast<unsigned long long>(all.looks), static_cast<unsigned long long>(all.refused),
              static_cast<unsigned long long>(all.failures), seconds);
  return all.failures == 0 ? 0 : 1;
}

int play_one(const Wanted& wanted) {
  const Place place;
  const StoredRun run = draw_stored(wanted.first);
  std::printf("seed %llu: %s\n", static_cast<unsigned long long>(run.seed), run.describe().c_str());
  try {
    const Trace trace = trace_of(run, place.path);
    for (std::size_t i = 0; i < trace.size() && wanted.trace; ++i) {
      std::printf("%5zu %s\n", i, describe(trace[i]).c_str());
    }
    std::vector<std::size_t> cuts = cuts_of(run, trace, wanted.cuts);
    if (wanted.cut) cuts = {std::min<std::size_t>(*wanted.cut, trace.size())};
    if (!wanted.keep.empty()) {
      write(folder_after(trace, cuts.front(), dice_of(run, cuts.front(), wanted.draw.value_or(0)),
                         !run.names_by_any_sync),
            wanted.keep);
    }
    int failures = 0;
    for (const std::size_t cut : cuts) {
      std::string said;
      const std::string text = fail_at(run, trace, cut, wanted.draw.value_or(0), place.path / "disk", said);
      failures += text.empty() ? 0 : 1;
      if (!text.empty()) std::printf("%s", text.c_str());
      if (!said.empty()) std::printf("behind op %zu: %s\n", cut, said.c_str());
    }
    std::printf("%s\n", failures == 0 ? "good" : "FAILED");
    return failures == 0 ? 0 : 1;
  } catch (const std::exception& error) {
    std::printf("%s\n", error.what());
    return 1;
  }
}

[[noreturn]] void refuse(const std::string& why) {
  std::fprintf(stderr,
               "rashpa_power_failure: %s\n"
               "  --seeds N [--from S] [--cuts C] [--draw D] [--jobs J]\n"
               "  --seed S [--cut K] [--draw D] [--trace] [--keep FOLDER]\n",
               why.c_str());
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
    } else if (name == "--cuts") {
      wanted.cuts = arguments.number();
    } else if (name == "--jobs") {
      wanted.jobs = arguments.jobs();
    } else if (name == "--cut") {
      wanted.cut = arguments.number();
    } else if (name == "--draw") {
      wanted.draw = arguments.number();
    } else if (name == "--trace") {
      wanted.trace = true;
    } else if (name == "--keep") {
      wanted.keep = arguments.value();
    } else {
      refuse("there is no option " + name);
    }
  }
  return wanted;
}

}  // namespace
}  // namespace rashpa::simulation::power

int main(int argc, char** argv) {
  using namespace rashpa::simulation::power;  // NOLINT(google-build-using-namespace)
  const Wanted wanted = read({{argv + 1, argv + argc}, refuse});
  return wanted.seeds > 0 ? play_many(wanted) : play_one(wanted);
}
