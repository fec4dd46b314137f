// SPDX-License-Identifier: Apache-2.0
/// The kernel on a GPU against the plain reference: run by `make test-device`.
#include "rashpa/kernel/total_counts/total_counts_cuda.hpp"

#include <gtest/gtest.h>

#include <random>
#include <span>
#include <vector>

#include "rashpa/kernel/photons/photons.hpp"
#include "rashpa/kernel/testing/device_testing.hpp"

namespace rashpa::kernel::total_counts {
namespace {

TEST(TotalCountsCuda, images_of_every_integer_type_add_up_as_the_reference_does) {
  constexpr std::uint32_t kImages = 4;
  constexpr std::size_t kPixels = std::size_t{129} * 101;
  constexpr std::size_t kStride = 13'056;
  std::mt19937 random(test_seed());
  for (const PixelType type : photon_types()) {
    with_type(type, [&]<typename T>(T) {
      SCOPED_TRACE(testing::Message() << pixel_name(type) << ", RASHPA_SEED=" << test_seed());
      const PixelFormat format = delivered(type);
      std::vector<T> images(kImages * kStride);
      for (auto& pixel : images) pixel = static_cast<T>(random() % 3 == 0 ? random() : random() % 8);
      const Config config{1, 1'000'000'000'000, 0.5};
      const Limits limits = limits_of(config, kPixels);
      const auto pass = step_of(config)->on_cuda({.shape = {129, 101}, .in = format, .stack = kImages});
      ASSERT_NE(pass, nullptr);
      const DeviceArray<T> pixels(images);
      const DeviceArray<std::uint8_t> work(std::vector<std::uint8_t>{1, 0, 1, 1});
      const DeviceArray<Scalar> scalars(std::size_t{kImages} * 3);
      const DeviceArray<kernel::cuda::DeviceFinding> findings(kImages);
      kernel::cuda::DeviceStack stack{};
      stack.in = reinterpret_cast<const std::byte*>(pixels.data());
      stack.in_stride = kStride * sizeof(T);
      stack.work = work.data();
      stack.scalars = scalars.data() + 1;
      stack.scalars_stride = 3;
      stack.findings = findings.data();
      const DeviceArray<std::byte> bytes(limit_bytes(std::span(&limits, 1)));
      stack.limits = bytes.data();
      stack.count = kImages;
      stack.step = 5;
      memory::cuda::check(static_cast<cudaError_t>(pass->enqueue(stack, 0, nullptr)), "enqueue");
      memory::cuda::check(cudaDeviceSynchronize(), "total_counts");
      const auto found = scalars.download();
      const auto verdicts = findings.download();
      const auto left = work.download();
      for (std::size_t i = 0; i < kImages; ++i) {
        const bool worked = i != 1;
        const Totals truth = worked ? total_reference(images.data() + i * kStride, format, kPixels) : Totals{};
        EXPECT_EQ(found[i * 3 + 1].integer(), truth.counts);
        EXPECT_EQ(found[i * 3 + 2].count(), truth.masked);
        const std::uint8_t verdict = worked ? limits.verdict(truth) : std::uint8_t{0};
        EXPECT_EQ(verdicts[i].verdict, verdict);
        EXPECT_EQ(left[i], worked && verdict == 0 ? 1 : 0);
      }
    });
  }
}

}  // namespace
}  // namespace rashpa::kernel::total_counts
