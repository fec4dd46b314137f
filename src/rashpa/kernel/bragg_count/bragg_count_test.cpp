#include "rashpa/kernel/bragg_count/bragg_count.hpp"

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <random>
#include <vector>

#include "rashpa/core/error.hpp"
#include "rashpa/core/fill.hpp"

namespace rashpa::kernel::bragg_count {
namespace {

/// Calls `check` with every backend: the reference and every instruction set of this machine.
template <class Check>
void for_each_backend(Check check) {
  check("reference", count_reference);
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    check(hwy::TargetName(target), count);
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

struct Case {
  const char* what;
  std::vector<std::int16_t> photons;
  std::int16_t threshold;
  std::uint32_t bright;
};
const Case kCases[] = {
    {"nothing", {}, 1, 0},
    {"at the threshold counts", {4, 5, 6}, 5, 2},
    {"masked never counts", {kMaskedPhotons, 0, 1}, INT16_MIN, 2},
    {"saturated counts", {kSaturatedPhotons, 0}, 32767, 1},
    {"negative threshold", {-3, -2, -1}, -2, 2},
    {"a whole image", std::vector<std::int16_t>(100'000, 9), 9, 100'000},
    {"more than 16-bit counters hold", std::vector<std::int16_t>(3'000'001, 1), 1, 3'000'001},
};

TEST(BraggCount, cases_hold_on_every_backend) {
  for_each_backend([](const char* backend, auto count_with) {
    for (const Case& c : kCases) {
      EXPECT_EQ(count_with(c.photons.data(), c.photons.size(), c.threshold), c.bright) << backend << ": " << c.what;
    }
  });
}

TEST(BraggCount, random_images_count_as_the_reference_does) {
  std::mt19937 random(3);
  std::vector<std::int16_t> photons(5000);
  for (int round = 0; round < 50; ++round) {
    for (auto& p : photons) p = static_cast<std::int16_t>(random() % 8 == 0 ? random() : random() % 16);
    const std::size_t pixels = random() % photons.size();
    const auto threshold = static_cast<std::int16_t>(round == 0 ? INT16_MIN : random());
    const std::uint32_t truth = count_reference(photons.data(), pixels, threshold);
    for_each_backend([&](const char* backend, auto count_with) {
      EXPECT_EQ(count_with(photons.data(), pixels, threshold), truth) << backend;
    });
  }
}

TEST(BraggCount, images_between_the_limits_are_kept) {
  const Config config{5, 10, 20};
  EXPECT_EQ(decide(config, 9), VetoReason::too_few);
  EXPECT_EQ(decide(config, 10), VetoReason::none);
  EXPECT_EQ(decide(config, 20), VetoReason::none);
  EXPECT_EQ(decide(config, 21), VetoReason::too_many);
}

TEST(BraggCount, limits_that_keep_nothing_are_refused) {
  EXPECT_NO_THROW(check({5, 10, 10}));
  EXPECT_THROW(check({5, 11, 10}), ConfigError);
}

}  // namespace
}  // namespace rashpa::kernel::bragg_count
