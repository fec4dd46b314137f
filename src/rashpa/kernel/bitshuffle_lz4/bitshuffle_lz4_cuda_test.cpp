// SPDX-License-Identifier: Apache-2.0
/// Chunks made on a GPU: the bytes of the plain reference, and the pixels decoded from them. Run by `make test-device`.
#include "rashpa/kernel/bitshuffle_lz4/bitshuffle_lz4_cuda.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

#include "rashpa/core/error.hpp"
#include "rashpa/kernel/bitshuffle_lz4/bitshuffle_lz4.hpp"
#include "rashpa/kernel/bitshuffle_lz4/runs_testing.hpp"
#include "rashpa/kernel/testing/device_testing.hpp"

namespace rashpa::kernel::bitshuffle_lz4 {
namespace {

using Bytes = std::vector<std::byte>;

/// Elements of `mean` photons; a `noise` above 0 gives the number of low bits of noise instead.
Bytes image_of(std::mt19937& random, std::size_t elements, std::size_t element_bytes, double mean, unsigned noise) {
  std::poisson_distribution<unsigned> photons(mean);
  Bytes image(elements * element_bytes);
  for (std::size_t i = 0; i < elements; ++i) {
    std::uint32_t value = noise != 0 ? static_cast<std::uint32_t>(random()) >> (32U - noise) : photons(random);
    if (random() % 2000 == 0) value = static_cast<std::uint32_t>(random());
    std::memcpy(image.data() + i * element_bytes, &value, element_bytes);
  }
  return image;
}

/// Images through the device; the second one is left out.
void expect_chunks(const std::vector<Bytes>& images, std::size_t element_bytes) {
  const std::size_t bytes = images[0].size();
  const auto count = static_cast<std::uint32_t>(images.size());
  cuda::DeviceImages in{};
  in.stride = (bytes + 15) / 16 * 16;
  in.count = count;
  Bytes all(count * in.stride, std::byte{0xEE});
  for (std::size_t i = 0; i < count; ++i)
    std::copy(images[i].begin(), images[i].end(), all.begin() + static_cast<std::ptrdiff_t>(i * in.stride));
  std::vector<std::uint8_t> wanted(count, 1);
  if (count > 1) wanted[1] = 0;
  const DeviceArray<std::byte> on_device(all);
  const DeviceArray<std::uint8_t> work(wanted);
  in.images = on_device.data();
  in.work = work.data();
  const cuda::Encoder encoder(bytes, element_bytes, count);
  const std::size_t room = cuda::room_for_chunk(bytes, element_bytes);
  const memory::cuda::PinnedMemory chunks(count * room);
  const memory::cuda::PinnedMemory lengths(count * sizeof(std::uint32_t));
  const cuda::Chunks out{chunks.as<std::byte>(), room, lengths.as<std::uint32_t>()};
  for (int round = 0; round < 2; ++round) {
    std::memset(chunks.as<void>(), 0xEE, count * room);
    memory::cuda::check(static_cast<cudaError_t>(encoder.enqueue(in, out, nullptr)), "enqueue");
    memory::cuda::check(cudaDeviceSynchronize(), "bitshuffle_lz4");
    for (std::size_t i = 0; i < count; ++i) {
      if (wanted[i] == 0) {
        EXPECT_EQ(out.bytes[i], 0U);
        continue;
      }
      const Bytes truth = chunk_of_runs(images[i], element_bytes);
      ASSERT_EQ(out.bytes[i], truth.size());
      const std::span<const std::byte> chunk(out.chunks + i * room, out.bytes[i]);
      ASSERT_TRUE(std::equal(chunk.begin(), chunk.end(), truth.begin()));
      Bytes back(bytes);
      ASSERT_TRUE(decompress(chunk, element_bytes, back));
      ASSERT_EQ(back, images[i]);
    }
  }
}

TEST(BitshuffleLz4Cuda, chunks_of_every_length_are_the_reference_s) {
  std::mt19937 random(test_seed());
  for (const std::size_t element_bytes : {1U, 2U, 4U}) {
    for (const std::size_t elements :
         {1U, 7U, 8U, 9U, 16U, 40U, 127U, 2048U, 4096U, 4103U, 8191U, 8192U, 8193U, 50'003U, 300'000U}) {
      SCOPED_TRACE(testing::Message() << element_bytes << " bytes, " << elements << ", RASHPA_SEED=" << test_seed());
      std::vector<Bytes> images(3);
      for (Bytes& image : images) image = image_of(random, elements, element_bytes, 0.1, 0);
      expect_chunks(images, element_bytes);
    }
  }
}

TEST(BitshuffleLz4Cuda, photons_noise_and_nothing_come_back) {
  std::mt19937 random(test_seed());
  constexpr std::size_t kElements = 200'000;
  for (const std::size_t element_bytes : {1U, 2U, 4U}) {
    std::vector<Bytes> images{Bytes(kElements * element_bytes), Bytes(kElements * element_bytes)};
    images.emplace_back(kElements * element_bytes, std::byte{0xFF});
    for (const double mean : {0.001, 0.2, 1.0, 30.0})
      images.push_back(image_of(random, kElements, element_bytes, mean, 0));
    for (const unsigned noise : {3U, 6U, 8U}) images.push_back(image_of(random, kElements, element_bytes, 0, noise));
    images.push_back(image_of(random, kElements, element_bytes, 0, static_cast<unsigned>(8 * element_bytes)));
    SCOPED_TRACE(testing::Message() << element_bytes << " bytes, RASHPA_SEED=" << test_seed());
    expect_chunks(images, element_bytes);
  }
}

TEST(BitshuffleLz4Cuda, a_wrong_request_is_refused) {
  EXPECT_THROW(cuda::Encoder(1024, 8, 1), ConfigError);
  EXPECT_THROW(cuda::Encoder(1023, 2, 1), ConfigError);
}

}  // namespace
}  // namespace rashpa::kernel::bitshuffle_lz4
