// SPDX-License-Identifier: Apache-2.0
/// The n-th call for a thread, memory, a file, a name, a sync, a mapping fails, or all from the n-th on, over the life
/// of a run: it ends in time, says why or is whole, closes its books, and leaves no half file under a final name. A
/// repair that failed is whole the next time. Each trial is a process of its own. RASHPA_NTH=all tries every n,
/// RASHPA_NTH=17 that one; otherwise some of each kind are.
#include <execinfo.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <hdf5.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "chain.hpp"
#include "failing_calls.hpp"
#include "rashpa/core/error.hpp"
#include "rashpa/core/testing/temporary_folder.hpp"
#include "rashpa/core/time/clock.hpp"
#include "rashpa/kernel/total_counts/total_counts.hpp"
#include "rashpa/sink/factory.hpp"
#include "rashpa/sink/repair/repair.hpp"

namespace rashpa::chain {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kFrames = 24;
constexpr std::uint64_t kInSeries = 8;
constexpr double kEndsIn = 20;                     // seconds, of what a trial waits for
constexpr std::int64_t kLongest = 60'000'000'000;  // of a whole trial
constexpr std::uint64_t kSome = 8;                 // of each kind, where not all are tried
constexpr std::size_t kAtOnce = 4;

Plan plan_in(const fs::path& folder, std::uint64_t in_series) {
  Plan plan;
  plan.frames = kFrames;
  plan.link = "pcie";
  plan.width = 32;
  plan.height = 8;
  plan.deadline_ms = 500;
  plan.sinks.emplace_back(sink::Hdf5Options{.prefix = (folder / "run").string(),
                                            .images_per_file = 10,
                                            .series_images = static_cast<std::uint32_t>(in_series)});
  plan.sinks.emplace_back(sink::NullOptions{});
  return plan;
}

/// What is wrong with the books of a run that has ended; empty: nothing.
std::string wrong_books(const receiver::Status& status) {
  const Books& books = status.buffers.at(0).books;
  std::ostringstream text;
  const std::uint64_t decided = books.accepted + books.vetoed + books.errored;
  if (!books.balanced()) text << "the books are not balanced; ";
  if (books.expected != books.complete + books.partial + books.missing) text << "not every image is accounted for; ";
  if (decided != books.complete + books.partial) text << "not every image that came is decided; ";
  if (books.written != books.accepted) text << "accepted images are neither written nor errored; ";
  if (!text.str().empty()) {
    text << "expected " << books.expected << ", complete " << books.complete << ", partial " << books.partial
         << ", missing " << books.missing << ", accepted " << books.accepted << ", errored " << books.errored
         << ", written " << books.written;
  }
  return text.str();
}

/// A run to its end. Empty: it was whole, or said why it was not.
std::string run(const Plan& plan) {
  Chain chain(plan);
  const bool done = chain.play(kEndsIn);
  chain.emulator->stop();
  chain.receiver->stop();
  disarm();
  const receiver::Status status = chain.receiver->status();
  if (const std::string wrong = wrong_books(status); !wrong.empty()) return wrong;
  const receiver::BufferStatus& buffer = status.buffers.at(0);
  const Books& books = buffer.books;
  const bool whole = done && books.written == kFrames;
  if (!whole && books.errored == 0 && books.missing == 0 && books.partial == 0 && buffer.sink_error.empty()) {
    return "it did not come to its end, and nothing says why";
  }
  return {};
}

std::string run_whole(const fs::path& folder) { return run(plan_in(folder, 0)); }
std::string run_in_series(const fs::path& folder) { return run(plan_in(folder, kInSeries)); }

void add_raw(Plan& plan, const fs::path& folder) {
  plan.sinks.emplace_back(
      sink::RawOptions{.prefix = (folder / "raw").string(), .io = sink::BlockWay::threads, .in_flight = 2});
}

/// With a team of threads in each place that has one: link, unit, the writer of raw files.
std::string run_in_teams(const fs::path& folder) {
  Plan plan = plan_in(folder, 0);
  plan.threads = 2;
  plan.unit.cores.threads = 2;
  plan.pipeline.kernels.emplace_back(kernel::total_counts::Config{});
  add_raw(plan, folder);
  return run(plan);
}

/// A run that is ended as soon as it has begun.
std::string start_and_end(const fs::path& folder) {
  Plan plan = plan_in(folder, 0);
  plan.frames = 2000;
  Chain chain(plan);
  chain.receiver->start();
  chain.emulator->start();
  chain.receiver->stop();
  chain.emulator->stop();
  disarm();
  return wrong_books(chain.receiver->status());
}

/// A run that is ended at once in its middle.
std::string stop_in_the_middle(const fs::path& folder) {
  Plan plan = plan_in(folder, 0);
  plan.frames = 2000;
  plan.rate_hz = 500;
  Chain chain(plan);
  chain.receiver->start();
  chain.emulator->start();
  const std::int64_t until = now_ns() + 2'000'000'000;
  while (now_ns() < until && chain.receiver->status().buffers[0].books.accepted < 8) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));  // wait: until some images are decided
  }
  chain.receiver->stop();
  chain.emulator->stop();
  disarm();
  return wrong_books(chain.receiver->status());
}

/// What a process leaves that is killed in the middle of its run.
void leave_half_a_run(const fs::path& folder) {
  Plan plan = plan_in(folder, 0);
  plan.frames = 2000;
  plan.rate_hz = 500;
  add_raw(plan, folder);
  auto* const chain = new Chain(plan);  // NOLINT: nothing of it is given back
  chain->receiver->start();
  chain->emulator->start();
  while (chain->receiver->status().buffers[0].books.written < 12) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));  // wait: until some images are stored
  }
  std::_Exit(0);
}

std::string repair_it(const fs::path& folder) {
  for (const char* name : {"run", "raw"}) sink::repair((folder / name).string());
  return {};
}

/// The decisions in the files of a run that is repaired now, or was before; else why it cannot be.
std::string repaired(const fs::path& folder) {
  std::ostringstream text;
  for (const std::string name : {"run", "raw"}) {
    try {
      sink::repair((folder / name).string());
    } catch (const std::exception& error) {
      return error.what();
    }
    const hid_t file = H5Fopen((folder / (name + "_master.h5")).c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
    const hid_t decisions = H5Dopen2(file, "/entry/rashpa/decision", H5P_DEFAULT);
    const hid_t space = H5Dget_space(decisions), type = H5Dget_type(decisions);
    const auto images = static_cast<std::size_t>(std::max<hssize_t>(H5Sget_simple_extent_npoints(space), 0));
    std::string bytes(images * H5Tget_size(type), ' ');
    H5Dread(decisions, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes.data());
    H5Tclose(type), H5Sclose(space), H5Dclose(decisions), H5Fclose(file);
    text << name << ", " << images << " images:";
    for (const char byte : bytes.substr(0, bytes.find_last_not_of('\0') + 1)) text << ' ' << int{byte};
    text << "; ";
  }
  return text.str();
}

struct Scenario {
  std::string name;
  std::function<std::string(const fs::path&)> play;
  bool of_half_a_run = false;
};
const std::vector<Scenario>& scenarios() {
  static const std::vector<Scenario> all{{"run", run_whole},           {"series", run_in_series},
                                         {"teams", run_in_teams},      {"start", start_and_end},
                                         {"stop", stop_in_the_middle}, {"repair", repair_it, true}};
  return all;
}

/// In a process of its own: what it says lies in `folder`/said afterwards. Its id.
pid_t begin(const std::function<void()>& what, const fs::path& folder) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  const int said = ::open((folder / "said").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  ::dup2(said, STDOUT_FILENO);
  ::dup2(said, STDERR_FILENO);
  what();
  std::_Exit(0);
}

/// Where it was, for addr2line.
[[noreturn]] void say_where_and_end() {
  disarm();
  std::array<void*, 40> frames{};
  const int found = ::backtrace(frames.data(), static_cast<int>(frames.size()));
  ::backtrace_symbols_fd(frames.data(), found, STDERR_FILENO);
  std::abort();
}

/// The failure of a trial.
struct Fails {
  Call call{};
  std::uint64_t nth = 0;
  bool lasting = false;  ///< those behind it, too
};

void play(const Scenario& scenario, const Fails& fails, const fs::path& folder) {
  std::set_terminate(say_where_and_end);
  std::string wrong;
  std::string refused;
  arm(fails.call, fails.nth, fails.lasting);
  try {
    wrong = scenario.play(folder);
  } catch (const std::exception& error) {
    disarm();
    refused = error.what();
    if (refused.empty()) wrong = "it ended without a word";
  }
  disarm();
  std::ofstream(folder / "calls") << calls();
  if (!refused.empty()) std::cerr << "refused: " << refused << '\n';
  if (wrong.empty()) return;
  std::cerr << "WRONG: " << wrong << '\n';
  std::cerr.flush();
  std::_Exit(1);
}

std::string text_of(const fs::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

/// Files with final names: each that no journal tells to be unfinished can be opened, and leads to what is there.
std::string wrong_files(const fs::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.insert(entry.path().filename().string());
  for (const std::string& name : names) {
    const std::size_t ends = name.rfind("_master.h5");
    if (ends == std::string::npos || ends + 10 != name.size()) continue;
    if (names.contains(name.substr(0, ends) + "_master.journal")) {
      try {
        sink::repair((folder / name.substr(0, ends)).string());
      } catch (const std::exception& error) {
        return name + " has a journal and cannot be repaired: " + error.what();
      }
    }
    const hid_t file = H5Fopen((folder / name).c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
    if (file < 0) return name + " cannot be opened";
    const bool whole = H5Lexists(file, "/entry", H5P_DEFAULT) > 0 &&
                       H5Lexists(file, "/entry/rashpa", H5P_DEFAULT) > 0 &&
                       H5Lexists(file, "/entry/rashpa/decision", H5P_DEFAULT) > 0;
    H5Fclose(file);
    if (!whole) return name + " has no tables, and no journal";
  }
  return {};
}

struct Trial {
  const Scenario* scenario = nullptr;
  Fails fails{};
  fs::path folder;
  pid_t process = 0;
  std::int64_t began = 0;
};

class Sweep {
 public:
  explicit Sweep(const Scenario& scenario) {
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
    if (!scenario.of_half_a_run) return;
    fs::create_directories(half());
    const pid_t child = begin([&] { leave_half_a_run(half()); }, half());
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0) << text_of(half() / "said");
    fs::remove(half() / "said");
    const fs::path whole = folder_.path() / "whole";
    fs::copy(half(), whole, fs::copy_options::recursive);
    decisions_ = repaired(whole);
  }

  /// How many calls of the kind there are without a failure.
  std::uint64_t count(const Scenario& scenario, Call call) {
    Trial trial = start(scenario, {.call = call});
    finish(trial);
    std::uint64_t calls = 0;
    std::ifstream(trial.folder / "calls") >> calls;
    fs::remove_all(trial.folder);
    return calls;
  }
  void attempt(const Scenario& scenario, Fails fails, const std::vector<std::uint64_t>& numbers) {
    std::vector<Trial> running;
    for (const std::uint64_t nth : numbers) {
      while (running.size() >= kAtOnce) reap(running);
      fails.nth = nth;
      running.push_back(start(scenario, fails));
    }
    while (!running.empty()) reap(running);
  }

 private:
  [[nodiscard]] fs::path half() const { return folder_.path() / "half"; }
  Trial start(const Scenario& scenario, const Fails& fails) {
    Trial trial{&scenario, fails, folder_.path() / std::to_string(++trials_), 0, now_ns()};
    if (scenario.of_half_a_run) {
      fs::copy(half(), trial.folder, fs::copy_options::recursive);
    } else {
      fs::create_directories(trial.folder);
    }
    trial.process = begin([&] { play(scenario, fails, trial.folder); }, trial.folder);
    return trial;
  }
  void reap(std::vector<Trial>& running) {
    for (auto trial = running.begin(); trial != running.end(); ++trial) {
      int status = 0;
      if (::waitpid(trial->process, &status, WNOHANG) == 0) {
        if (now_ns() - trial->began < kLongest) continue;
        ::kill(trial->process, SIGABRT);
        ::waitpid(trial->process, &status, 0);
        ADD_FAILURE() << title(*trial) << " hangs\n" << text_of(trial->folder / "said");
      } else {
        judge(*trial, status);
      }
      fs::remove_all(trial->folder);
      running.erase(trial);
      return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));  // wait: for a process
  }
  void finish(Trial& trial) {
    int status = 0;
    ::waitpid(trial.process, &status, 0);
    judge(trial, status);
  }
  void judge(const Trial& trial, int status) const {
    const std::string said = text_of(trial.folder / "said");
    if (WIFSIGNALED(status)) {
      ADD_FAILURE() << title(trial) << " ends by signal " << WTERMSIG(status) << '\n' << said;
    } else if (WEXITSTATUS(status) != 0) {
      ADD_FAILURE() << title(trial) << " is wrong\n" << said;
    } else if (const std::string wrong = wrong_files(trial.folder); !wrong.empty()) {
      ADD_FAILURE() << title(trial) << ": " << wrong << '\n' << said;
    } else if (trial.scenario->of_half_a_run) {
      EXPECT_EQ(repaired(trial.folder), decisions_) << title(trial) << '\n' << said;
    }
  }
  static std::string title(const Trial& trial) {
    return trial.scenario->name + ", " + std::string(name_of(trial.fails.call)) + " number " +
           std::to_string(trial.fails.nth) + (trial.fails.lasting ? " and all behind it" : "");
  }

  TemporaryFolder folder_;
  std::string decisions_;  // of half a run that was repaired without a failure
  std::uint64_t trials_ = 0;
};

/// All of 1 … `calls`, or some of them, the first and the last among them.
std::vector<std::uint64_t> chosen(std::uint64_t calls) {
  const char* const wanted = std::getenv("RASHPA_NTH");
  const std::string text = wanted != nullptr ? wanted : "";
  if (const auto one = std::strtoull(text.c_str(), nullptr, 10); one != 0) return {one};
  const std::uint64_t step = text == "all" ? 1 : std::max<std::uint64_t>(1, calls / kSome);
  std::vector<std::uint64_t> all;
  for (std::uint64_t nth = 1; nth <= calls; nth += step) all.push_back(nth);
  if (!all.empty() && all.back() != calls) all.push_back(calls);
  return all;
}

class NthFailure : public testing::TestWithParam<std::tuple<std::size_t, Call>> {};

TEST_P(NthFailure, ends_in_time_and_in_order) {
  const auto [number, call] = GetParam();
  const Scenario& scenario = scenarios()[number];
  Sweep sweep(scenario);
  const std::uint64_t calls = sweep.count(scenario, call);
  std::cout << calls << " calls\n";
  sweep.attempt(scenario, {.call = call}, chosen(calls));
  if (call != Call::memory) sweep.attempt(scenario, {.call = call, .lasting = true}, chosen(calls));
}

INSTANTIATE_TEST_SUITE_P(Every, NthFailure,
                         testing::Combine(testing::Range<std::size_t>(0, 6), testing::ValuesIn(kCalls)),
                         [](const auto& one) {
                           return scenarios()[std::get<0>(one.param)].name + "_" +
                                  std::string(name_of(std::get<1>(one.param)));
                         });

}  // namespace
}  // namespace rashpa::chain
