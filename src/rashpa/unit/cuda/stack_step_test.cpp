// SPDX-License-Identifier: Apache-2.0
/// Numbers and verdicts that a function leaves on the device become those of images. Run by `make test-device`.
#include "rashpa/kernel/outside/stack_step.hpp"

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include "rashpa/core/error.hpp"
#include "rashpa/core/system/doorbell.hpp"
#include "rashpa/kernel/device/device_array.hpp"
#include "rashpa/unit/factory.hpp"
#include "rashpa/unit/stack_ring.hpp"

namespace rashpa::kernel::outside {
namespace {

constexpr std::uint32_t kStack = 3;

/// The function's results for every stack, and whether it fails.
struct Given {
  std::vector<DeviceNumbers> columns;
  DeviceNumbers verdicts;
  bool fails = false;
};

class Fixed final : public StackFunction {
 public:
  explicit Fixed(const Given& given) : given_(given) {}
  bool look(const cuda::DeviceStack& stack, std::uint32_t /*bench*/, CUstream_st* /*stream*/, StackFindings& found,
            std::string& why) noexcept override {
    EXPECT_EQ(stack.count, kStack);
    found.columns = given_.columns;
    found.verdicts = given_.verdicts;
    why = "it was told to fail";
    return !given_.fails;
  }

 private:
  const Given& given_;
};

template <typename T>
DeviceNumbers numbers(const DeviceArray<T>& array, DeviceNumbers::Type type) {
  return {reinterpret_cast<const std::byte*>(array.data()), sizeof(T), type};
}

Declaration declared(std::vector<Column> columns, std::vector<std::string> reasons) {
  Declaration declaration{.name = "fixed", .purpose = "for tests"};
  declaration.origin = "a test";
  declaration.takes.pixels = {PixelType::u16};
  declaration.makes.push_back({.kind = Port::Kind::scalars, .columns = std::move(columns)});
  if (!reasons.empty()) declaration.makes.push_back({.kind = Port::Kind::verdict, .reasons = std::move(reasons)});
  return declaration;
}

struct Bench {
  Bench(const Given& given, Declaration declaration, unit::Trigger trigger = unit::Trigger::automatic)
      : ring(64, 32, kStack, 2, memory::MemoryKind::pageable) {
    unit::Pipeline pipeline;
    pipeline.kernels.emplace_back(stack_step(
        std::move(declaration), [&given](const Setup& /*setup*/) { return std::make_unique<Fixed>(given); }));
    unit = unit::make_unit({.kind = unit::Kind::cuda, .trigger = trigger}, pipeline, ring.layout, bell);
  }
  /// The stack with its images decided.
  const Stack& run() {
    unit->submit(ring.all.data());
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (unit->take() == nullptr && std::chrono::steady_clock::now() < end) {
    }
    return ring.all[0];
  }
  unit::StackRing ring;
  Doorbell bell;
  std::unique_ptr<unit::Unit> unit;
};

using Type = DeviceNumbers::Type;

TEST(StackStepCuda, numbers_of_any_type_are_put_into_their_columns) {
  const DeviceArray<double> reals(std::vector<double>{0.5, -1.25, 1e300});
  const DeviceArray<float> floats(std::vector<float>{0.5F, 2.0F, -3.0F});
  const DeviceArray<std::int8_t> small(std::vector<std::int8_t>{-3, 0, 127});
  const DeviceArray<std::uint64_t> large(std::vector<std::uint64_t>{1, 1ULL << 63U, ~0ULL});
  const DeviceArray<std::uint16_t> counts(std::vector<std::uint16_t>{1, 2, 65535});
  const Given given{{numbers(reals, Type::f64), numbers(floats, Type::f32), numbers(small, Type::i8),
                     numbers(large, Type::u64), numbers(counts, Type::u16), numbers(small, Type::i8)},
                    {}};
  using Kind = Column::Type;
  Bench bench(
      given,
      declared(
          {{"a", Kind::f64}, {"b", Kind::f64}, {"c", Kind::i64}, {"d", Kind::u64}, {"e", Kind::u32}, {"f", Kind::f64}},
          {}));
  EXPECT_NE(bench.unit->how().find("trigger launch"), std::string::npos) << bench.unit->how();
  const Stack& stack = bench.run();
  for (std::size_t i = 0; i < kStack; ++i) {
    EXPECT_EQ(stack.images[i].decision, Decision::accepted);
    EXPECT_EQ(stack.images[i].scalars[0].real(), reals.download()[i]);
    EXPECT_EQ(stack.images[i].scalars[1].real(), floats.download()[i]);
    EXPECT_EQ(stack.images[i].scalars[2].integer(), small.download()[i]);
    EXPECT_EQ(stack.images[i].scalars[3].count(), large.download()[i]);
    EXPECT_EQ(stack.images[i].scalars[4].count(), counts.download()[i]);
    EXPECT_EQ(stack.images[i].scalars[5].real(), small.download()[i]);
  }
}

TEST(StackStepCuda, verdicts_veto_and_what_is_none_is_errored) {
  const DeviceArray<std::int64_t> counts(std::vector<std::int64_t>{7, 8, 9});
  const DeviceArray<std::int32_t> verdicts(std::vector<std::int32_t>{0, 2, 3});
  const Given given{{numbers(counts, Type::i64)}, numbers(verdicts, Type::i32)};
  Bench bench(given, declared({{"a", Column::Type::u32}}, {"dim", "bright"}));
  const Stack& stack = bench.run();
  EXPECT_EQ(stack.images[0].decision, Decision::accepted);
  EXPECT_EQ(stack.images[1].decision, Decision::vetoed);
  EXPECT_EQ(bench.unit->output().results.reasons.names().at(static_cast<std::size_t>(stack.images[1].reason)),
            "bright");
  EXPECT_EQ(stack.images[2].decision, Decision::errored);
  EXPECT_NE(bench.unit->failure(stack.images[2].failed_in).find("none of its 2 reasons"), std::string::npos);
}

TEST(StackStepCuda, what_does_not_fit_its_column_is_errored) {
  const DeviceArray<std::int64_t> counts(std::vector<std::int64_t>{-1, 1LL << 32U, 5});
  const Given given{{numbers(counts, Type::i64)}, {}};
  Bench bench(given, declared({{"a", Column::Type::u32}}, {}));
  const Stack& stack = bench.run();
  EXPECT_EQ(stack.images[0].decision, Decision::errored);
  EXPECT_EQ(stack.images[1].decision, Decision::errored);
  EXPECT_EQ(stack.images[2].decision, Decision::accepted);
}

TEST(StackStepCuda, a_function_that_fails_makes_its_stack_errored_and_the_next_goes_on) {
  const DeviceArray<double> reals(std::vector<double>{1, 2, 3});
  Given given{{numbers(reals, Type::f64)}, {}, false};
  Bench bench(given, declared({{"a", Column::Type::f64}}, {}));
  EXPECT_NE(bench.unit->how().find("fixed took "), std::string::npos) << bench.unit->how();
  given.fails = true;
  const Stack& stack = bench.run();
  for (const StackImage& image : stack.images) EXPECT_EQ(image.decision, Decision::errored);
  EXPECT_EQ(bench.unit->failure(stack.images[0].failed_in), "kernel fixed: it was told to fail");
  EXPECT_EQ(bench.unit->error(), "");
  given.fails = false;
  for (const StackImage& image : bench.run().images) EXPECT_EQ(image.decision, Decision::accepted);
}

TEST(StackStepCuda, one_that_fails_with_zeros_is_refused_when_it_is_made) {
  const DeviceArray<double> reals(std::vector<double>{1, 2, 3});
  const Given given{{numbers(reals, Type::f64)}, {}, true};
  EXPECT_THROW(Bench(given, declared({{"a", Column::Type::f64}}, {})), ConfigError);
}

TEST(StackStepCuda, it_is_launched_and_nothing_else) {
  const Given given{};
  for (const unit::Trigger trigger : {unit::Trigger::graph, unit::Trigger::stream, unit::Trigger::persistent}) {
    EXPECT_THROW(Bench(given, declared({{"a", Column::Type::f64}}, {}), trigger), ConfigError);
  }
}

}  // namespace
}  // namespace rashpa::kernel::outside
