// SPDX-License-Identifier: Apache-2.0
/// Images split over devices: the contract of all units, and against the unit on processor cores. Devices 0 and 1 where
/// the machine has two, else device 0 twice: two members with streams and memory of their own. Run by `make
/// test-device`.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "rashpa/core/error.hpp"
#include "rashpa/kernel/accumulate/accumulate.hpp"
#include "rashpa/kernel/jungfrau/testing/synthetic.hpp"
#include "rashpa/kernel/roi_stats/roi_stats.hpp"
#include "rashpa/kernel/total_counts/total_counts.hpp"
#include "rashpa/kernel/veto/veto.hpp"
#include "rashpa/unit/contract/pipelines.hpp"
#include "rashpa/unit/cuda/cuda_unit.hpp"
#include "rashpa/unit/cuda/joint/joint.hpp"
#include "rashpa/unit/split/strips.hpp"
#include "rashpa/unit/unit_contract.hpp"

namespace rashpa::unit {
namespace {

namespace jungfrau = kernel::jungfrau;
namespace bragg_count = kernel::bragg_count;
namespace csr = kernel::csr;
using kernel::total_counts::Config;

std::string two_devices() { return cuda::devices().size() < 2 ? "0,0" : "0,1"; }

Choice choice_of(Trigger trigger) {
  return {.kind = Kind::cuda, .device = two_devices(), .share = Share::rows, .trigger = trigger};
}

Contestant contestant(Trigger trigger) { return {.name = std::string(name_of(trigger)), .choice = choice_of(trigger)}; }
INSTANTIATE_TEST_SUITE_P(Split, UnitContract, testing::Values(contestant(Trigger::graph)),
                         [](const auto& one) { return one.param.name; });

TEST(SplitDevices, are_two_or_one_twice) {
  std::cout << "images are split over devices " << two_devices() << "\n";
  Doorbell bell;
  const StackRing ring(contract::kWidth, contract::kHeight, 2, 2, memory::MemoryKind::pageable);
  const auto unit = make_unit(choice_of(Trigger::automatic),
                              {.kernels = {contract::calibration(jungfrau::Output::photons)}}, ring.layout, bell);
  const std::string how = unit->how();
  EXPECT_EQ(how.find("each image on 2 devices: rows 0 … 63, trigger graph on "), 0U) << how;
  EXPECT_NE(how.find("; rows 64 … 100, trigger graph on "), std::string::npos) << how;
  EXPECT_GT(device_bytes_of(*unit), 0U);
}

class SplitPipelines : public testing::TestWithParam<Trigger>, protected contract::Pipelines {
 protected:
  static void expect_as_cpu(const Pipeline& pipeline, std::size_t accepted) {
    const Outcome truth = run({}, pipeline, words(), 7);
    EXPECT_EQ(accepted_of(truth), accepted);
    expect_same(run(choice_of(GetParam()), pipeline, words(), 7), truth);
  }
};

// Of 22 images three are dark and one is missing; of the others, 11 have spots.
TEST_P(SplitPipelines, conversions_are_those_of_the_processor) {
  expect_as_cpu({.kernels = {words()}}, 18);
  expect_as_cpu({.kernels = {words()}, .keep_darks = true}, 21);
  expect_as_cpu({.kernels = {contract::calibration(jungfrau::Output::kev)}}, 18);
}

TEST_P(SplitPipelines, verdicts_are_those_of_the_processor_one_after_the_other) {
  for (const Passes passes : {Passes::fused, Passes::separate}) {
    const Pipeline one{.kernels = {words(), bragg_count::Config{10, 100, 100'000}, csr::Config{2, 1.0}},
                       .passes = passes};
    expect_as_cpu(one, 11);
    const Pipeline several{
        .kernels = {words(), bragg_count::Config{10, 100, 100'000}, Config{.max_masked = 0.5},
                    kernel::veto::Config{"bright_pixels < 100000 and masked_pixels > 0", "odd"}, csr::Config{2, 1.0}},
        .passes = passes};
    expect_as_cpu(several, 11);
  }
}

TEST_P(SplitPipelines, are_triggered_by_graph) {
  StackRing ring(contract::kWidth, contract::kHeight, 3, 4, memory::MemoryKind::pageable);
  Doorbell bell;
  EXPECT_THROW(make_unit(choice_of(Trigger::launch), {{words()}}, ring.layout, bell), ConfigError);
}

TEST_P(SplitPipelines, a_rule_alone_decides_by_numbers_of_the_whole_image) {
  // Half of the masked pixels, or so, are in each strip: the rule would hold for both strips, or for neither.
  const jungfrau::Config calibration = words();
  const Outcome all = run({}, {.kernels = {calibration}}, calibration);
  const std::uint64_t masked = all.images[0].scalars[0].count();
  ASSERT_GT(masked, 10U);
  const auto rule = [&](const std::string& keep) {
    return Pipeline{.kernels = {calibration, kernel::veto::Config{keep, "masked"}}};
  };
  expect_as_cpu(rule("masked_pixels >= " + std::to_string(masked * 3 / 4)), 18);
  expect_as_cpu(rule("masked_pixels < " + std::to_string(masked * 3 / 4)), 0);
}

TEST_P(SplitPipelines, sums_and_lists_of_the_detectors_own_pixels_are_those_of_the_processor) {
  // Raw words are photons of 16 bits, too.
  expect_as_cpu({.kernels = {Config{.min_counts = 1}, csr::Config{3000, 1.0}}}, 18);
  expect_as_cpu({.kernels = {Config{.max_counts = 1}}}, 0);
}

TEST_P(SplitPipelines, a_list_is_full_as_on_the_processor) {
  for (const double capacity : {0.0005, 0.02, 0.025, 0.03, 0.04}) {
    const Pipeline pipeline{.kernels = {words(), csr::Config{2, capacity}}};
    const Outcome truth = run({}, pipeline, words());
    expect_same(run(choice_of(GetParam()), pipeline, words()), truth);
  }
}

TEST_P(SplitPipelines, images_of_many_tiles_are_those_of_the_processor) {
  constexpr std::uint32_t kWide = 1030, kHigh = 1063, kImages = 3, kSlots = 4;
  const auto config = jungfrau::synthetic::config(kWide, kHigh, jungfrau::Output::photons, 3, 0.01);
  const Pipeline pipeline{.kernels = {config, bragg_count::Config{10, 5000, 1'000'000}, csr::Config{2, 0.2}}};
  StackRing ring(kWide, kHigh, kImages, kSlots, memory::MemoryKind::pageable);
  StackRing same(kWide, kHigh, kImages, kSlots, memory::MemoryKind::pageable);
  for (Stack& stack : ring.all) {
    for (std::uint32_t i = 0; i < kImages; ++i) {
      const auto frame = jungfrau::synthetic::frame(config, i == 1 ? 0.0 : 0.02, stack.slot * kImages + i);
      std::memcpy(stack.images[i].raw, frame.data(), frame.size() * 2);
      std::memcpy(same.all[stack.slot].images[i].raw, frame.data(), frame.size() * 2);
    }
  }
  Doorbell bells[2];
  const auto split = make_unit(choice_of(GetParam()), pipeline, ring.layout, bells[0]);
  const auto cpu = make_unit({}, pipeline, same.layout, bells[1]);
  for (Stack& stack : ring.all) split->submit(&stack);
  for (Stack& stack : same.all) cpu->submit(&stack);
  for (std::uint32_t s = 0; s < kSlots; ++s) {
    while (split->take() == nullptr) bells[0].wait(bells[0].count(), std::chrono::milliseconds(1));
    while (cpu->take() == nullptr) bells[1].wait(bells[1].count(), std::chrono::milliseconds(1));
    for (std::uint32_t i = 0; i < kImages; ++i) {
      SCOPED_TRACE(testing::Message() << "stack " << s << " image " << i);
      const StackImage& found = ring.all[s].images[i];
      const StackImage& truth = same.all[s].images[i];
      ASSERT_EQ(found.decision, truth.decision);
      EXPECT_EQ(truth.decision, i == 1 ? Decision::vetoed : Decision::accepted);
      EXPECT_EQ(found.scalars, truth.scalars);
      if (truth.decision != Decision::accepted) continue;
      EXPECT_EQ(std::memcmp(found.pixels, truth.pixels, std::size_t{kWide} * kHigh * 2), 0);
      ASSERT_EQ(found.sparse.count, truth.sparse.count);
      EXPECT_EQ(std::memcmp(found.sparse.index, truth.sparse.index, truth.sparse.count * sizeof(std::uint32_t)), 0);
      EXPECT_EQ(std::memcmp(found.sparse.value, truth.sparse.value, truth.sparse.count * sizeof(std::int16_t)), 0);
    }
  }
  EXPECT_EQ(split->error(), "");
}

TEST_P(SplitPipelines, stopped_in_any_state_it_ends_and_gives_everything_back) {
  const Pipeline pipeline{.kernels = {words(), bragg_count::Config{10, 0, 100'000}}};
  StackRing ring(contract::kWidth, contract::kHeight, 3, 4, memory::MemoryKind::pageable);
  for (std::size_t round = 0; round < 60; ++round) {
    Doorbell bell;
    const auto unit = make_unit(choice_of(GetParam()), pipeline, ring.layout, bell);
    const std::size_t submitted = round % 5;
    for (std::size_t s = 0; s < submitted; ++s) unit->submit(&ring.all[s]);
    const auto start = std::chrono::steady_clock::now();
    unit->stop();
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(1));
    std::size_t back = 0;
    while (unit->take() != nullptr) ++back;
    EXPECT_EQ(back, submitted);
    EXPECT_EQ(unit->error(), "");
  }
}

TEST_P(SplitPipelines, two_units_share_their_devices) {
  const Pipeline pipeline{.kernels = {words(), bragg_count::Config{10, 100, 100'000}}};
  StackRing left(contract::kWidth, contract::kHeight, 2, 3, memory::MemoryKind::pageable);
  StackRing right(contract::kWidth, contract::kHeight, 2, 3, memory::MemoryKind::pageable);
  Doorbell bells[2];
  const auto one = make_unit(choice_of(GetParam()), pipeline, left.layout, bells[0]);
  const auto two = make_unit(choice_of(GetParam()), pipeline, right.layout, bells[1]);
  const auto take = [](Unit& unit, Doorbell& bell) {
    Stack* stack = nullptr;
    while ((stack = unit.take()) == nullptr && unit.error().empty()) {
      bell.wait(bell.count(), std::chrono::milliseconds(1));
    }
    return stack;
  };
  for (int round = 0; round < 50; ++round) {
    for (std::size_t s = 0; s < 3; ++s) {
      one->submit(&left.all[s]);
      two->submit(&right.all[s]);
    }
    for (std::size_t s = 0; s < 3; ++s) {
      ASSERT_EQ(take(*one, bells[0]), &left.all[s]) << one->error();
      ASSERT_EQ(take(*two, bells[1]), &right.all[s]) << two->error();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Triggers, SplitPipelines, testing::Values(Trigger::automatic, Trigger::graph),
                         [](const auto& trigger) { return std::string(name_of(trigger.param)); });

TEST(SplitUnits, a_member_gives_back_what_comes_when_nobody_waits_any_more) {
  const Pipeline whole{.kernels = {contract::calibration(jungfrau::Output::photons)}};
  StackRing ring(contract::kWidth, contract::kHeight, 2, 2, memory::MemoryKind::pageable);
  const kernel::Rows rows = strips_of(ring.layout, 2).front();
  const StripPipeline part = cut(whole, ring.layout, rows);
  const Layout layout = strip_of(ring.layout, rows);
  const auto joint = std::make_shared<cuda::Joint>(ring.layout, steps_of(whole, ring.layout).output,
                                                   meetings_of(steps_of(part.pipeline, layout), part.bounds), 2);
  Doorbell bell;
  cuda::CudaUnit unit({.kind = Kind::cuda, .device = "0", .trigger = Trigger::graph}, part.pipeline, layout, bell,
                      cuda::Seat{joint, 0, 0});
  // The second member never comes: the first stack is on the device, and waits, when it is over.
  unit.submit(&ring.all[0]);
  joint->end();
  unit.submit(&ring.all[1]);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  for (Stack& stack : ring.all) {
    Stack* back = nullptr;
    while ((back = unit.take()) == nullptr && std::chrono::steady_clock::now() < end) {
      bell.wait(bell.count(), std::chrono::milliseconds(1));
    }
    ASSERT_EQ(back, &stack);
    for (const StackImage& image : stack.view()) EXPECT_EQ(image.decision, Decision::errored);
  }
}

TEST(SplitUnits, what_needs_images_in_one_piece_is_refused_with_what_to_do) {
  const StackRing ring(contract::kWidth, contract::kHeight, 2, 3, memory::MemoryKind::pageable);
  Doorbell bell;
  const auto refusal = [&](const Choice& choice, const std::vector<kernel::StepOf>& kernels,
                           const Layout& layout) -> std::string {
    try {
      make_unit(choice, {.kernels = kernels}, layout, bell);
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "accepted";
  };
  const Choice choice = choice_of(Trigger::automatic);
  const auto photons = contract::calibration(jungfrau::Output::photons);
  const auto expect = [](const std::string& text, const char* part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  expect(refusal(choice, {photons, kernel::roi_stats::Config{"all=0,0,129,101"}}, ring.layout),
         "the kernel roi_stats as it is set needs images in one piece; deal stacks");
  expect(refusal(choice, {photons, kernel::accumulate::Config{}}, ring.layout), "the kernel accumulate");
  expect(refusal(choice_of(Trigger::stream), {photons}, ring.layout), "triggered by graph, not by stream");
  expect(refusal(choice_of(Trigger::persistent), {photons}, ring.layout), "set trigger graph");
  expect(refusal(choice, {}, ring.layout), "use unit cpu");
  Layout nowhere = ring.layout;
  nowhere.images = nullptr;
  expect(refusal(choice, {photons}, nowhere), "images that begin at multiples of");
  Choice three = choice;
  three.device = "0,0,0";
  expect(refusal(three, {photons}, ring.layout), "makes 2 strips of 64 rows at most, not 3");
  Choice nothing = choice;
  nothing.device = "0,1000";
  expect(refusal(nothing, {photons}, ring.layout), "no CUDA device 1000");
}

}  // namespace
}  // namespace rashpa::unit
