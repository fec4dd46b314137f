// SPDX-License-Identifier: Apache-2.0
/// The unit on a device: the contract of all units with every trigger, and against the unit on processor cores. Run by
/// `make test-device`.
#include "rashpa/unit/cuda/cuda_unit.hpp"

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstring>

#include "rashpa/core/error.hpp"
#include "rashpa/core/frame/frame_record.hpp"
#include "rashpa/kernel/accumulate/accumulate.hpp"
#include "rashpa/kernel/azimuthal/testing.hpp"
#include "rashpa/kernel/bragg_count/bragg_count.hpp"
#include "rashpa/kernel/csr/csr.hpp"
#include "rashpa/kernel/jungfrau/testing/synthetic.hpp"
#include "rashpa/kernel/veto/veto.hpp"
#include "rashpa/memory/buffer.hpp"
#include "rashpa/unit/stack_ring.hpp"
#include "rashpa/unit/unit_contract.hpp"

namespace rashpa::unit {
namespace {

namespace jungfrau = kernel::jungfrau;
namespace bragg_count = kernel::bragg_count;
namespace csr = kernel::csr;
using jungfrau::Output;

constexpr std::uint32_t kWidth = 129;
constexpr std::uint32_t kHeight = 101;
constexpr std::size_t kPixels = std::size_t{kWidth} * kHeight;

jungfrau::Config calibration(Output output) { return jungfrau::synthetic::config(kWidth, kHeight, output, 1, 0.01); }

Pipeline dense(Output output = Output::photons) { return {{calibration(output)}, PartialPolicy::keep, false}; }
Pipeline vetoing() {
  return {{calibration(Output::photons), bragg_count::Config{10, 100, 100'000}}, PartialPolicy::keep, false};
}
Pipeline sparse(double capacity = 0.2) {
  return {{calibration(Output::photons), bragg_count::Config{10, 100, 100'000}, csr::Config{2, capacity}},
          PartialPolicy::keep,
          false};
}
/// Profiles, summed over windows of ten images, in front of a veto.
Pipeline integrating() {
  kernel::azimuthal::Config rings =
      kernel::azimuthal::test_rings({kWidth, kHeight}, 20, kernel::azimuthal::Errors::poisson, false, false);
  rings.added = kernel::azimuthal::Added::reached;
  rings.window = 10;
  return {{calibration(Output::photons), rings, bragg_count::Config{10, 100, 100'000}}, PartialPolicy::keep, false};
}

/// Images that a veto has kept, added up on the device; `window` images, or the run.
Pipeline accumulating(std::int64_t window) {
  return {{calibration(Output::photons), bragg_count::Config{10, 100, 100'000},
           kernel::accumulate::Config{.variance = true, .window = window}},
          PartialPolicy::keep,
          false};
}
/// All images, before they are refused: on the device, and profiles of them on the host.
Pipeline accumulating_twice() {
  Pipeline pipeline = integrating();
  const kernel::accumulate::Config all{.window = 20, .images = kernel::accumulate::Images::reached};
  pipeline.kernels.insert(pipeline.kernels.begin() + 1, all);
  return pipeline;
}

/// A ring of stacks with frames of a seed.
struct Ring : StackRing {
  Ring(std::uint32_t stack, std::uint32_t stacks)
      : StackRing(kWidth, kHeight, stack, stacks, memory::MemoryKind::pageable) {
    fill(0);
  }
  void fill(std::uint64_t seed) {
    const auto config = calibration(Output::photons);
    for (Stack& stack : all) {
      for (StackImage& image : stack.view()) {
        const auto frame = jungfrau::synthetic::frame(config, seed % 2 == 0 ? 0.03 : 0.0, seed + 1);
        ++seed;
        std::memcpy(image.raw, frame.data(), kPixels * 2);
      }
    }
  }
};

Stack* wait(Unit& unit, Doorbell& bell) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (std::chrono::steady_clock::now() < deadline) {
    const std::uint32_t seen = bell.count();
    if (Stack* stack = unit.take()) return stack;
    bell.wait(seen, std::chrono::milliseconds(1));
  }
  return nullptr;
}

void expect_same(const StackImage& found, const StackImage& truth, std::size_t pixel_size) {
  EXPECT_EQ(found.decision, truth.decision);
  EXPECT_EQ(found.reason, truth.reason);
  EXPECT_EQ(found.measured, truth.measured);
  for (std::size_t column = 0; column < found.scalars.size(); ++column) {
    if (found.scalars[column] == truth.scalars[column]) continue;
    EXPECT_DOUBLE_EQ(found.scalars[column].real(), truth.scalars[column].real()) << column;
  }
  ASSERT_EQ(found.sparse.count, truth.sparse.count);
  if (truth.sparse.count != 0) {
    EXPECT_EQ(std::memcmp(found.sparse.index, truth.sparse.index, truth.sparse.count * sizeof(std::uint32_t)), 0);
    EXPECT_EQ(std::memcmp(found.sparse.value, truth.sparse.value, truth.sparse.count * pixel_size), 0);
  }
  ASSERT_EQ(found.pixels == nullptr, truth.pixels == nullptr);
  if (truth.pixels == nullptr) return;
  EXPECT_EQ(std::memcmp(found.pixels, truth.pixels, kPixels * pixel_size), 0);
}

/// Numbers that are sums of a different order.
void expect_near(const double* found, const double* truth, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    if (std::isnan(truth[i])) {
      EXPECT_TRUE(std::isnan(found[i])) << i;
    } else {
      EXPECT_NEAR(found[i], truth[i], 1e-9 * std::abs(truth[i])) << i;
    }
  }
}

/// Profiles and windows.
void expect_same_sums(const Results& results, const Stack& found, const Stack& truth) {
  for (std::uint32_t i = 0; i < truth.count; ++i) {
    for (std::size_t p = 0; p < results.profiles.size(); ++p) {
      const double* const values = truth.images[i].profiles[p].values;
      ASSERT_EQ(found.images[i].profiles[p].values == nullptr, values == nullptr) << i;
      if (values == nullptr) continue;
      expect_near(found.images[i].profiles[p].values, values,
                  results.profiles[p].bins() * results.profiles[p].arrays.size());
    }
  }
  for (std::size_t a = 0; a < results.accumulations.size(); ++a) {
    ASSERT_EQ(found.accumulated[a].ended(), truth.accumulated[a].ended());
    EXPECT_EQ(found.accumulated[a].images, truth.accumulated[a].images);
    EXPECT_EQ(found.accumulated[a].window, truth.accumulated[a].window);
    EXPECT_EQ(found.accumulated[a].end, truth.accumulated[a].end);
    for (std::size_t q = 0; q < results.accumulations[a].quantities.size() && truth.accumulated[a].ended(); ++q) {
      if (const Quantity::Type type = results.accumulations[a].quantities[q].type; type != Quantity::Type::f64) {
        EXPECT_EQ(std::memcmp(found.accumulated[a].values[q], truth.accumulated[a].values[q],
                              results.accumulations[a].elements() * bytes_of(type)),
                  0)
            << results.accumulations[a].quantities[q].name;
        continue;
      }
      expect_near(reinterpret_cast<const double*>(found.accumulated[a].values[q]),
                  reinterpret_cast<const double*>(truth.accumulated[a].values[q]), results.accumulations[a].elements());
    }
  }
}

Contestant contestant(Trigger trigger) {
  return {.name = std::string(name_of(trigger)),
          .choice = {.kind = Kind::cuda, .trigger = trigger},
          .resident = trigger == Trigger::persistent};
}

INSTANTIATE_TEST_SUITE_P(Cuda, UnitContract,
                         testing::Values(contestant(Trigger::launch), contestant(Trigger::graph),
                                         contestant(Trigger::stream), contestant(Trigger::persistent)),
                         [](const auto& one) { return one.param.name; });

/// All devices of the machine; where there is one, it twice: two units, each with its streams and memory.
std::string several_devices() {
  std::string all = "0";
  const std::size_t count = cuda::devices().size();
  for (std::size_t device = 1; device < count; ++device) all.append(",").append(std::to_string(device));
  return count < 2 ? "0,0" : all;
}
INSTANTIATE_TEST_SUITE_P(
    SeveralDevices, UnitContract,
    testing::Values(Contestant{.name = "dealt_launch",
                               .choice = {.kind = Kind::cuda, .device = several_devices(), .trigger = Trigger::launch}},
                    Contestant{.name = "dealt", .choice = {.kind = Kind::cuda, .device = several_devices()}}),
    [](const auto& one) { return one.param.name; });

class CudaUnits : public testing::TestWithParam<Trigger> {
 protected:
  [[nodiscard]] static Choice choice() { return {.kind = Kind::cuda, .trigger = GetParam()}; }

  /// Runs all stacks through a device's unit and a processor's, and compares everything.
  static void compare(const Pipeline& pipeline, std::uint32_t stack, std::uint32_t stacks, int rounds,
                      bool some_accepted = true) {
    Ring ring(stack, stacks);
    Ring truth(stack, stacks);
    Doorbell bell;
    Doorbell truth_bell;
    const auto unit = make_unit(choice(), pipeline, ring.layout, bell);
    const auto cpu = make_unit({}, pipeline, truth.layout, truth_bell);
    std::uint64_t accepted = 0;
    for (int round = 0; round < rounds; ++round) {
      for (Ring* each : {&ring, &truth}) {
        each->fill(static_cast<std::uint64_t>(round) * 1000);
        each->all[0].images[0].flags = FrameRecord::dark;
        if (stack > 2) each->all[0].images[2].completeness = Completeness::missing;
        for (Stack& one : each->all) one.number = std::uint64_t(round) * stacks + one.slot;
      }
      for (Stack& each : ring.all) unit->submit(&each);
      for (Stack& each : truth.all) cpu->submit(&each);
      for (std::uint32_t s = 0; s < stacks; ++s) {
        ASSERT_EQ(wait(*unit, bell), &ring.all[s]) << "results come back in order; " << unit->error();
        ASSERT_EQ(wait(*cpu, truth_bell), &truth.all[s]);
        expect_same_sums(unit->output().results, ring.all[s], truth.all[s]);
        for (std::uint32_t i = 0; i < stack; ++i) {
          SCOPED_TRACE(testing::Message() << "round " << round << " stack " << s << " image " << i);
          expect_same(ring.all[s].images[i], truth.all[s].images[i], pixel_bytes(unit->output().pixel));
          accepted += ring.all[s].images[i].decision == Decision::accepted ? 1 : 0;
        }
      }
    }
    Stack open, open_truth;
    open.accumulated = concluded(*unit);
    open_truth.accumulated = concluded(*cpu);
    expect_same_sums(unit->output().results, open, open_truth);
    EXPECT_EQ(accepted > 0, some_accepted);
    EXPECT_EQ(unit->error(), "");
  }
};

TEST_P(CudaUnits, photons_are_those_of_the_processor) { compare(dense(), 5, 4, 3); }
TEST_P(CudaUnits, kev_are_those_of_the_processor) { compare(dense(Output::kev), 3, 3, 2); }
TEST_P(CudaUnits, verdicts_are_those_of_the_processor) { compare(vetoing(), 5, 4, 5); }
TEST_P(CudaUnits, one_image_a_stack) { compare(vetoing(), 1, 7, 20); }
TEST_P(CudaUnits, two_stacks_in_the_ring) { compare(vetoing(), 4, 2, 10); }

TEST_P(CudaUnits, lists_are_those_of_the_processor) {
  compare(sparse(), 5, 4, 3);
  compare(sparse(0.0005), 4, 3, 2, false);  // no list fits: errored on both
}

TEST_P(CudaUnits, profiles_and_their_sums_are_those_of_the_processor) {
  if (GetParam() == Trigger::persistent) {
    Ring ring(5, 2);
    Doorbell bell;
    EXPECT_THROW(make_unit(choice(), integrating(), ring.layout, bell), ConfigError);
  } else {
    compare(integrating(), 5, 4, 3);
    compare(integrating(), 1, 6, 20);
  }
}

TEST_P(CudaUnits, accumulated_images_are_those_of_the_processor) {
  if (GetParam() == Trigger::persistent) {
    Ring ring(5, 2);
    Doorbell bell;
    EXPECT_THROW(make_unit(choice(), accumulating(0), ring.layout, bell), ConfigError);
    return;
  }
  compare(accumulating(0), 5, 4, 3);
  compare(accumulating(5), 5, 4, 4);
  compare(accumulating(15), 5, 7, 6);
  compare(accumulating(6), 1, 8, 25);
  compare(accumulating_twice(), 5, 3, 7);
  compare({{kernel::accumulate::Config{.window = 8}}, PartialPolicy::keep, true}, 2, 5, 9);
}

TEST_P(CudaUnits, stopped_in_any_state_it_ends_and_gives_everything_back) {
  Ring ring(3, 4);
  for (int round = 0; round < 60; ++round) {
    Doorbell bell;
    // Additions wait for the stack before.
    const bool in_turn = round % 2 == 1 && GetParam() != Trigger::persistent;
    const auto unit = make_unit(choice(), in_turn ? accumulating(3) : vetoing(), ring.layout, bell);
    const auto submitted = static_cast<std::size_t>(round % 5);
    for (std::size_t s = 0; s < submitted; ++s) unit->submit(&ring.all[s]);
    if (round % 3 == 0 && submitted != 0) {
      ASSERT_NE(wait(*unit, bell), nullptr);
    }
    const auto start = std::chrono::steady_clock::now();
    unit->stop();
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(1));
    std::size_t back = round % 3 == 0 && submitted != 0 ? 1 : 0;
    while (unit->take() != nullptr) ++back;
    EXPECT_EQ(back, submitted);
    EXPECT_EQ(unit->error(), "");
    // A stack after the end is errored, not lost.
    if (submitted == 0) {
      unit->submit(&ring.all[0]);
      EXPECT_EQ(ring.all[0].images[1].decision, Decision::errored);
    }
  }
}

TEST_P(CudaUnits, a_thousand_starts_and_stops_leave_the_device_as_it_was) {
  Ring ring(2, 3);
  std::size_t before = 0;
  std::size_t after = 0;
  std::size_t total = 0;
  for (int round = 0; round < 1000; ++round) {
    {
      Doorbell bell;
      const auto unit = make_unit(choice(), vetoing(), ring.layout, bell);
      unit->submit(&ring.all[0]);
      if (round % 2 == 0) {
        ASSERT_NE(wait(*unit, bell), nullptr);
      }
    }
    // The first rounds leave what the runtime keeps for itself.
    if (round == 20) {
      ASSERT_EQ(cudaMemGetInfo(&before, &total), cudaSuccess);
    }
  }
  ASSERT_EQ(cudaMemGetInfo(&after, &total), cudaSuccess);
  EXPECT_EQ(after, before);
}

TEST_P(CudaUnits, two_units_share_a_device) {
  Ring left(2, 3);
  Ring right(2, 3);
  Doorbell bells[2];
  const auto one = make_unit(choice(), vetoing(), left.layout, bells[0]);
  const auto two = make_unit(choice(), dense(), right.layout, bells[1]);
  for (int round = 0; round < 50; ++round) {
    for (std::size_t s = 0; s < 3; ++s) {
      one->submit(&left.all[s]);
      two->submit(&right.all[s]);
    }
    for (std::size_t s = 0; s < 3; ++s) {
      ASSERT_EQ(wait(*one, bells[0]), &left.all[s]);
      ASSERT_EQ(wait(*two, bells[1]), &right.all[s]);
    }
  }
  one->stop();
  two->stop();
}

INSTANTIATE_TEST_SUITE_P(Triggers, CudaUnits,
                         testing::Values(Trigger::launch, Trigger::graph, Trigger::stream, Trigger::persistent),
                         [](const auto& trigger) { return std::string(name_of(trigger.param)); });

TEST(CudaUnit, what_does_not_fit_is_refused_with_what_to_do) {
  Ring ring(2, 3);
  Doorbell bell;
  const auto refusal = [&](const Choice& choice, const Pipeline& pipeline, const Layout& layout) -> std::string {
    try {
      make_unit(choice, pipeline, layout, bell);
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_NE(refusal({.kind = Kind::cuda}, {}, ring.layout).find("use unit cpu"), std::string::npos);
  EXPECT_NE(refusal({.kind = Kind::cuda, .device = "1000"}, dense(), ring.layout).find("no CUDA device 1000"),
            std::string::npos);
  Layout nowhere = ring.layout;
  nowhere.images = nullptr;
  EXPECT_NE(refusal({.kind = Kind::cuda}, dense(), nowhere).find("images that begin at multiples of"),
            std::string::npos);
  EXPECT_EQ(refusal({.kind = Kind::cuda}, dense(), ring.layout), "accepted");
}

TEST(CudaUnit, a_rule_that_gets_too_long_is_refused_and_changes_nothing) {
  Ring ring(2, 3);
  Doorbell bell;
  const auto rule = [](const std::string& keep) { return kernel::veto::Config{keep, "dull"}; };
  Pipeline pipeline = vetoing();
  pipeline.kernels.emplace_back(rule("bright_pixels < 1e6"));
  const auto unit = make_unit({.kind = Kind::cuda}, pipeline, ring.layout, bell);
  std::string keep = "bright_pixels > 0";
  for (int term = 0; term < 15; ++term) keep += " or bright_pixels > 1";
  EXPECT_EQ(adjust(*unit, 2, rule(keep)), 0U);  // 63 operations and an end
  try {
    adjust(*unit, 2, rule(keep + " or bright_pixels > 1"));
    FAIL() << "taken";
  } catch (const ConfigError& error) {
    EXPECT_STREQ(error.what(),
                 "unit: limits of veto take 1088 bytes, and unit cuda has 1024 for them until the run ends; give a "
                 "shorter rule, or start another run");
  }
}

TEST(CudaUnit, the_trigger_is_chosen_and_the_reason_is_said) {
  Ring ring(2, 3);
  Doorbell bell;
  EXPECT_NE(make_unit({.kind = Kind::cuda}, dense(), ring.layout, bell)->how().find("persistent"), std::string::npos);
  EXPECT_NE(make_unit({.kind = Kind::cuda}, sparse(), ring.layout, bell)->how().find("persistent"), std::string::npos);
  const std::string how = make_unit({.kind = Kind::cuda}, accumulating(0), ring.layout, bell)->how();
  EXPECT_NE(how.find("graph"), std::string::npos) << how;
  EXPECT_NE(how.find("accumulate needs a pass of its own"), std::string::npos) << how;
}

}  // namespace
}  // namespace rashpa::unit
