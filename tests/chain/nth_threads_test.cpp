// SPDX-License-Identifier: Apache-2.0
/// The n-th thread of each team does not start: the maker says so, leaves no thread behind, and makes a whole team
/// when it is asked again.
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "failing_calls.hpp"
#include "rashpa/core/error.hpp"
#include "rashpa/core/system/doorbell.hpp"
#include "rashpa/core/testing/testing.hpp"
#include "rashpa/kernel/bitshuffle_lz4/bitshuffle_lz4.hpp"
#include "rashpa/kernel/total_counts/total_counts.hpp"
#include "rashpa/memory/team.hpp"
#include "rashpa/receiver/slot_comparison.hpp"
#include "rashpa/sink/raw/block_writer.hpp"
#include "rashpa/sink/stores/compress_pool.hpp"
#include "rashpa/unit/cpu/cpu_unit.hpp"

namespace rashpa::chain {
namespace {

constexpr unsigned kThreads = 4;

struct Maker {
  const char* name;
  unsigned threads;  ///< that it starts
  std::function<std::shared_ptr<void>()> make;
};

std::vector<Maker> makers() {
  static Doorbell bell;
  const unit::Layout layout{.width = 64, .height = 64, .stack = 2, .stacks = 2};
  return {
      {"Team", kThreads, [] { return std::make_shared<memory::Team>(kThreads, -1, "team"); }},
      {"CompressPool", kThreads, [] { return std::make_shared<sink::CompressPool>(kThreads, 2, 4096); }},
      {"ThreadedCodec", kThreads - 1,
       [] { return std::make_shared<kernel::bitshuffle_lz4::ThreadedCodec>(2, kThreads); }},
      {"SlotComparison", kThreads - 1, [] { return std::make_shared<receiver::SlotComparison>(4, 2, kThreads); }},
      {"thread writer", kThreads, [] { return std::shared_ptr<void>(sink::make_thread_writer(kThreads)); }},
      {"CpuUnit", kThreads,
       [layout] {
         return std::make_shared<unit::CpuUnit>(unit::Pipeline{{kernel::total_counts::Config{}}}, layout,
                                                unit::Cores{.threads = kThreads, .first_processor = -1}, bell);
       }},
  };
}

// A thread that has been joined leaves the kernel's list a moment later.
std::ptrdiff_t threads_now() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"), std::filesystem::directory_iterator());
}

TEST(NthThread, of_a_team_that_does_not_start_is_told_and_leaves_none_behind) {
  for (const Maker& maker : makers()) {
    const std::ptrdiff_t before = threads_now();
    for (unsigned nth = 1; nth <= maker.threads; ++nth) {
      SCOPED_TRACE(std::string(maker.name) + ", thread " + std::to_string(nth));
      arm(Call::thread, nth);
      try {
        const auto made = maker.make();
        ADD_FAILURE() << "it is made without one of its threads";
      } catch (const ResourceError& error) {
        disarm();
        const std::string wanted = "thread " + std::to_string(nth) + " of " + std::to_string(maker.threads);
        EXPECT_NE(std::string(error.what()).find(wanted + " does not start"), std::string::npos) << error.what();
      }
      disarm();
      EXPECT_EVENTUALLY(threads_now() == before) << threads_now();
      const auto made = maker.make();
      EXPECT_EVENTUALLY(threads_now() == before + maker.threads) << threads_now();
    }
    EXPECT_EVENTUALLY(threads_now() == before) << threads_now();
  }
}

}  // namespace
}  // namespace rashpa::chain
