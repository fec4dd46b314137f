// SPDX-License-Identifier: Apache-2.0
/// Windows that several CUDA devices add up, against a unit on processors: of all devices of the machine by NCCL, of
/// one that is named twice by the host. Run by `make test-device`.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "rashpa/core/error.hpp"
#include "rashpa/kernel/accumulate/accumulate.hpp"
#include "rashpa/kernel/azimuthal/testing.hpp"
#include "rashpa/kernel/total_counts/total_counts.hpp"
#include "rashpa/unit/cuda/cuda_unit.hpp"
#include "rashpa/unit/cuda/joint/nccl_joiner.hpp"
#include "rashpa/unit/dealt/windows_testing.hpp"

namespace rashpa::unit {
namespace {

namespace sums = windows_testing;
using kernel::accumulate::Config;

std::vector<std::string> all_devices() {
  std::vector<std::string> all;
  for (std::size_t device = 0; device < cuda::devices().size(); ++device) all.push_back(std::to_string(device));
  return all;
}
std::string named(const std::vector<std::string>& devices) {
  std::string all;
  for (const std::string& device : devices) all += (all.empty() ? "" : ",") + device;
  return all;
}

/// All devices, or one of them twice.
class CudaSums : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (!GetParam() && all_devices().size() < 2) GTEST_SKIP() << "needs two devices";
  }
  static void expect_as_cpu(const Pipeline& pipeline, std::uint32_t images, double reals = 0,
                            PixelType pixel = PixelType::u16, Trigger trigger = Trigger::graph) {
    const sums::Make make = [trigger](const Pipeline& same, const Layout& layout, Doorbell& bell) {
      const std::string devices = GetParam() ? "0,0" : named(all_devices());
      auto unit = make_unit({.kind = Kind::cuda, .device = devices, .trigger = trigger}, same, layout, bell);
      EXPECT_NE(unit->how().find("sums joined "), std::string::npos) << unit->how();
      return unit;
    };
    sums::expect_as_one(make, pipeline, images, reals, pixel);
  }
};

// Mean and variance of integers are within 2 ulp of the exact value on either.
constexpr double kUlps = 1e-15;

TEST_P(CudaSums, integers_are_those_of_processors) {
  const kernel::total_counts::Config some{.max_counts = 95'000};
  for (const std::int64_t window : {0, 4, 8, 12, 20, 40}) {
    SCOPED_TRACE(window);
    expect_as_cpu({{some, Config{.variance = true, .window = window}}}, 38, kUlps);
    expect_as_cpu({{Config{.variance = true, .window = window}}}, 40, kUlps);
  }
}

TEST_P(CudaSums, a_run_shorter_than_the_devices_is_one_window) {
  for (const std::uint32_t images : {1U, 4U, 5U}) expect_as_cpu({{Config{.window = 40}}}, images, kUlps);
}

TEST_P(CudaSums, many_windows_on_their_way_stay_apart) {
  expect_as_cpu({{Config{.window = 4}}}, 400, kUlps);
  expect_as_cpu({{Config{.window = 8}}}, 400, kUlps);
}

TEST_P(CudaSums, reals_are_those_of_processors_within_rounding) {
  expect_as_cpu({{Config{.window = 16}}}, 38, 1e-12, PixelType::f32);
  expect_as_cpu({{Config{.variance = true, .window = 16}}}, 38, 1e-9, PixelType::f32);
}

TEST_P(CudaSums, profiles_and_images_have_windows_of_their_own) {
  kernel::azimuthal::Config rings = kernel::azimuthal::test_rings({sums::kWidth, sums::kHeight}, 20,
                                                                  kernel::azimuthal::Errors::poisson, false, false);
  rings.added = kernel::azimuthal::Added::reached;
  rings.window = 12;
  const Config all{.variance = true, .window = 8, .images = kernel::accumulate::Images::reached};
  for (const Trigger trigger : {Trigger::graph, Trigger::launch}) {
    expect_as_cpu({{all, rings}}, 38, 1e-9, PixelType::u16, trigger);
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, CudaSums, testing::Values(false, true),
                         [](const auto& twice) { return twice.param ? "one_twice" : "all"; });

/// The joiner alone: a window of one pixel row whose parts the test writes.
class NcclJoin : public testing::Test {
 protected:
  static constexpr std::uint32_t kLong = 5000;
  void SetUp() override {
    if (all_devices().size() < 2) GTEST_SKIP() << "needs two devices";
    try {
      joiner();
    } catch (const ResourceError& error) {
      GTEST_SKIP() << error.what();
    }
  }
  static kernel::accumulate::Config config() { return {.mean = false}; }
  static std::shared_ptr<const kernel::Step> step() { return kernel::accumulate::step_of(config()); }
  static std::shared_ptr<kernel::Join> join() {
    return dynamic_cast<const kernel::Joinable&>(*step()).join({kLong, 1}, format());
  }
  static kernel::PixelFormat format() { return kernel::delivered(PixelType::u16); }
  cuda::NcclJoiner& joiner() {
    if (joiner_ == nullptr) {
      std::vector<int> devices;
      for (std::size_t device = 0; device < all_devices().size(); ++device) devices.push_back(static_cast<int>(device));
      facts_ = {*step()->accumulation({kLong, 1}, format())};
      joiner_ = std::make_unique<cuda::NcclJoiner>(Joins{join()}, facts_, devices);
      results_ = memory::Buffer(facts_[0].bytes(), memory::MemoryKind::pageable);
      joiner_->writes_into(0, results_.bytes());
    }
    return *joiner_;
  }
  /// Parts on device `number`: counted, sum and maximum of pixel p are number + 1, p · (number + 1) and p + number.
  kernel::AccumulatedArrays parts_on(int number) {
    const memory::cuda::DeviceScope scope(number);
    std::vector<std::uint32_t> counted(kLong, static_cast<std::uint32_t>(number) + 1), most(kLong);
    std::vector<std::int64_t> sum(kLong);
    for (std::uint32_t p = 0; p < kLong; ++p) {
      sum[p] = std::int64_t{p} * (number + 1);
      most[p] = p + static_cast<std::uint32_t>(number);
    }
    kernel::AccumulatedArrays at{};
    const auto upload = [&](std::size_t part, const auto& values) {
      const std::size_t bytes = values.size() * sizeof(values[0]);
      const auto& memory = memory_.emplace_back(bytes);
      memory::cuda::check(cudaMemcpy(memory.as<void>(), values.data(), bytes, cudaMemcpyHostToDevice), "parts");
      at[part] = memory.as<std::byte>();
      memory::cuda::check(cudaDeviceSynchronize(), "parts");  // the copy may still be on its way
    };
    upload(0, counted);
    upload(1, sum);
    upload(2, most);
    return at;
  }
  /// Joins the parts of those devices and checks the result.
  void expect_joined(const std::vector<int>& devices) {
    std::vector<kernel::AccumulatedArrays> parts(all_devices().size());
    std::int64_t counts = 0;
    int last = 0;
    for (const int device : devices) {
      parts[static_cast<std::size_t>(device)] = parts_on(device);
      counts += device + 1;
      last = std::max(last, device);
    }
    kernel::AccumulatedArrays to{};
    to[0] = results_.data();
    to[1] = to[0] + kLong * 8UL;
    to[2] = to[1] + kLong * 4UL;
    ASSERT_TRUE(joiner().join(0, parts, to)) << joiner().trouble();
    for (std::uint32_t p = 0; p < kLong; ++p) {
      ASSERT_EQ(reinterpret_cast<const std::int64_t*>(to[0])[p], p * counts);
      ASSERT_EQ(reinterpret_cast<const std::uint32_t*>(to[1])[p], p + static_cast<std::uint32_t>(last));
      ASSERT_EQ(reinterpret_cast<const std::uint32_t*>(to[2])[p], counts);
    }
  }

 private:
  std::vector<Accumulation> facts_;
  memory::Buffer results_;
  std::vector<memory::cuda::DeviceMemory> memory_;
  std::unique_ptr<cuda::NcclJoiner> joiner_;
};

TEST_F(NcclJoin, parts_of_all_devices_of_one_and_of_some_are_joined) {
  EXPECT_EQ(joiner().on_device(), 1U);
  std::vector<int> all;
  for (std::size_t device = 0; device < all_devices().size(); ++device) all.push_back(static_cast<int>(device));
  for (int round = 0; round < 20; ++round) {
    expect_joined(all);
    for (const int device : all) expect_joined({device});
    if (all.size() > 2) expect_joined({1, 2});
  }
}

TEST(NcclLibrary, a_missing_library_is_refused_with_its_name_and_what_to_try) {
  try {
    static_cast<void>(memory::cuda::load_nccl("libnccl-that-is-not-there.so.2"));
    FAIL();
  } catch (const ResourceError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("libnccl-that-is-not-there.so.2"), std::string::npos) << text;
    EXPECT_NE(text.find("install libnccl2"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace rashpa::unit
