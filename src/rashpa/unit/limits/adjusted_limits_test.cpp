// SPDX-License-Identifier: Apache-2.0
/// Limits of vetoes that change while stacks go through the unit on processors: the limits that its stack had at its
/// start decide each image.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "rashpa/core/error.hpp"
#include "rashpa/kernel/bragg_count/bragg_count.hpp"
#include "rashpa/kernel/jungfrau/testing/synthetic.hpp"
#include "rashpa/kernel/total_counts/total_counts.hpp"
#include "rashpa/kernel/veto/veto.hpp"
#include "rashpa/unit/factory.hpp"
#include "rashpa/unit/stack_ring.hpp"

namespace rashpa::unit {
namespace {

constexpr std::uint32_t kWidth = 64;
constexpr std::uint32_t kHeight = 8;
constexpr std::uint32_t kStack = 3;
constexpr std::uint32_t kStacks = 6;

namespace bragg = kernel::bragg_count;
namespace totals = kernel::total_counts;

/// Image i of the run has i bright pixels of 100, and nothing else.
struct Played {
  Played() : ring(kWidth, kHeight, kStack, kStacks, memory::MemoryKind::pageable) {
    for (std::uint32_t s = 0; s < kStacks; ++s) {
      ring.all[s].number = s;
      for (std::uint32_t i = 0; i < kStack; ++i) {
        std::vector<std::uint16_t> pixels(std::size_t{kWidth} * kHeight);
        std::fill_n(pixels.begin(), s * kStack + i, std::uint16_t{100});
        std::memcpy(ring.all[s].images[i].raw, pixels.data(), pixels.size() * 2);
      }
    }
  }
  void through(Unit& unit, std::uint32_t first, std::uint32_t last) {
    for (std::uint32_t s = first; s < last; ++s) {
      unit.submit(&ring.all[s]);
      while (unit.take() == nullptr) {
      }
    }
  }
  /// `kept(stack, bright)`: the oracle.
  void expect(const std::function<bool(std::uint32_t, std::uint32_t)>& kept) {
    for (std::uint32_t s = 0; s < kStacks; ++s) {
      for (std::uint32_t i = 0; i < kStack; ++i) {
        const Decision wanted = kept(s, s * kStack + i) ? Decision::accepted : Decision::vetoed;
        EXPECT_EQ(ring.all[s].images[i].decision, wanted) << "stack " << s << " image " << i;
      }
    }
  }
  StackRing ring;
};

class AdjustedLimits : public testing::TestWithParam<unsigned> {
 protected:
  std::unique_ptr<Unit> make(const Pipeline& pipeline) {
    return make_unit({.cores = {GetParam(), -1}}, pipeline, run.ring.layout, bell);
  }
  Played run;
  Doorbell bell;
};
INSTANTIATE_TEST_SUITE_P(Threads, AdjustedLimits, testing::Values(1U, 3U));

TEST_P(AdjustedLimits, a_count_has_others_from_a_stacks_border_on) {
  const auto unit = make({.kernels = {bragg::Config{50, 2, 1000}}});
  run.through(*unit, 0, 2);
  EXPECT_EQ(adjust(*unit, 0, bragg::Config{50, 9, 10}), 2U);
  run.through(*unit, 2, 4);
  EXPECT_EQ(adjust(*unit, 0, bragg::Config{50, 0, 16}), 4U);
  run.through(*unit, 4, kStacks);
  run.expect([](std::uint32_t stack, std::uint32_t bright) {
    if (stack < 2) return bright >= 2;
    return stack < 4 ? bright >= 9 && bright <= 10 : bright <= 16;
  });
}

TEST_P(AdjustedLimits, sums_and_rules_change_and_the_last_of_two_orders_holds) {
  const auto rule = [](const std::string& keep) { return kernel::veto::Config{keep, "dull"}; };
  const auto unit = make({.kernels = {totals::Config{}, rule("total_counts >= 100")}});
  run.through(*unit, 0, 1);
  EXPECT_EQ(adjust(*unit, 1, rule("total_counts >= 900")), 1U);
  EXPECT_EQ(adjust(*unit, 1, rule("total_counts != 400 and total_counts < 5000")), 1U);
  EXPECT_EQ(adjust(*unit, 0, totals::Config{.max_counts = 1500}), 1U);
  run.through(*unit, 1, kStacks);
  run.expect(
      [](std::uint32_t stack, std::uint32_t bright) { return stack < 1 ? bright >= 1 : bright != 4 && bright <= 15; });
}

TEST_P(AdjustedLimits, a_count_that_rides_on_a_conversion_changes_too) {
  namespace jungfrau = kernel::jungfrau;
  const auto config = jungfrau::synthetic::config(kWidth, kHeight, jungfrau::Output::photons, 1);
  for (std::uint32_t s = 0; s < kStacks; ++s) {
    for (std::uint32_t i = 0; i < kStack; ++i) {
      std::vector<std::uint16_t> words(std::size_t{kWidth} * kHeight);
      for (std::size_t p = 0; p < words.size(); ++p) {
        words[p] = jungfrau::synthetic::word_of(p < s * kStack + i ? 20 : 0, config, p, 0);
      }
      std::memcpy(run.ring.all[s].images[i].raw, words.data(), words.size() * 2);
    }
  }
  const auto unit = make({.kernels = {config, bragg::Config{10, 1, 1000}}});
  ASSERT_NE(unit->how().find("counted on the way"), std::string::npos);
  run.through(*unit, 0, 3);
  EXPECT_EQ(adjust(*unit, 1, bragg::Config{10, 14, 1000}), 3U);
  run.through(*unit, 3, kStacks);
  const auto bright = [&](std::uint32_t s, std::uint32_t i) { return run.ring.all[s].images[i].scalars[2].count(); };
  for (std::uint32_t s = 0; s < kStacks; ++s) {
    for (std::uint32_t i = 0; i < kStack; ++i) {
      const bool kept = bright(s, i) >= (s < 3 ? 1U : 14U);
      EXPECT_EQ(run.ring.all[s].images[i].decision, kept ? Decision::accepted : Decision::vetoed) << s << " " << i;
    }
  }
  EXPECT_THROW(adjust(*unit, 1, bragg::Config{11, 14, 1000}), ConfigError);  // the conversion counts for it
  EXPECT_THROW(adjust(*unit, 0, config), ConfigError);                       // it vetoes nothing
}

TEST_P(AdjustedLimits, what_does_not_fit_is_refused_in_words_and_changes_nothing) {
  const auto unit = make({.kernels = {totals::Config{}, kernel::veto::Config{"total_counts >= 100", "dull"}}});
  const auto refusal = [&](std::size_t step, const kernel::StepOf& with) -> std::string {
    try {
      adjust(*unit, step, with);
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "none";
  };
  EXPECT_EQ(refusal(1, kernel::veto::Config{"n_peaks > 1", "dull"}),
            "kernel veto: keep: no step before it makes the column n_peaks; there are total_counts, masked_in_total");
  EXPECT_EQ(refusal(1, kernel::veto::Config{"total_counts > 1", "other"}),
            "unit: step 1 is veto, and gets limits from veto; name the same kernel and reason");
  EXPECT_EQ(refusal(0, bragg::Config{1, 2, 3}),
            "unit: step 0 is total_counts, and gets limits from bragg_count; name the same kernel and reason");
  EXPECT_EQ(refusal(2, totals::Config{}), "unit: there is no step 2; give one below 2");
  run.through(*unit, 0, kStacks);
  run.expect([](std::uint32_t, std::uint32_t bright) { return bright >= 1; });
}

/// A unit without the ability.
class Fixed final : public Unit {
 public:
  void submit(Stack*) noexcept override {}
  Stack* take() noexcept override { return nullptr; }
  void stop() noexcept override {}
  [[nodiscard]] const Output& output() const noexcept override { return output_; }
  [[nodiscard]] std::string how() const override { return "a card"; }
  [[nodiscard]] std::optional<Busy> busy() const override { return {}; }

 private:
  Output output_;
};

TEST(FixedLimits, a_unit_that_cannot_change_them_says_so) {
  Fixed unit;
  try {
    adjust(unit, 0, totals::Config{});
    FAIL() << "nothing was refused";
  } catch (const StateError& error) {
    EXPECT_STREQ(error.what(),
                 "unit: limits of vetoes are fixed from its start on (a card); start another run, or use one of the "
                 "units cpu, cuda, opencl, fpga");
  }
}

}  // namespace
}  // namespace rashpa::unit
