// SPDX-License-Identifier: Apache-2.0
#include "rashpa/sink/stores/compress_pool.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <new>
#include <random>

namespace rashpa::sink {
namespace {

namespace bslz4 = kernel::bitshuffle_lz4;

bool all_good(std::size_t /*i*/, const std::byte* /*read*/) { return true; }

TEST(CompressPool, chunks_come_in_order_and_decode_to_their_images_with_any_number_of_threads) {
  constexpr std::size_t kBytes = 6000;
  std::mt19937 random(1);
  std::vector<std::vector<std::byte>> images(37, std::vector<std::byte>(kBytes));
  for (auto& image : images) {
    for (auto& byte : image) byte = static_cast<std::byte>(random() % 4);
  }
  for (unsigned threads : {1U, 2U, 5U}) {
    CompressPool pool(threads, 2, kBytes);
    for (std::size_t count : {0U, 1U, 3U, 37U, 2U}) {  // the pool is used again and again
      std::vector<CompressPool::Given> given;
      for (std::size_t i = 0; i < count; ++i) given.push_back({images[i].data(), i % 2 == 1});
      std::size_t next = 0;
      pool.run(given, all_good, [&](std::size_t i, std::span<const std::byte> chunk) {
        EXPECT_EQ(i, next++);
        std::vector<std::byte> back(kBytes);
        ASSERT_TRUE(bslz4::decompress(chunk, 2, back));
        EXPECT_EQ(back, images[i]);
      });
      EXPECT_EQ(next, count);
    }
  }
}

TEST(CompressPool, after_a_writer_that_threw_the_next_images_are_compressed_as_ever) {
  constexpr std::size_t kBytes = 64 * 1024;
  constexpr std::size_t kImages = 16;
  const auto images_of = [](std::byte value) { return std::vector<std::byte>(kBytes, value); };
  std::vector<std::vector<std::byte>> images;
  for (std::size_t i = 0; i < 2 * kImages; ++i) images.push_back(images_of(static_cast<std::byte>(i)));
  const auto given = [&](std::size_t first, std::size_t count) {
    std::vector<CompressPool::Given> all;
    for (std::size_t i = first; i < first + count; ++i) all.push_back({images[i].data()});
    return all;
  };
  for (const unsigned threads : {1U, 3U}) {
    CompressPool pool(threads, 2, kBytes);
    for (const std::size_t count : {kImages, std::size_t{1}}) {  // several images, and one that all share
      for (std::size_t bad = 0; bad < count; ++bad) {
        const auto refuse = [&](std::size_t i, std::span<const std::byte>) {
          if (i == bad) throw std::bad_alloc();
        };
        EXPECT_THROW(pool.run(given(0, count), all_good, refuse), std::bad_alloc);
        std::size_t next = 0;
        pool.run(given(kImages, count), all_good, [&](std::size_t i, std::span<const std::byte> chunk) {
          EXPECT_EQ(i, next++);
          std::vector<std::byte> back(kBytes);
          ASSERT_TRUE(bslz4::decompress(chunk, 2, back));
          EXPECT_EQ(back, images[kImages + i]);
        });
        EXPECT_EQ(next, count);
      }
    }
  }
}

// The writer changes an image that may change as soon as it was read, and back again.
TEST(CompressPool, an_image_that_may_change_is_judged_and_kept_as_it_was_read) {
  constexpr std::size_t kBytes = 64 * 1024;
  for (const unsigned threads : {1U, 3U}) {
    CompressPool pool(threads, 2, kBytes);
    for (const std::size_t count : {std::size_t{9}, std::size_t{1}}) {  // several images, and one that all share
      std::vector<std::vector<std::byte>> images(count, std::vector<std::byte>(kBytes, std::byte{3}));
      std::vector<CompressPool::Given> given;
      for (const auto& image : images) given.push_back({image.data(), true});
      const auto judge = [&](std::size_t i, const std::byte* read) {
        EXPECT_NE(read, images[i].data());
        std::fill(images[i].begin(), images[i].end(), std::byte{9});
        return i % 3 == 0 && std::all_of(read, read + kBytes, [](std::byte one) { return one == std::byte{3}; });
      };
      std::size_t next = 0;
      pool.run(given, judge, [&](std::size_t i, std::span<const std::byte> chunk) {
        EXPECT_EQ(i, next++);
        EXPECT_EQ(chunk.empty(), i % 3 != 0);
        if (chunk.empty()) return;
        std::vector<std::byte> back(kBytes);
        ASSERT_TRUE(bslz4::decompress(chunk, 2, back));
        EXPECT_EQ(back, std::vector<std::byte>(kBytes, std::byte{3}));
      });
      EXPECT_EQ(next, count);
    }
  }
}

}  // namespace
}  // namespace rashpa::sink
