// SPDX-License-Identifier: Apache-2.0
/// Zero allocations on the data path after start, over 10⁶ events, in every thread of emulator and receiver.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "chain.hpp"
#include "rashpa/core/testing/counted_heap.hpp"
#include "rashpa/core/testing/testing.hpp"
#include "rashpa/sink/image_store.hpp"
#include "rashpa/sink/output_files.hpp"

namespace rashpa::chain {
namespace {

class AllocationOver : public testing::TestWithParam<const char*> {};

TEST_P(AllocationOver, a_million_events_cost_none) {
  Plan plan;
  plan.link = GetParam();
  plan.width = 32;
  plan.height = 1;
  plan.modules = 2;
  plan.frames = 500'000;  // two DTPs: a million events
  plan.stack = 64;
  plan.slots = 1024;
  Chain chain(plan);
  chain.receiver->start();
  chain.emulator->start();
  ASSERT_EVENTUALLY(chain.receiver->status().buffers[0].books.complete >= 1000);  // every thread runs
  const std::uint64_t before = chain.receiver->status().buffers[0].books.complete;
  const std::uint64_t taken = heap_taken();
  const bool sent = chain.emulator->wait(100);
  const bool decided = chain.receiver->wait(100);
  const std::uint64_t allocations = heap_taken() - taken;
  ASSERT_TRUE(sent && decided);
  const receiver::Status status = chain.receiver->status();
  EXPECT_EQ(status.buffers[0].books.complete, 500'000U);
  EXPECT_EQ(status.link["events"], 1'000'000U);
  EXPECT_LT(before, 100'000U) << "most of the run was counted";
  EXPECT_EQ(allocations, 0U);
}

TEST(Allocation, reliable_connections_and_their_repetitions_cost_none) {
  Plan plan;
  plan.width = 32;
  plan.height = 4;
  plan.modules = 2;
  plan.frames = 60'000;
  plan.stack = 64;
  plan.slots = 1024;
  plan.deadline_ms = 20'000;
  plan.roce.transport = link::Transport::rc;
  plan.roce.window_bytes = 1U << 15;
  plan.faults.drop = 0.001;
  Chain chain(plan);
  chain.receiver->start();
  chain.emulator->start();
  ASSERT_EVENTUALLY(chain.receiver->status().buffers[0].books.complete >= 1000);  // every thread runs
  const std::uint64_t taken = heap_taken();
  const bool sent = chain.emulator->wait(100);
  const bool decided = chain.receiver->wait(100);
  const std::uint64_t allocations = heap_taken() - taken;
  ASSERT_TRUE(sent && decided);
  EXPECT_EQ(chain.receiver->status().buffers[0].books.complete, 60'000U);
  EXPECT_GT(chain.receiver->status().link["naks"], 10U) << "there was something to repeat";
  EXPECT_EQ(allocations, 0U);
}

/// Images of a block, copied and gathered, and their syncs. Room for the rows of the tables grows with the run, and is
/// not counted here.
TEST(Allocation, images_on_their_way_into_raw_files_cost_none) {
  constexpr std::uint32_t kStack = 64, kImages = 64 * 400;
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("rashpa-allocation-" + std::to_string(getpid()));
  std::filesystem::remove_all(folder);  // of a killed process that had the same number
  std::filesystem::create_directories(folder);
  sink::Hdf5Config config;
  config.prefix = (folder / "run").string();
  config.form = sink::ImageForm::raw;
  config.width = 64;
  config.height = 31;  // no whole block
  config.images = config.images_per_file = kImages;
  sink::OutputFiles files(config);
  const std::unique_ptr<sink::ImageStore> store = sink::make_raw_store(config, files);
  files.begin();
  const std::vector<std::byte> pixels(std::size_t{2} * config.width * config.height * kStack, std::byte{7});
  Stack stack;
  stack.count = kStack;
  stack.images.resize(kStack);
  for (std::uint32_t i = 0; i < kStack; ++i) {
    stack.images[i].pixels = pixels.data() + pixels.size() / kStack * i;
    stack.images[i].decision = Decision::accepted;
  }
  std::vector<sink::StoredPlace> stored(kStack);
  std::vector<ErrorReason> results(kStack, ErrorReason::none);
  std::string error;
  std::uint64_t taken = 0;
  for (std::uint32_t n = 0; n < kImages / kStack; ++n) {
    if (n == 40) taken = heap_taken();
    store->put(stack, stored, results, error);
    store->noted();
    if (n % 100 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(60));  // wait: syncs go by time
  }
  const std::uint64_t allocations = heap_taken() - taken;
  EXPECT_EQ(allocations, 0U);
  EXPECT_GT(store->stats().images_written, 0U);
  store->settle(error);
  EXPECT_EQ(store->stats().images_written, kImages);
  std::filesystem::remove_all(folder);
}

INSTANTIATE_TEST_SUITE_P(Links, AllocationOver, testing::Values("roce", "pcie"),
                         [](const auto& param) { return param.param; });

}  // namespace
}  // namespace rashpa::chain
