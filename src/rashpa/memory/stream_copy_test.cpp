// SPDX-License-Identifier: Apache-2.0
#include "rashpa/memory/stream_copy.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "rashpa/core/numbers/checksum.hpp"

namespace rashpa::memory {
namespace {

TEST(StreamCopy, every_length_and_alignment_is_copied_whole_and_nothing_around_it_is_touched) {
  std::vector<std::byte> source(20'000);
  std::mt19937 random(5);
  std::ranges::generate(source, [&] { return static_cast<std::byte>(random()); });
  for (std::size_t size = 0; size <= 13'000; size += size < 1200 ? 7 : 613) {
    for (const std::size_t shift : {0U, 1U, 16U, 63U}) {
      std::vector<std::byte> plain(source.size(), std::byte{0xEE});
      std::vector<std::byte> summed = plain;
      const auto from = std::span<const std::byte>(source).subspan(size % 13, size);
      stream_copy(plain.data() + 64 + shift, from);
      const std::uint32_t crc = stream_copy_crc32c(summed.data() + 64 + shift, from, 17);
      stream_fence();
      ASSERT_EQ(crc, crc32c(from, 17)) << size << ", " << shift;
      ASSERT_TRUE(std::ranges::equal(std::span(plain).subspan(64 + shift, size), from)) << size << ", " << shift;
      ASSERT_EQ(plain, summed) << size << ", " << shift;
      const auto untouched = [](std::byte b) { return b == std::byte{0xEE}; };
      ASSERT_TRUE(std::all_of(plain.begin(), plain.begin() + 64 + static_cast<std::ptrdiff_t>(shift), untouched));
      ASSERT_TRUE(std::all_of(plain.begin() + 64 + static_cast<std::ptrdiff_t>(shift + size), plain.end(), untouched));
    }
  }
}

}  // namespace
}  // namespace rashpa::memory
