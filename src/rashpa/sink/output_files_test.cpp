// SPDX-License-Identifier: Apache-2.0
#include "rashpa/sink/output_files.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <chrono>
#include <filesystem>
#include <memory>
#include <thread>

#include "rashpa/core/error.hpp"
#include "rashpa/core/testing/temporary_folder.hpp"

namespace rashpa::sink {
namespace {

TEST(OutputFiles, of_runs_of_one_prefix_that_begin_at_one_time_one_lives_and_the_others_are_refused) {
  constexpr int kRounds = 400;
  constexpr int kRuns = 3;
  const TemporaryFolder folder;
  Hdf5Config config{};
  config.prefix = folder.path() / "run";
  config.existing = Existing::replace;
  config.form = ImageForm::raw;
  for (int round = 0; round < kRounds; ++round) {
    std::barrier all(kRuns);
    std::atomic<int> begun{0};
    std::atomic<int> refused{0};
    const auto run = [&](int number) {
      std::unique_ptr<OutputFiles> files;
      all.arrive_and_wait();
      std::this_thread::sleep_for(std::chrono::microseconds(number * (round % 40)));  // wait: meets others in any step
      try {
        files = std::make_unique<OutputFiles>(config);
        files->begin();
        ++begun;
      } catch (const Error&) {
        files.reset();
        ++refused;
      }
      all.arrive_and_wait();  // nobody ends before all have begun or were refused
    };
    {
      std::jthread first(run, 0);
      std::jthread second(run, 1);
      std::jthread third(run, 2);
    }
    ASSERT_EQ(begun, 1) << "round " << round;
    ASSERT_EQ(begun + refused, kRuns);
    for (const auto& entry : std::filesystem::directory_iterator(folder.path())) std::filesystem::remove(entry);
  }
}

}  // namespace
}  // namespace rashpa::sink
