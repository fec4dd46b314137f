// SPDX-License-Identifier: Apache-2.0
/// A device whose kernel faults is lost for the process: each test runs in a process of its own. Run by `make
/// test-device`.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>

#include "rashpa/core/system/doorbell.hpp"
#include "rashpa/kernel/accumulate/accumulate.hpp"
#include "rashpa/unit/cuda/cuda_unit.hpp"
#include "rashpa/unit/cuda/faulty_kernel.hpp"
#include "rashpa/unit/factory.hpp"
#include "rashpa/unit/stack_ring.hpp"

namespace rashpa::unit {
namespace {

constexpr std::uint16_t kPoison = 0xDEAD;

class Faulty final : public kernel::Step, public kernel::Splitting {
 public:
  Faulty() {
    declaration_.takes.pixels = {PixelType::u16};
    declaration_.makes = {{.kind = kernel::Port::Kind::scalars, .columns = {{.name = "nothing"}}}};
    declaration_.units = {"cuda"};
  }
  [[nodiscard]] const kernel::Declaration& declaration() const noexcept override { return declaration_; }
  [[nodiscard]] kernel::PixelFormat fit(const kernel::Shape& /*shape*/, kernel::PixelFormat in) const override {
    return in;
  }
  [[nodiscard]] std::optional<kernel::Strip> strip(const kernel::Shape& /*whole*/,
                                                   const kernel::Rows& /*rows*/) const override {
    return kernel::Strip{std::make_shared<Faulty>()};
  }
  [[nodiscard]] std::unique_ptr<kernel::CpuPass> on_cpu(const kernel::Setup& /*setup*/) const override {
    return nullptr;
  }
  [[nodiscard]] std::unique_ptr<kernel::cuda::DevicePass> on_cuda(const kernel::Setup& /*setup*/) const override {
    return std::make_unique<Pass>();
  }

 private:
  struct Pass final : kernel::cuda::DevicePass {
    int enqueue(const kernel::cuda::DeviceStack& stack, std::uint32_t /*bench*/,
                CUstream_st* stream) const noexcept override {
      return cuda::enqueue_fault(stack, kPoison, stream);
    }
  };
  kernel::Declaration declaration_{.name = "faulty", .purpose = "to fault"};
};

Pipeline faulty() {
  Pipeline pipeline;
  pipeline.kernels.emplace_back(std::shared_ptr<const kernel::Step>(std::make_shared<Faulty>()));
  return pipeline;
}

struct Bench {
  explicit Bench(const char* device, Trigger trigger, const Pipeline& pipeline = faulty(), Share share = Share::stacks)
      : ring(64, 32, 2, 4, memory::MemoryKind::pageable),
        unit(make_unit({.kind = Kind::cuda, .device = device, .share = share, .trigger = trigger}, pipeline,
                       ring.layout, bell)) {}
  void poison(std::size_t stack) { std::memcpy(ring.all[stack].images[1].raw, &kPoison, sizeof(kPoison)); }
  void heal(std::size_t stack) { std::memset(ring.all[stack].images[1].raw, 0, sizeof(kPoison)); }
  /// The next stack to come back; null after ten seconds.
  Stack* wait() {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (std::chrono::steady_clock::now() < end) {
      const std::uint32_t seen = bell.count();
      if (Stack* const stack = unit->take()) return stack;
      bell.wait(seen, std::chrono::milliseconds(50));
    }
    return nullptr;
  }
  /// Submits all stacks and takes them; how many of each decision came back, in the order of submission.
  void round(std::size_t& accepted, std::size_t& errored) {
    for (Stack& stack : ring.all) {
      stack.number = submitted++;
      unit->submit(&stack);
    }
    for (Stack& stack : ring.all) {
      ASSERT_EQ(wait(), &stack);
      for (const StackImage& image : stack.images) {
        accepted += image.decision == Decision::accepted ? 1 : 0;
        errored += image.decision == Decision::errored ? 1 : 0;
      }
    }
  }
  StackRing ring;
  Doorbell bell;
  std::uint64_t submitted = 0;
  std::unique_ptr<Unit> unit;
};

/// GoogleTest keeps them to itself in such a process.
void tell_failures() {
  const testing::TestResult& result = *testing::UnitTest::GetInstance()->current_test_info()->result();
  for (int i = 0; i < result.total_part_count(); ++i) {
    if (result.GetTestPartResult(i).failed()) std::fprintf(stderr, "%s\n", result.GetTestPartResult(i).message());
  }
}

/// Runs `body` in a process of its own, and expects that it finds nothing wrong: exit status 0.
template <typename Body>
void alone(const Body& body) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        body();
        tell_failures();
        std::exit(testing::Test::HasFailure() ? 1 : 0);
      },
      testing::ExitedWithCode(0), "");
}

void one_device(const char* device, Trigger trigger) {
  Bench bench(device, trigger);
  std::size_t accepted = 0;
  std::size_t errored = 0;
  bench.round(accepted, errored);
  ASSERT_EQ(accepted, 8U);
  bench.poison(1);
  accepted = 0;
  bench.round(accepted, errored);
  EXPECT_EQ(accepted + errored, 8U) << "every image comes back";
  EXPECT_GE(errored, 2U) << "the stack that met the fault";
  bench.heal(1);
  accepted = errored = 0;
  bench.round(accepted, errored);
  EXPECT_EQ(errored, 8U) << "a device that has faulted is lost";
  EXPECT_NE(bench.unit->error().find("device 0: "), std::string::npos) << bench.unit->error();
  const auto start = std::chrono::steady_clock::now();
  bench.unit->stop();
  bench.unit.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(6));
}

TEST(CudaFault, its_images_are_errored_and_all_come_back) {
  for (const Trigger trigger : {Trigger::launch, Trigger::graph, Trigger::stream}) {
    SCOPED_TRACE(name_of(trigger));
    alone([trigger] { one_device("0", trigger); });
  }
}

TEST(CudaFault, the_same_device_twice_fails_twice) {
  alone([] { one_device("0,0", Trigger::graph); });
}

void split_images(const char* devices) {
  Bench bench(devices, Trigger::graph, faulty(), Share::rows);
  std::size_t accepted = 0;
  std::size_t errored = 0;
  bench.round(accepted, errored);
  ASSERT_EQ(accepted, 8U);
  bench.poison(1);  // in the first strip
  accepted = 0;
  bench.round(accepted, errored);
  EXPECT_EQ(accepted + errored, 8U) << "every image comes back";
  EXPECT_GE(errored, 2U) << "the stack that met the fault";
  EXPECT_NE(bench.unit->error().find("it has a part of every image"), std::string::npos) << bench.unit->error();
  bench.heal(1);
  accepted = errored = 0;
  const auto start = std::chrono::steady_clock::now();
  bench.round(accepted, errored);
  EXPECT_EQ(errored, 8U) << "no image has its first strip";
  bench.unit->stop();
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(1)) << "nobody waits for it";
}

TEST(CudaFault, a_device_that_has_a_strip_takes_the_unit_with_it) {
  const bool two = cuda::devices().size() >= 2;
  alone([two] { split_images(two ? "0,1" : "0,0"); });
}

/// A fault takes the other devices of the process as well, with some drivers (580); with others they go on.
void expect_in_order(Bench& bench, std::size_t accepted, std::size_t errored) {
  EXPECT_EQ(accepted + errored, 8U) << "every image comes back";
  if (bench.unit->error().empty()) {
    EXPECT_EQ(accepted, 8U) << "all of it by the other one";
    EXPECT_NE(notice_of(*bench.unit).find("the others go on"), std::string::npos) << notice_of(*bench.unit);
  } else {
    EXPECT_NE(bench.unit->error().find("device 0: "), std::string::npos) << bench.unit->error();
    EXPECT_NE(bench.unit->error().find("device 1: "), std::string::npos) << bench.unit->error();
  }
  const auto start = std::chrono::steady_clock::now();
  bench.unit->stop();
  bench.unit.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(12));
}

TEST(CudaFault, of_one_of_two_devices_leaves_the_other_or_all_images_come_back_errored) {
  if (cuda::devices().size() < 2) GTEST_SKIP() << "needs two devices";
  alone([] {
    Bench bench("0,1", Trigger::graph);
    std::size_t accepted = 0;
    std::size_t errored = 0;
    bench.poison(1);
    bench.round(accepted, errored);
    EXPECT_EQ(accepted + errored, 8U);
    EXPECT_GE(errored, 2U);
    bench.heal(1);
    accepted = errored = 0;
    bench.round(accepted, errored);
    expect_in_order(bench, accepted, errored);
  });
}

TEST(CudaFault, of_one_of_two_devices_loses_the_windows_that_it_has_added_to) {
  if (cuda::devices().size() < 2) GTEST_SKIP() << "needs two devices";
  alone([] {
    Pipeline pipeline = faulty();
    pipeline.kernels.emplace_back(kernel::accumulate::Config{.window = 8});
    Bench bench("0,1", Trigger::graph, pipeline);
    const AccumulatedView& window = bench.ring.all.back().accumulated[0];
    std::size_t accepted = 0;
    std::size_t errored = 0;
    bench.round(accepted, errored);
    EXPECT_TRUE(window.ended());
    EXPECT_EQ(window.images, 8U);
    bench.poison(1);
    bench.round(accepted, errored);
    EXPECT_FALSE(window.ended()) << "the device that is lost has added to it";
    bench.heal(1);
    accepted = errored = 0;
    bench.round(accepted, errored);
    EXPECT_EQ(window.ended(), bench.unit->error().empty());
    if (window.ended()) {
      EXPECT_EQ(window.images, 8U) << "all of it by the other one";
      EXPECT_NE(notice_of(*bench.unit).find("1 window of accumulate lost"), std::string::npos)
          << notice_of(*bench.unit);
    }
    expect_in_order(bench, accepted, errored);
  });
}

}  // namespace
}  // namespace rashpa::unit
