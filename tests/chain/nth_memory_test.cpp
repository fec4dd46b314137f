// SPDX-License-Identifier: Apache-2.0
/// The n-th allocation of a set-up fails, for links, sinks, pipelines and what is published that a run of
/// nth_failure_test.cpp has not: it is refused, nothing of it is left, and it is made when it is asked for again.
/// RASHPA_NTH chooses as there.
#include <gtest/gtest.h>

#include <cstdlib>
#include <exception>
#include <filesystem>
#include <functional>
#include <iostream>
#include <new>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "chain.hpp"
#include "failing_calls.hpp"
#include "rashpa/core/error.hpp"
#include "rashpa/core/testing/temporary_folder.hpp"
#include "rashpa/core/testing/testing.hpp"
#include "rashpa/kernel/accumulate/accumulate.hpp"
#include "rashpa/kernel/bragg_count/bragg_count.hpp"
#include "rashpa/kernel/csr/csr.hpp"
#include "rashpa/kernel/peakfinder8/peakfinder8.hpp"
#include "rashpa/kernel/roi_stats/roi_stats.hpp"
#include "rashpa/kernel/total_counts/total_counts.hpp"
#include "rashpa/sink/factory.hpp"

namespace rashpa::chain {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kSome = 24;  // of each set-up, where not all are tried

using Change = std::function<void(Plan&, const fs::path&)>;

struct Case {
  const char* name;
  Change change;
};

void store(Plan& plan, const fs::path& folder) {
  plan.sinks.emplace_back(sink::Hdf5Options{.prefix = (folder / "run").string(), .threads = 2});
}

const std::vector<Case>& cases() {
  static const std::vector<Case> all{
      {"uc", [](Plan&, const fs::path&) {}},
      {"rc", [](Plan& plan, const fs::path&) { plan.roce.transport = link::Transport::rc; }},
      {"ud", [](Plan& plan, const fs::path&) { plan.roce.transport = link::Transport::ud; }},
      {"pcie", [](Plan& plan, const fs::path&) { plan.link = "pcie"; }},
      {"sls",
       [](Plan& plan, const fs::path&) {
         plan.link = "sls";
         plan.width = 1024;
         plan.sls.read_rows = plan.height;
         plan.sls.socket_buffer = 1U << 20U;
         plan.flow = link::Flow::paced;
         plan.rate_hz = 100;
       }},
      {"two_threads",
       [](Plan& plan, const fs::path&) {
         plan.threads = 2;
         plan.unit.cores.threads = 2;
       }},
      {"late",
       [](Plan& plan, const fs::path&) {
         plan.late = true;
         plan.bands = 2;
       }},
      {"memory_sink", [](Plan& plan, const fs::path&) { plan.sinks.emplace_back(sink::MemoryOptions{}); }},
      {"stream2_sink",
       [](Plan& plan, const fs::path&) {
         plan.sinks.emplace_back(sink::Stream2Options{.endpoint = "tcp://127.0.0.1:0", .consumers = 2});
       }},
      {"tables_and_windows",
       [](Plan& plan, const fs::path& folder) {
         plan.pipeline.kernels.emplace_back(kernel::total_counts::Config{});
         plan.pipeline.kernels.emplace_back(kernel::bragg_count::Config{});
         plan.pipeline.kernels.emplace_back(kernel::peakfinder8::Config{});
         plan.pipeline.kernels.emplace_back(kernel::roi_stats::Config{.regions = "spot=1,1,4,4"});
         plan.pipeline.kernels.emplace_back(kernel::accumulate::Config{});
         store(plan, folder);
       }},
      {"lists",
       [](Plan& plan, const fs::path& folder) {
         plan.pipeline.kernels.emplace_back(kernel::csr::Config{});
         store(plan, folder);
       }},
      {"raw",
       [](Plan& plan, const fs::path& folder) {
         plan.sinks.emplace_back(
             sink::RawOptions{.prefix = (folder / "raw").string(), .io = sink::BlockWay::threads, .in_flight = 2});
       }},
      {"series",
       [](Plan& plan, const fs::path& folder) {
         plan.sinks.emplace_back(sink::Hdf5Options{.prefix = (folder / "run").string(), .series_images = 8});
       }},
      {"published",
       [](Plan& plan, const fs::path& folder) { plan.feedback = {.ring = (folder / "ring").string(), .entries = 64}; }},
  };
  return all;
}

std::set<std::string> names_in(const fs::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.insert(entry.path().filename().string());
  return names;
}

std::size_t entries_of(const char* folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

/// What a process holds that must be the same before and behind a set-up that has failed.
struct Held {
  std::int64_t allocations = live();
  std::size_t files = entries_of("/proc/self/fd");
  std::size_t threads = entries_of("/proc/self/task");
  friend bool operator==(const Held&, const Held&) = default;
};

std::ostream& operator<<(std::ostream& out, const Held& held) {
  return out << held.allocations << " allocations, " << held.files << " files, " << held.threads << " threads";
}

/// The words of the refusal go into `words`, which has room for them; none: it was made all the same, without that
/// memory.
void set_up(const Plan& plan, std::uint64_t nth, std::string& words) {
  words.clear();
  arm(Call::memory, nth);
  try {
    const Chain chain(plan);
    disarm();
  } catch (const std::bad_alloc&) {
    disarm();
    words = "no memory; take less";  // the words of the node, which knows the run's keys
  } catch (const std::exception& error) {
    disarm();
    words = error.what();
  }
}

std::uint64_t step_of(std::uint64_t calls) {
  const char* const wanted = std::getenv("RASHPA_NTH");
  return wanted != nullptr && std::string(wanted) == "all" ? 1 : std::max<std::uint64_t>(1, calls / kSome);
}

std::string g_at;  // for a trial that ends the process

class NthAllocation : public testing::TestWithParam<std::size_t> {};

TEST_P(NthAllocation, of_a_set_up_that_fails_is_refused_and_leaves_nothing) {
  const Case& what = cases()[GetParam()];
  const TemporaryFolder folder;
  Plan plan;
  plan.width = 32;
  plan.height = 8;
  plan.frames = 24;
  plan.unit = {};
  what.change(plan, folder.path());
  std::set_terminate([] {
    std::cerr << "ended at " << g_at << '\n';
    std::abort();
  });
  std::string words;
  words.reserve(std::size_t{1} << 16);
  set_up(plan, 0, words);
  if (words.find("rashpa-publisher cannot be run") != std::string::npos) GTEST_SKIP() << "built without libzmq";
  ASSERT_EQ(words, "");
  const std::uint64_t calls = rashpa::chain::calls();
  set_up(plan, 0, words);  // libraries have all that they keep for ever
  ASSERT_EQ(words, "");
  std::cout << calls << " allocations\n";
  const char* const wanted = std::getenv("RASHPA_NTH");
  const std::uint64_t only = wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : 0;
  std::uint64_t refused = 0;
  for (std::uint64_t nth = only == 0 ? 1 : only; nth <= (only == 0 ? calls : only); nth += step_of(calls)) {
    g_at = std::string(what.name) + ", allocation " + std::to_string(nth);
    SCOPED_TRACE(g_at);
    const Held before;
    set_up(plan, nth, words);
    // A thread that has been joined leaves the kernel's list a moment later.
    EXPECT_EVENTUALLY(entries_of("/proc/self/task") == before.threads) << words;
    const Held after;
    EXPECT_EQ(after, before) << words;
    EXPECT_EQ(names_in(folder.path()), std::set<std::string>()) << words;
    if (words.empty()) continue;
    ++refused;
    EXPECT_NE(words.find("; "), std::string::npos) << "it says nothing to do: " << words;
  }
  EXPECT_GT(refused, 0U);
  set_up(plan, 0, words);
  EXPECT_EQ(words, "");
}

INSTANTIATE_TEST_SUITE_P(Every, NthAllocation, testing::Range<std::size_t>(0, cases().size()),
                         [](const auto& one) { return std::string(cases()[one.param].name); });

}  // namespace
}  // namespace rashpa::chain
