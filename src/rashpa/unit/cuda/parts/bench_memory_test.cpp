// SPDX-License-Identifier: Apache-2.0
#include "rashpa/unit/cuda/parts/bench_memory.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "rashpa/unit/cuda/parts/parts_testing.hpp"

namespace rashpa::unit::cuda {
namespace {

template <typename T>
std::vector<T> downloaded(const T* from, std::size_t count) {
  std::vector<T> values(count);
  memory::cuda::check(cudaMemcpy(values.data(), from, count * sizeof(T), cudaMemcpyDeviceToHost), "test");
  return values;
}

TEST(CudaBenchMemory, takes_what_is_needed_and_nothing_else) {
  const Places places(testing::two_steps(), testing::small_layout(), 0);
  const BenchMemory copied(testing::two_steps(), places, order_bytes(3), 2, true);
  EXPECT_EQ(copied.benches(), 2U);
  EXPECT_NE(copied.raw(1), nullptr);
  EXPECT_NE(copied.raw(0), copied.raw(1)) << "each bench has its own";
  EXPECT_NE(copied.made(0, 0), nullptr);
  EXPECT_EQ(copied.made(0, 1), nullptr) << "that step makes no pixels";
  EXPECT_EQ(copied.marks(0), nullptr) << "nobody leaves marks";
  EXPECT_EQ(copied.encoder(0), nullptr) << "no chunks";
  EXPECT_EQ(reinterpret_cast<std::byte*>(copied.order(0)) + sizeof(Order),
            reinterpret_cast<std::byte*>(copied.work(0)));
  Steps chunked = testing::two_steps();
  chunked.steps[0].mark_at = 3;
  chunked.output.chunked = true;
  const Places marked(chunked, testing::small_layout(), 0);
  const BenchMemory in_place(chunked, marked, order_bytes(3), 1, false);
  EXPECT_EQ(in_place.raw(0), nullptr) << "images stay where they are";
  EXPECT_NE(in_place.marks(0), nullptr);
  EXPECT_NE(in_place.encoder(0), nullptr);
}

TEST(CudaBenchMemory, begins_cleared) {
  const Places places(testing::two_steps(), testing::small_layout(), 0);
  const BenchMemory memory(testing::two_steps(), places, order_bytes(3), 1, true);
  EXPECT_EQ(downloaded(memory.blocks_done(0), 1), std::vector<std::uint32_t>{0});
  for (const DeviceFinding& one : downloaded(memory.findings(0), 3)) EXPECT_EQ(one.entries + one.verdict, 0U);
  EXPECT_EQ(downloaded(memory.work(0), 3), std::vector<std::uint8_t>(3, 0));
}

TEST(CudaBenchMemory, slots_take_benches_in_turn) {
  const Places places(testing::two_steps(), testing::small_layout(), 0);
  const BenchMemory memory(testing::two_steps(), places, order_bytes(3), 3, false);
  EXPECT_EQ(memory.bench_of(0), 0U);
  EXPECT_EQ(memory.bench_of(4), 1U);
}

}  // namespace
}  // namespace rashpa::unit::cuda
