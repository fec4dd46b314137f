// SPDX-License-Identifier: Apache-2.0
/// An RNIC that writes into memory of a real GPU: its dma-buf, registered with the stand-in, which writes by copies.
/// Run by bench/gpu_word.sh.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstring>
#include <iostream>
#include <memory>
#include <vector>

#include "rashpa/core/error.hpp"
#include "rashpa/core/time/clock.hpp"
#include "rashpa/link/pcie/cuda/cuda_images.hpp"
#include "rashpa/link/testing/rnic/verbs_bench.hpp"
#include "rashpa/memory/cuda/gpu_direct.hpp"
#include "rashpa/memory/cuda/resources.hpp"

namespace rashpa::receiver {
namespace {

namespace rnic = link::testing::rnic;
using rnic::VerbsBench;

class RnicCuda : public ::testing::Test {
 protected:
  void SetUp() override {
    int count = 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) GTEST_SKIP() << "this machine has no CUDA device";
    rnic::reset();
    const memory::RemoteWrites writes = memory::cuda::remote_writes(0);
    std::cout << "device 0: " << memory::words_of(writes) << "\n";
    try {
      images_ = link::pcie::make_cuda_images(0, VerbsBench::lines_end(2), link::pcie::Writers::rnic);
    } catch (const ConfigError& error) {
      GTEST_SKIP() << error.what();
    }
    std::cout << images_->how() << "\n";
  }
  [[nodiscard]] std::vector<std::byte> bytes_at(std::uint64_t offset, std::size_t bytes) const {
    std::vector<std::byte> found(bytes);
    memory::cuda::check(cudaMemcpy(found.data(), images_->block().data + offset, bytes, cudaMemcpyDeviceToHost),
                        "read");
    return found;
  }
  std::unique_ptr<memory::DeviceImages> images_;
};

TEST_F(RnicCuda, the_flush_of_the_driver_works_and_its_time_is_told) {
  if (!memory::cuda::remote_writes(0).host_flush) GTEST_SKIP() << "this device has no flush for the host";
  const memory::cuda::DeviceScope scope(0);
  EXPECT_TRUE(memory::cuda::flush_remote_writes());
  const std::int64_t start = now_ns();
  for (int i = 0; i < 1000; ++i) memory::cuda::flush_remote_writes();
  std::cout << "a flush takes " << static_cast<double>(now_ns() - start) / 1e6 << " us\n";
}

TEST_F(RnicCuda, lines_come_into_memory_of_a_gpu_by_its_dma_buf) {
  if (images_->block().dmabuf < 0) GTEST_SKIP() << "this driver exports no dma-buf: " << images_->how();
  rnic::set_writer([this](std::uint64_t offset, std::span<const std::byte> bytes) {
    memory::cuda::check(cudaMemcpy(images_->block().data + offset, bytes.data(), bytes.size(), cudaMemcpyHostToDevice),
                        "write");
  });
  VerbsBench bench(link::Transport::uc, true, 2, 40, {}, images_->block());
  EXPECT_NE(bench.receiver().registration().find("dma-buf of accelerator memory"), std::string::npos);
  bench.start();
  for (std::uint64_t k = 0; k < 40; ++k) {
    for (std::uint32_t d = 0; d < 2; ++d) {
      ASSERT_TRUE(bench.send(d, k));
      const auto arrival = bench.next();
      ASSERT_TRUE(arrival.has_value());
      EXPECT_EQ(arrival->completeness, Completeness::complete);
      rnic::flush();
      images_->order_writes();
      const Placement& p = bench.dtps()[d].placement;
      for (std::uint32_t n = 0; n < p.lines; ++n) {
        const auto found = bytes_at(p.image_offset(k) + n * p.pitch, p.line_bytes);
        EXPECT_EQ(std::memcmp(found.data(), bench.line(d, k, n), p.line_bytes), 0) << "image " << k << " line " << n;
      }
      bench.receiver().release(d, k + 1);
    }
  }
  bench.receiver().stop();
  EXPECT_EQ(rnic::fates().out_of_bounds + rnic::fates().wrong_key + rnic::fates().late, 0U);
}

}  // namespace
}  // namespace rashpa::receiver
