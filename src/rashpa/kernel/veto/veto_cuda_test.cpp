// SPDX-License-Identifier: Apache-2.0
/// Rules on a GPU against the processor: run by `make test-device`.
#include "rashpa/kernel/veto/veto_cuda.hpp"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <random>
#include <vector>

#include "rashpa/kernel/device/device_array.hpp"
#include "rashpa/kernel/testing/device_testing.hpp"
#include "rashpa/kernel/veto/rule.hpp"

namespace rashpa::kernel::veto {
namespace {

const std::array<Column, 4> kColumns{
    Column{.name = "n", .type = Column::Type::u32}, Column{.name = "large", .type = Column::Type::u64},
    Column{.name = "signed", .type = Column::Type::i64}, Column{.name = "real", .type = Column::Type::f64}};

Scalar drawn(const Column& column, std::mt19937_64& random) {
  const std::uint64_t bits = random();
  switch (column.type) {
    case Column::Type::u32:
      return Scalar::of_count(bits % 40);
    case Column::Type::u64:
      return Scalar::of_count(bits % 2 == 0 ? bits : bits % 40);
    case Column::Type::i64:
      return Scalar::of_integer(static_cast<std::int64_t>(bits % 41) - 20);
    case Column::Type::f64:
      break;
  }
  constexpr std::array kSpecial{
      0.0, -0.0, 1.0, 20.0, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()};
  return Scalar::of_real(bits % 3 == 0 ? kSpecial.at(bits / 3 % kSpecial.size())
                                       : static_cast<double>(bits % 4001) / 100 - 20);
}

TEST(VetoCuda, rules_say_what_they_say_on_the_processor) {
  SCOPED_TRACE(testing::Message() << "RASHPA_SEED=" << test_seed());
  std::mt19937_64 random(test_seed());
  constexpr std::uint32_t kImages = 150, kOthers = 3;
  constexpr std::size_t kStride = kColumns.size() + kOthers;
  for (const char* const text :
       {"n >= 15", "not n >= 15", "real > 0", "real == real", "real / n < 2", "n * real - signed >= 3.5",
        "large > 1e9 or n < 3", "signed < 0 and (n > 10 or real <= -real)", "-(signed + n) >= -12",
        "not (not (n > 5) and real < 7) or signed == 0", "n + n * n / (real - 1) > signed * 2.5"}) {
    SCOPED_TRACE(text);
    const Rule rule(text, kColumns);
    std::vector<Scalar> numbers(kImages * kStride);
    std::vector<std::uint8_t> work(kImages, 1);
    for (std::uint32_t image = 0; image < kImages; ++image) {
      for (std::size_t c = 0; c < kColumns.size(); ++c) numbers[image * kStride + c] = drawn(kColumns.at(c), random);
      work[image] = image % 7 == 3 ? 0 : 1;
    }
    const DeviceArray<Scalar> scalars(numbers);
    const DeviceArray<std::uint8_t> working(work);
    const DeviceArray<kernel::cuda::DeviceFinding> findings(kImages);
    kernel::cuda::DeviceStack stack{};
    stack.scalars = scalars.data() + kColumns.size();
    stack.scalars_stride = kStride;
    stack.work = working.data();
    stack.findings = findings.data();
    const DeviceArray<Operation> operations(rule.operations());
    stack.limits = reinterpret_cast<const std::byte*>(operations.data());
    stack.count = kImages;
    stack.step = 4;
    const auto pass = cuda::make_pass(kColumns.size());
    memory::cuda::check(static_cast<cudaError_t>(pass->enqueue(stack, 0, nullptr)), "enqueue");
    memory::cuda::check(cudaDeviceSynchronize(), "the rule");
    const auto found = findings.download();
    const auto left = working.download();
    std::uint32_t kept = 0, dropped = 0;
    for (std::uint32_t image = 0; image < kImages; ++image) {
      const bool holds = rule.holds(numbers.data() + image * kStride);
      const bool judged = work[image] != 0;
      EXPECT_EQ(found[image].verdict, judged && !holds ? 1 : 0) << image;
      EXPECT_EQ(found[image].step, judged && !holds ? stack.step : 0);
      EXPECT_EQ(left[image], judged && holds ? 1 : 0);
      (holds ? kept : dropped) += 1;
    }
    EXPECT_GT(kept, 0U);
    EXPECT_GT(dropped, 0U);
  }
}

}  // namespace
}  // namespace rashpa::kernel::veto
