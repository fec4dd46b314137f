// SPDX-License-Identifier: Apache-2.0
/// Profiles, from units that make them; the others refuse.
#include <array>
#include <chrono>
#include <memory>
#include <vector>

#include "rashpa/core/error.hpp"
#include "rashpa/kernel/outside/image_step.hpp"
#include "rashpa/unit/contract/bench.hpp"

namespace rashpa::unit {

using namespace contract;  // NOLINT(google-build-using-namespace): the bench of these tests

namespace {

/// Two arrays along two axes: the first pixel of the image plus the number of the bin, and minus it.
class Arrays final : public kernel::outside::ImageFunction {
 public:
  bool look(const std::byte* pixels, kernel::outside::ImageFindings& found, std::string& why) noexcept override {
    const auto first = static_cast<std::uint8_t>(pixels[0]);
    if (first == 250) {
      why = "250 is too bright";
      return false;
    }
    found.verdict = first == 1 ? 1 : 0;
    for (int bin = 0; bin < 6; ++bin) {
      found.profile[bin] = first + bin;
      found.profile[6 + bin] = first - bin;
    }
    return true;
  }
};

kernel::StepOf arrays_step(const std::string& name, std::size_t bins = 3) {
  kernel::Declaration declaration{.name = name, .purpose = "arrays"};
  declaration.origin = "a test";
  declaration.takes.pixels = {PixelType::u8};
  const std::vector<Axis> axes{{.name = "slow", .values = {0.5, 1.5}},
                               {.name = "fast", .unit = "1/nm", .values = std::vector<double>(bins, 2.0)}};
  declaration.makes = {
      {.kind = kernel::Port::Kind::profile,
       .columns = {{.name = "up", .type = Column::Type::f64}, {.name = "down", .type = Column::Type::f64}},
       .axes = {{.name = "slow"}, {.name = "fast"}}},
      {.kind = kernel::Port::Kind::verdict, .reasons = {name + "_is_one"}}};
  return kernel::outside::image_step(
      declaration, 0,
      [](const kernel::Setup& setup) {
        return kernel::outside::for_all_threads(setup, [] { return std::make_unique<Arrays>(); });
      },
      axes);
}

}  // namespace

TEST_P(UnitContract, profiles_are_delivered_or_the_kernel_is_refused) {
  Doorbell bell;
  StackRing ring(kWidth, kHeight, 3, 2, memory::MemoryKind::pageable, PixelType::u8);
  const Pipeline pipeline{{arrays_step("one"), arrays_step("two")}};
  if (GetParam().choice.kind != Kind::cpu) {
    EXPECT_THROW(make_unit(GetParam().choice, pipeline, ring.layout, bell), ConfigError);
    return;
  }
  const auto unit = make_unit(GetParam().choice, pipeline, ring.layout, bell);
  const auto first_of = [](const Stack& stack, std::uint32_t i) {
    constexpr std::array<std::uint8_t, 3> kFirsts{40, 1, 250};
    return static_cast<std::uint8_t>(i == 0 ? kFirsts[0] + stack.slot : kFirsts[i]);
  };
  for (Stack& stack : ring.all) {
    for (std::uint32_t i = 0; i < 3; ++i) stack.images[i].raw[0] = std::byte{first_of(stack, i)};
    unit->submit(&stack);
  }
  for (Stack& stack : ring.all) {
    static_cast<void>(stack);
    while (unit->take() == nullptr) bell.wait(bell.count(), std::chrono::milliseconds(1));
  }
  for (const Stack& stack : ring.all) {  // the content of a place stays until the place is processed again
    ASSERT_EQ(stack.images[0].decision, Decision::accepted);
    for (const ProfileView& profile : stack.images[0].profiles) {
      for (int bin = 0; bin < 6; ++bin) {
        EXPECT_EQ(profile.values[bin], first_of(stack, 0) + bin);
        EXPECT_EQ(profile.values[6 + bin], first_of(stack, 0) - bin);
      }
    }
    EXPECT_EQ(stack.images[1].decision, Decision::vetoed);
    EXPECT_EQ(stack.images[1].profiles[0].values, nullptr);
    EXPECT_EQ(stack.images[2].decision, Decision::errored);
  }
  EXPECT_EQ(unit->failure(1), "kernel one: 250 is too bright");
  const std::vector<Profile>& profiles = unit->output().results.profiles;
  ASSERT_EQ(profiles.size(), 2U);
  EXPECT_EQ(profiles[1].name, "two");
  EXPECT_EQ(profiles[1].bins(), 6U);
  EXPECT_EQ(profiles[1].axes[1].unit, "1/nm");
  const Pipeline three{{arrays_step("a"), arrays_step("b"), arrays_step("c")}};
  EXPECT_THROW(make_unit(GetParam().choice, three, ring.layout, bell), ConfigError);
  EXPECT_THROW(arrays_step("none", 0), ConfigError);
}

}  // namespace rashpa::unit
