// SPDX-License-Identifier: Apache-2.0
#include "rashpa/sink/chunk_board.hpp"

#include <gtest/gtest.h>

#include <array>
#include <thread>
#include <vector>

namespace rashpa::sink {
namespace {

std::array<std::byte, 3> chunk_of(std::uint64_t n) {
  return {static_cast<std::byte>(n), static_cast<std::byte>(n + 1), static_cast<std::byte>(n + 2)};
}

bool is_chunk(const ChunkRef& chunk, std::uint64_t n) {
  return chunk && chunk->size == 3 && std::equal(chunk->bytes().begin(), chunk->bytes().end(), chunk_of(n).begin());
}

TEST(ChunkBoard, a_taker_waits_for_the_chunk_and_every_taker_gets_the_same_one) {
  ChunkBoard board(4, 2);
  std::thread maker([&] {
    for (std::uint64_t n = 0; n < 4; ++n) board.offer(n, chunk_of(n));
  });
  for (std::uint64_t n = 0; n < 4; ++n) {
    const ChunkRef first = board.take(n);
    EXPECT_TRUE(is_chunk(first, n));
    EXPECT_EQ(board.take(n), first);
    EXPECT_EQ(first.use_count(), 1) << "the board keeps nothing that all have taken";
  }
  maker.join();
}

TEST(ChunkBoard, an_image_of_which_no_chunk_comes_is_not_waited_for) {
  ChunkBoard board(4, 1);
  board.offer(0, chunk_of(0));
  board.pass(2);
  EXPECT_EQ(board.take(1), nullptr);
  EXPECT_TRUE(is_chunk(board.take(0), 0));
  EXPECT_EQ(board.take(0), nullptr) << "there was one taker";
}

TEST(ChunkBoard, a_chunk_that_nobody_fetched_is_written_over) {
  ChunkBoard board(2, 1);
  for (std::uint64_t n = 0; n < 3; ++n) board.offer(n, chunk_of(n));
  EXPECT_EQ(board.take(0), nullptr);
  EXPECT_TRUE(is_chunk(board.take(1), 1));
  EXPECT_TRUE(is_chunk(board.take(2), 2));
}

}  // namespace
}  // namespace rashpa::sink
