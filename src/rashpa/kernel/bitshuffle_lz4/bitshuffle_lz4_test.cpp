// SPDX-License-Identifier: Apache-2.0
#include "rashpa/kernel/bitshuffle_lz4/bitshuffle_lz4.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "rashpa/core/error.hpp"
#include "rashpa/core/testing/target_testing.hpp"
#include "rashpa/kernel/bitshuffle_lz4/bitshuffle.hpp"
#include "rashpa/kernel/bitshuffle_lz4/runs_testing.hpp"

namespace rashpa::kernel::bitshuffle_lz4 {
namespace {

using Bytes = std::vector<std::byte>;

Bytes random_bytes(std::size_t n, std::uint32_t seed) {
  std::mt19937 random(seed);
  Bytes bytes(n);
  for (auto& b : bytes) b = static_cast<std::byte>(random());
  return bytes;
}

/// Few photons, as most images are.
Bytes sparse_bytes(std::size_t n, std::uint32_t seed) {
  std::mt19937 random(seed);
  Bytes bytes(n);
  for (std::size_t i = 0; i < n; i += 2) bytes[i] = static_cast<std::byte>(random() % 20 == 0 ? 1 + random() % 3 : 0);
  return bytes;
}

/// Words of a dark frame: the low bits are noise, the high ones constant.
Bytes noisy_words(std::size_t n, std::uint32_t seed) {
  std::mt19937 random(seed);
  Bytes bytes(n);
  for (std::size_t i = 0; i + 1 < n; i += 2) {
    bytes[i] = static_cast<std::byte>(random());
    bytes[i + 1] = static_cast<std::byte>(0x08U | (random() % 4));
  }
  return bytes;
}

Bytes compressed(const Bytes& in, std::size_t element_bytes) {
  Compressor compressor(element_bytes);
  Bytes out(compressed_bound(in.size(), element_bytes));
  out.resize(compressor.compress(in, out));
  return out;
}

TEST(Bitshuffle, a_single_bit_goes_where_the_format_says) {
  Bytes in(32), out(in.size());         // 16 elements
  in[2 * 11 + 1] = std::byte{1U << 3};  // element 11, bit 11
  shuffle_reference(in.data(), out.data(), 16, 2);
  for (std::size_t i = 0; i < out.size(); ++i) {
    EXPECT_EQ(out[i], i == 11 * 2 + 1 ? std::byte{1U << 3} : std::byte{0}) << i;  // plane 11, byte 1, bit 3
  }
}

TEST(Bitshuffle, vector_code_agrees_with_the_reference_for_every_size) {
  for (const std::size_t element_bytes : {1U, 2U, 4U, 8U}) {
    for (std::size_t elements = 8; elements <= 4096; elements = elements < 256 ? elements + 8 : elements * 2) {
      const Bytes in = random_bytes(elements * element_bytes, static_cast<std::uint32_t>(elements));
      Bytes reference(in.size()), fast(in.size()), back(in.size()), back_reference(in.size());
      shuffle_reference(in.data(), reference.data(), elements, element_bytes);
      on_every_target([&] {
        shuffle(in.data(), fast.data(), elements, element_bytes);
        ASSERT_EQ(fast, reference) << element_bytes << " bytes, " << elements << " elements";
        unshuffle(fast.data(), back.data(), elements, element_bytes);
        ASSERT_EQ(back, in) << element_bytes << " bytes, " << elements << " elements";
      });
      unshuffle_reference(fast.data(), back_reference.data(), elements, element_bytes);
      ASSERT_EQ(back_reference, in);
    }
  }
}

TEST(BitshuffleLz4, every_length_comes_back_unchanged) {
  for (const std::size_t element_bytes : {1U, 2U, 4U, 8U}) {
    for (std::size_t elements : {0U, 1U, 7U, 8U, 9U, 127U, 2048U, 4096U, 4103U, 8191U, 8192U, 8193U, 50'000U}) {
      for (const Bytes& in : {random_bytes(elements * element_bytes, 1), sparse_bytes(elements * element_bytes, 2)}) {
        const Bytes chunk = compressed(in, element_bytes);
        ASSERT_GE(chunk.size(), kHeaderBytes);
        ASSERT_EQ(uncompressed_bytes(chunk), in.size());
        Bytes back(in.size());
        ASSERT_TRUE(decompress(chunk, element_bytes, back)) << element_bytes << " bytes, " << elements << " elements";
        ASSERT_EQ(back, in);
      }
    }
  }
}

TEST(BitshuffleLz4, a_compressor_gives_the_same_bytes_whatever_it_compressed_before) {
  const Bytes first = random_bytes(100'000, 3), second = sparse_bytes(100'000, 4);
  Compressor used(2);
  Bytes out(compressed_bound(first.size(), 2));
  for (int i = 0; i < 20; ++i) ASSERT_GT(used.compress(first, out), 0U);
  out.resize(used.compress(second, out));
  EXPECT_EQ(out, compressed(second, 2));
}

TEST(Bitshuffle, noise_is_what_seldom_repeats_its_last_byte) {
  Bytes planes = random_bytes(std::size_t{6} * 512, 9);
  std::fill_n(planes.begin() + std::ptrdiff_t{4} * 512, 512, std::byte{0});
  on_every_target([&] {
    EXPECT_EQ(noise_planes(planes.data(), 512, 6), 4U);
    EXPECT_EQ(noise_planes(planes.data(), 512, 3), 3U);
    EXPECT_EQ(noise_planes(planes.data() + std::ptrdiff_t{4} * 512, 512, 2), 0U);
    EXPECT_EQ(noise_planes(planes.data(), 101, 4), 4U);
    EXPECT_EQ(noise_planes(planes.data(), 63, 4), 0U);
  });
}

TEST(BitshuffleLz4, noise_comes_back_unchanged_in_the_least_bytes) {
  for (const std::size_t elements : {8U, 512U, 1000U, 4096U, 4104U, 5000U, 50'000U}) {
    const Bytes in = noisy_words(elements * 2, static_cast<std::uint32_t>(elements));
    const Bytes chunk = compressed(in, 2);
    Bytes back(in.size());
    ASSERT_TRUE(decompress(chunk, 2, back)) << elements;
    ASSERT_EQ(back, in) << elements;
    if (elements >= 512) {
      EXPECT_LT(chunk.size(), in.size() * 10 / 16 + 60 * (elements / 4096 + 1)) << elements;  // ten planes of 16
    }
  }
}

TEST(BitshuffleLz4, planes_that_only_look_like_noise_are_still_compressed) {
  const Bytes row = random_bytes(2 * std::size_t{1032}, 11);  // of 129 bytes a plane, which no power of two finds
  Bytes in;
  while (in.size() < 100'000) in.insert(in.end(), row.begin(), row.end());
  in.resize(100'000);
  EXPECT_LT(compressed(in, 2).size(), in.size() / 2);
  Bytes twice = random_bytes(100'000, 12);  // the high byte's planes are the low byte's
  for (std::size_t i = 0; i < twice.size(); i += 2) twice[i + 1] = twice[i];
  EXPECT_LT(compressed(twice, 2).size(), twice.size() * 6 / 10);
}

TEST(BitshuffleLz4, blocks_of_runs_come_back_unchanged) {
  std::mt19937 random(13);
  for (const std::size_t element_bytes : {1U, 2U, 4U}) {
    for (std::size_t elements = 0; elements < 20'000; elements = elements < 200 ? elements + 1 : elements * 2 + 3) {
      const std::size_t bytes = elements * element_bytes;
      Bytes rows(bytes);  // runs of any length
      for (std::size_t at = 0, run = 0; at < bytes; ++at, --run) {
        const bool next = run == 0;
        if (next) run = 1 + random() % (random() % 8 == 0 ? 600 : 7);
        rows[at] = next ? static_cast<std::byte>(random()) : rows[at - 1];
      }
      for (const Bytes& in : {random_bytes(bytes, 1), sparse_bytes(bytes, 2), Bytes(bytes), rows}) {
        const Bytes chunk = chunk_of_runs(in, element_bytes);
        Bytes back(bytes);
        ASSERT_LE(chunk.size(), compressed_bound(bytes, element_bytes));
        ASSERT_TRUE(decompress(chunk, element_bytes, back)) << element_bytes << " bytes, " << elements << " elements";
        ASSERT_EQ(back, in);
      }
    }
  }
  const Bytes zeros(std::size_t{1} << 20U);
  EXPECT_LT(chunk_of_runs(zeros, 2).size(), zeros.size() / 150);
}

TEST(BitshuffleLz4, threads_make_the_same_bytes_and_read_them) {
  for (const std::size_t element_bytes : {1U, 2U, 4U, 8U}) {
    for (const unsigned threads : {1U, 2U, 5U}) {
      ThreadedCodec codec(element_bytes, threads);
      for (const std::size_t elements : {0U, 5U, 100U, 4103U, 50'000U, 300'001U, 17U}) {
        const Bytes in =
            threads == 2 ? noisy_words(elements * element_bytes, 7) : sparse_bytes(elements * element_bytes, 7);
        Bytes out(compressed_bound(in.size(), element_bytes)), back(in.size());
        out.resize(codec.compress(in, out));
        ASSERT_EQ(out, compressed(in, element_bytes)) << elements;
        ASSERT_TRUE(codec.decompress(out, back)) << elements;
        ASSERT_EQ(back, in);
      }
    }
  }
}

TEST(BitshuffleLz4, a_wrong_request_is_refused) {
  EXPECT_THROW(Compressor(3), ConfigError);
  Compressor compressor(2);
  Bytes in(101), out(1000);
  EXPECT_EQ(compressor.compress(in, out), 0U);
  EXPECT_EQ(compressor.compress(std::span(in).first(100), std::span(out).first(50)), 0U);
}

TEST(BitshuffleLz4, truncated_or_changed_chunks_never_decode_past_their_ends) {
  const Bytes in = sparse_bytes(20'006, 5);
  const Bytes chunk = compressed(in, 2);
  Bytes out(in.size());
  ThreadedCodec threaded(2, 3);
  for (std::size_t n = 0; n < chunk.size(); n += n < 64 ? 1 : 37) {
    const Bytes cut(chunk.begin(), chunk.begin() + static_cast<std::ptrdiff_t>(n));  // its own allocation, for asan
    EXPECT_FALSE(decompress(cut, 2, out)) << n;
    EXPECT_FALSE(threaded.decompress(cut, out)) << n;
  }
  Bytes longer = chunk;
  longer.push_back(std::byte{0});
  EXPECT_FALSE(decompress(longer, 2, out));
  std::mt19937 random(6);
  for (int i = 0; i < 2000; ++i) {
    Bytes changed = chunk;
    changed[random() % changed.size()] = static_cast<std::byte>(random());
    changed[random() % 20] = static_cast<std::byte>(random());
    const bool good = decompress(changed, 2, out);  // any answer, no access outside
    EXPECT_EQ(threaded.decompress(changed, out), good);
  }
  Bytes small(in.size() - 2);
  EXPECT_FALSE(decompress(chunk, 2, small));
}

}  // namespace
}  // namespace rashpa::kernel::bitshuffle_lz4
