// SPDX-License-Identifier: Apache-2.0
#include "rashpa/kernel/bitshuffle_lz4/lz4_chunk.hpp"

#include <gtest/gtest.h>
#include <lz4.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

#include "rashpa/kernel/bitshuffle_lz4/big_endian.hpp"
#include "rashpa/kernel/bitshuffle_lz4/bitshuffle_lz4.hpp"

namespace rashpa::kernel::bitshuffle_lz4 {
namespace {

using Bytes = std::vector<std::byte>;

void put(Bytes& to, std::uint64_t value, std::size_t bytes) {
  to.resize(to.size() + bytes);
  put_big_endian(to.data() + to.size() - bytes, value, bytes);
}

/// Returns the chunk that the HDF5 filter makes of `in`: a block that LZ4 does not shrink stays as it is.
Bytes chunk_of(const Bytes& in, std::size_t block_bytes) {
  Bytes chunk;
  put(chunk, in.size(), 8);
  put(chunk, block_bytes, 4);
  for (std::size_t at = 0; at < in.size(); at += block_bytes) {
    const std::size_t n = std::min(block_bytes, in.size() - at);
    const auto* from = reinterpret_cast<const char*>(in.data() + at);
    std::vector<char> packed(static_cast<std::size_t>(LZ4_compressBound(static_cast<int>(n))));
    auto bytes = static_cast<std::size_t>(
        LZ4_compress_default(from, packed.data(), static_cast<int>(n), static_cast<int>(packed.size())));
    if (bytes >= n) {
      bytes = n;
      std::memcpy(packed.data(), from, n);
    }
    put(chunk, bytes, 4);
    const auto* said = reinterpret_cast<const std::byte*>(packed.data());
    chunk.insert(chunk.end(), said, said + bytes);
  }
  return chunk;
}

/// Half of it runs, half of it noise.
Bytes some_bytes(std::size_t count) {
  std::mt19937 random(17);
  Bytes out(count);
  for (std::size_t i = 0; i < count; ++i) {
    out[i] = static_cast<std::byte>(i / 1000 % 2 == 0 ? i / 100 : random());
  }
  return out;
}

TEST(Lz4Chunk, chunks_of_any_size_and_block_come_back_unchanged) {
  for (const std::size_t count : {0U, 1U, 12U, 999U, 1000U, 1001U, 70'000U}) {
    for (const std::size_t block_bytes : {1U, 500U, 1000U, 8192U, 1U << 30U}) {
      const Bytes in = some_bytes(count);
      Bytes back(count);
      ASSERT_TRUE(decompress_lz4_chunk(chunk_of(in, block_bytes), back)) << count << " bytes in " << block_bytes;
      ASSERT_EQ(back, in);
    }
  }
}

TEST(Lz4Chunk, a_chunk_that_is_cut_or_too_long_is_refused) {
  const Bytes chunk = chunk_of(some_bytes(3000), 1000);
  Bytes back(3000);
  for (std::size_t bytes = 0; bytes < chunk.size(); ++bytes) {
    const Bytes cut(chunk.begin(), chunk.begin() + static_cast<std::ptrdiff_t>(bytes));  // its own allocation, for asan
    ASSERT_FALSE(decompress_lz4_chunk(cut, back)) << bytes;
  }
  Bytes longer = chunk;
  longer.push_back(std::byte{0});
  EXPECT_FALSE(decompress_lz4_chunk(longer, back));
}

TEST(Lz4Chunk, what_a_header_states_is_never_believed) {
  const Bytes good = chunk_of(some_bytes(3000), 1000);
  Bytes back(3000);
  const auto refused = [&](std::size_t at, std::uint64_t value, std::size_t bytes) {
    Bytes chunk = good;
    put_big_endian(chunk.data() + at, value, bytes);
    EXPECT_FALSE(decompress_lz4_chunk(chunk, back)) << value << " at " << at;
  };
  for (const std::uint64_t stated : {0ULL, 2999ULL, 3001ULL, 1ULL << 40U, ~0ULL}) refused(0, stated, 8);
  for (const std::uint64_t block : {0ULL, 1ULL, 3000ULL, 0x7E000001ULL, 0xFFFFFFFFULL}) refused(8, block, 4);
  for (const std::uint64_t length : {0ULL, 1ULL, 1001ULL, 0x7FFFFFFFULL, 0xFFFFFFFFULL}) refused(12, length, 4);
}

TEST(Lz4Chunk, damaged_chunks_are_refused_or_make_other_bytes_within_the_room) {
  std::mt19937 random(23);
  const Bytes good = chunk_of(some_bytes(5000), 2000);
  Bytes back(5000);
  int refused = 0;
  for (int n = 0; n < 20'000; ++n) {
    Bytes chunk = good;
    for (unsigned many = 1 + random() % 4; many > 0; --many) {
      chunk[random() % chunk.size()] = static_cast<std::byte>(random());
    }
    refused += decompress_lz4_chunk(chunk, back) ? 0 : 1;
  }
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace rashpa::kernel::bitshuffle_lz4
