// SPDX-License-Identifier: Apache-2.0
/// A GPU that gathers packets: its kernel against the processor's, and the contract of sls with images in its memory.
/// Run by `make test-device`.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>

#include "rashpa/core/ability.hpp"
#include "rashpa/link/pcie/cuda/cuda_images.hpp"
#include "rashpa/link/sls/testing/sls_contract.hpp"
#include "rashpa/memory/cuda/resources.hpp"
#include "rashpa/memory/gather/gather.hpp"
#include "rashpa/memory/gather/testing.hpp"

namespace rashpa::link::sls {
namespace {

DeviceEnd on_gpu(std::span<std::byte> bytes) {
  const std::shared_ptr<memory::DeviceImages> images = pcie::make_cuda_images(0, bytes.size(), pcie::Writers::itself);
  return {images, ReceiverMemory(images->block(), bytes, able<memory::Gathering>(*images)), [images, bytes] {
            const memory::cuda::DeviceScope scope(0);
            memory::cuda::check(cudaMemcpy(bytes.data(), images->block().data, bytes.size(), cudaMemcpyDeviceToHost),
                                "copy images to the host");
          }};
}

INSTANTIATE_TEST_SUITE_P(Gpu, SlsContract,
                         ::testing::Values(ContractNetwork{"gathered",
                                                           [] {
                                                             Network network;
                                                             network.device = on_gpu;
                                                             return network;
                                                           }}),
                         [](const auto& param) { return std::string(param.param.name); });

/// Waits until the device has ended all lists; false when it has failed or takes longer than 20 s.
bool wait(memory::Gather& gather) {
  gather.submit();
  const std::int64_t until = now_ns() + 20'000'000'000;
  while (!gather.ended(gather.latest()) && now_ns() < until) gather.look();
  return gather.ended(gather.latest()) && !gather.failed();
}

TEST(CudaGather, runs_of_any_place_and_length_come_as_the_processor_puts_them) {
  constexpr std::size_t kBytes = 1U << 20;
  constexpr std::uint32_t kMost = 9000;
  std::vector<std::byte> seen(kBytes);
  std::vector<std::byte> expected(kBytes);
  const DeviceEnd end = on_gpu(seen);
  const memory::GatherRoom room{.pool_bytes = 1U << 18, .lists = 16, .runs = 300};
  memory::Gather gather(end.memory.gathers->make_gather(room), room);
  std::mt19937 random(11);
  const auto below = [&random](std::uint64_t most) {
    return std::uniform_int_distribution<std::uint64_t>(0, most - 1)(random);
  };
  for (std::byte& byte : gather.pool()) byte = static_cast<std::byte>(below(256));
  for (int round = 0; round < 40; ++round) {
    std::uint64_t destination = below(40);
    for (int i = 0; i < 500 && destination + 2 * kMost < kBytes; ++i) {
      // Some begin and end at multiples of 16 or 4, as most packets do.
      const std::uint64_t step = std::array{1U, 4U, 8U, 16U}[below(4)];
      const auto aligned = [step](std::uint64_t value) { return (value + step - 1) / step * step; };
      destination = aligned(destination + below(30));
      memory::GatherRun run{.source = gather.pool().data() + aligned(below(room.pool_bytes - 2 * kMost)),
                            .destination = destination,
                            .bytes = static_cast<std::uint32_t>(aligned(1 + below(i % 10 == 0 ? kMost : 700))),
                            .decode = static_cast<memory::Decode>(below(3))};
      ASSERT_TRUE(gather.add(run));
      memory::testing::carry_out(run, expected.data());
      destination += std::uint64_t{run.bytes} * memory::widening(run.decode);
    }
    ASSERT_TRUE(wait(gather));
    end.look();
    ASSERT_EQ(seen, expected) << "round " << round;
  }
}

TEST(CudaGather, a_buffer_that_is_written_again_behind_its_list_gives_new_bytes) {
  constexpr std::size_t kBytes = 1U << 16;
  std::vector<std::byte> seen(kBytes);
  const DeviceEnd end = on_gpu(seen);
  const memory::GatherRoom room{.pool_bytes = kBytes, .lists = 4, .runs = 8};
  memory::Gather gather(end.memory.gathers->make_gather(room), room);
  for (int round = 1; round < 2000; ++round) {
    std::fill(gather.pool().begin(), gather.pool().end(), static_cast<std::byte>(round));
    for (std::uint32_t i = 0; i < 8; ++i) {
      ASSERT_TRUE(gather.add({.source = gather.pool().data() + i * 8192, .destination = i * 8192, .bytes = 8192}));
    }
    ASSERT_TRUE(wait(gather));
    if (round % 50 != 0) continue;
    end.look();
    ASSERT_TRUE(
        std::all_of(seen.begin(), seen.end(), [&](std::byte one) { return one == static_cast<std::byte>(round); }))
        << "round " << round;
  }
}

}  // namespace
}  // namespace rashpa::link::sls
