// SPDX-License-Identifier: Apache-2.0
#include "rashpa/memory/gather/gather.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>

#include "rashpa/memory/gather/testing.hpp"

namespace rashpa::memory {
namespace {

using testing::FarImages;

constexpr GatherRoom kRoom{.pool_bytes = 64, .lists = 9, .runs = 2};

struct Bench {
  std::array<std::byte, 256> bytes{};
  FarImages images{bytes, 2};
  Gather gather{images.make_gather(kRoom), kRoom};

  bool add(std::size_t source, std::uint64_t destination, std::uint32_t count, Decode decode = Decode::copy) {
    return gather.add(
        {.source = gather.pool().data() + source, .destination = destination, .bytes = count, .decode = decode});
  }
  void fill_pool() {
    for (std::size_t i = 0; i < gather.pool().size(); ++i) gather.pool()[i] = static_cast<std::byte>(i * 5 + 1);
  }
};

TEST(Gather, bytes_are_there_when_their_list_has_ended_and_not_before) {
  Bench bench;
  bench.fill_pool();
  ASSERT_TRUE(bench.add(3, 100, 7));
  const std::uint64_t list = bench.gather.latest();
  EXPECT_FALSE(bench.gather.ended(list)) << "it has not begun";
  bench.gather.submit();
  EXPECT_EQ(bench.gather.latest(), list);
  bench.gather.look();
  EXPECT_FALSE(bench.gather.ended(list));
  EXPECT_EQ(bench.images.data()[100], std::byte{0});
  bench.gather.look();
  EXPECT_TRUE(bench.gather.ended(list));
  EXPECT_EQ(std::memcmp(bench.images.data() + 100, bench.gather.pool().data() + 3, 7), 0);
  EXPECT_EQ(bench.images.data()[107], std::byte{0});
}

TEST(Gather, nibbles_become_bytes_on_their_way) {
  Bench bench;
  bench.gather.pool()[0] = std::byte{0xA1};
  bench.gather.pool()[1] = std::byte{0xB2};
  ASSERT_TRUE(bench.add(0, 0, 2, Decode::low_nibble_first));
  ASSERT_TRUE(bench.add(0, 8, 2, Decode::high_nibble_first));
  bench.gather.submit();
  for (int i = 0; i < 2; ++i) bench.gather.look();
  const std::array low{std::byte{1}, std::byte{0xA}, std::byte{2}, std::byte{0xB}};
  const std::array high{std::byte{0xA}, std::byte{1}, std::byte{0xB}, std::byte{2}};
  EXPECT_EQ(std::memcmp(bench.images.data(), low.data(), 4), 0);
  EXPECT_EQ(std::memcmp(bench.images.data() + 8, high.data(), 4), 0);
}

TEST(Gather, a_full_list_is_begun_and_the_next_one_goes_on) {
  Bench bench;
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(bench.add(0, 0, 1));
  EXPECT_EQ(bench.gather.latest(), 3U);
  bench.gather.submit();
  bench.gather.submit();
  EXPECT_EQ(bench.gather.latest(), 3U) << "an empty list is not begun";
}

TEST(Gather, without_a_list_nothing_is_added_until_one_has_ended) {
  Bench bench;
  EXPECT_TRUE(bench.gather.has_lists());
  for (std::uint32_t i = 0; i < kRoom.lists; ++i) {
    ASSERT_TRUE(bench.add(0, i, 1));
    bench.gather.submit();
  }
  EXPECT_FALSE(bench.gather.has_lists());
  EXPECT_FALSE(bench.add(0, 0, 1)) << "the first look of two";
  EXPECT_TRUE(bench.add(0, 0, 1));
  EXPECT_FALSE(bench.gather.has_lists()) << "a batch may need more than one";
}

TEST(Gather, a_failed_device_takes_nothing_and_holds_up_nobody) {
  Bench bench;
  ASSERT_TRUE(bench.add(0, 0, 1));
  bench.gather.submit();
  bench.images.failed = true;
  bench.gather.look();
  EXPECT_TRUE(bench.gather.failed());
  EXPECT_TRUE(bench.gather.ended(1));
  EXPECT_FALSE(bench.add(0, 0, 1));
  EXPECT_TRUE(bench.gather.has_lists());
}

TEST(PacketPool, a_buffer_is_used_again_when_the_list_that_reads_it_has_ended) {
  Bench bench;
  PacketPool pool(bench.gather, 16);
  EXPECT_EQ(pool.free(9), 4U);
  EXPECT_EQ(pool.free(3), 3U);
  std::byte* const first = pool.at(0);
  pool.take(3);
  ASSERT_TRUE(bench.gather.add({.source = first, .bytes = 1}));
  bench.gather.submit();
  EXPECT_EQ(pool.free(9), 1U);
  EXPECT_EQ(pool.at(0), first + 48);
  EXPECT_EQ(pool.at(1), first) << "in turn";
  pool.take(1);
  EXPECT_EQ(pool.free(9), 0U) << "no run names it, but lists before it are under way";
  bench.gather.look();
  EXPECT_EQ(pool.free(9), 0U);
  bench.gather.look();
  EXPECT_EQ(pool.free(9), 4U);
  EXPECT_EQ(pool.at(0), first);
}

TEST(PacketPool, without_lists_no_buffer_is_free) {
  Bench bench;
  PacketPool pool(bench.gather, 16);
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(bench.add(0, 0, 1));
    bench.gather.submit();
  }
  EXPECT_EQ(pool.free(1), 0U);
}

}  // namespace
}  // namespace rashpa::memory
