// SPDX-License-Identifier: Apache-2.0
/// Zero allocations on the data path after start, over 10⁶ events, in every thread of emulator and receiver.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "chain.hpp"

namespace {

std::atomic<bool> g_counting{false};
std::atomic<std::uint64_t> g_allocations{0};

void* take(std::size_t bytes) {
  if (g_counting.load(std::memory_order_relaxed)) g_allocations.fetch_add(1, std::memory_order_relaxed);
  void* memory = std::malloc(bytes == 0 ? 1 : bytes);  // NOLINT(cppcoreguidelines-no-malloc)
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(std::size_t bytes) { return take(bytes); }
void* operator new[](std::size_t bytes) { return take(bytes); }
// GoogleTest uses it; a sanitizer has one of its own, whose memory must not come to the operators below.
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return take(bytes); }
void operator delete(void* memory) noexcept { std::free(memory); }               // NOLINT(cppcoreguidelines-no-malloc)
void operator delete[](void* memory) noexcept { std::free(memory); }             // NOLINT(cppcoreguidelines-no-malloc)
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }  // NOLINT(cppcoreguidelines-no-malloc)
void operator delete[](void* memory, std::size_t) noexcept {
  std::free(memory);
}  // NOLINT(cppcoreguidelines-no-malloc)

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
  while (chain.receiver->status().buffers[0].books.complete < 1000) std::this_thread::yield();  // every thread runs
  const std::uint64_t before = chain.receiver->status().buffers[0].books.complete;
  g_allocations = 0;
  g_counting = true;
  const bool sent = chain.emulator->wait(100);
  const bool decided = chain.receiver->wait(100);
  g_counting = false;
  ASSERT_TRUE(sent && decided);
  const receiver::Status status = chain.receiver->status();
  EXPECT_EQ(status.buffers[0].books.complete, 500'000U);
  EXPECT_EQ(status.link["events"], 1'000'000U);
  EXPECT_LT(before, 100'000U) << "most of the run was counted";
  EXPECT_EQ(g_allocations.load(), 0U);
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
  while (chain.receiver->status().buffers[0].books.complete < 1000) std::this_thread::yield();  // every thread runs
  g_allocations = 0;
  g_counting = true;
  const bool sent = chain.emulator->wait(100);
  const bool decided = chain.receiver->wait(100);
  g_counting = false;
  ASSERT_TRUE(sent && decided);
  EXPECT_EQ(chain.receiver->status().buffers[0].books.complete, 60'000U);
  EXPECT_GT(chain.receiver->status().link["naks"], 10U) << "there was something to repeat";
  EXPECT_EQ(g_allocations.load(), 0U);
}

INSTANTIATE_TEST_SUITE_P(Links, AllocationOver, testing::Values("roce", "pcie"),
                         [](const auto& param) { return param.param; });

TEST(Allocation, the_counter_counts) {
  g_counting = true;
  const std::uint64_t before = g_allocations.load();
  ::operator delete(::operator new(sizeof(int)));  // called by name: a new-expression may be left out by the compiler
  g_counting = false;
  EXPECT_GT(g_allocations.load(), before);
}

}  // namespace
}  // namespace rashpa::chain
