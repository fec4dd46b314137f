// SPDX-License-Identifier: Apache-2.0
/// The resident kernel with images of one block and of several, against the unit on processor cores. Run by
/// `make test-device`.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "rashpa/kernel/bragg_count/bragg_count.hpp"
#include "rashpa/kernel/csr/csr.hpp"
#include "rashpa/kernel/jungfrau/testing/synthetic.hpp"
#include "rashpa/kernel/peakfinder8/peakfinder8.hpp"
#include "rashpa/kernel/testing/device_testing.hpp"
#include "rashpa/kernel/veto/veto.hpp"
#include "rashpa/unit/factory.hpp"
#include "rashpa/unit/stack_ring.hpp"

namespace rashpa::unit {
namespace {

namespace jungfrau = kernel::jungfrau;
namespace bragg_count = kernel::bragg_count;
namespace csr = kernel::csr;
namespace veto = kernel::veto;
using jungfrau::Output;

/// A size of image, and how many a stack has.
struct Size {
  std::uint32_t width, height, stack;
  [[nodiscard]] kernel::Shape shape() const { return {width, height}; }
};
// One block: up to 4096 pixels, up to eight tiles of 2048 a stack. Several: more; the last ones more than a tile each.
constexpr Size kSizes[] = {{64, 64, 1}, {64, 64, 2},  {40, 30, 3},   {61, 67, 4},   {37, 100, 2},
                           {64, 64, 5}, {40, 30, 32}, {129, 101, 1}, {256, 200, 3}, {701, 523, 2}};

struct Ring : StackRing {
  Ring(const Size& size, std::uint32_t stacks)
      : StackRing(size.width, size.height, size.stack, stacks, memory::MemoryKind::pageable) {}
  void fill(const jungfrau::Config& config, std::uint64_t seed) {
    for (Stack& stack : all) {
      for (StackImage& image : stack.view()) {
        const auto frame = jungfrau::synthetic::frame(config, seed % 3 == 0 ? 0.0 : 0.03, seed + 1);
        ++seed;
        std::memcpy(image.raw, frame.data(), frame.size() * 2);
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

void expect_same(const StackImage& found, const StackImage& truth, const Output& output, std::size_t pixels) {
  const std::size_t pixel_size = output == Output::kev ? sizeof(float) : sizeof(std::int16_t);
  ASSERT_EQ(found.decision, truth.decision);
  EXPECT_EQ(found.reason, truth.reason);
  EXPECT_EQ(found.failed_in, truth.failed_in);
  EXPECT_EQ(found.measured, truth.measured);
  // Of too many peaks a device does not add up any.
  const auto columns = truth.decision == Decision::errored ? 3 : std::ssize(truth.scalars);
  EXPECT_TRUE(std::equal(truth.scalars.begin(), truth.scalars.begin() + columns, found.scalars.begin()));
  ASSERT_EQ(found.sparse.count, truth.sparse.count);
  if (truth.sparse.count != 0) {
    EXPECT_EQ(std::memcmp(found.sparse.index, truth.sparse.index, truth.sparse.count * sizeof(std::uint32_t)), 0);
    EXPECT_EQ(std::memcmp(found.sparse.value, truth.sparse.value, truth.sparse.count * pixel_size), 0);
  }
  ASSERT_EQ(found.pixels == nullptr, truth.pixels == nullptr);
  if (truth.pixels != nullptr) {
    EXPECT_EQ(std::memcmp(found.pixels, truth.pixels, pixels * pixel_size), 0);
  }
}

void expect_same(const TableView& found, const TableView& truth, std::size_t columns) {
  ASSERT_EQ(found.rows, truth.rows);
  for (std::size_t v = 0; v < truth.rows * columns; ++v) EXPECT_EQ(found.values[v], truth.values[v]) << v;
}

struct Tally {
  std::size_t accepted = 0, vetoed = 0, errored = 0, entries = 0, rows = 0;
};

/// Everything that the unit says of some images, against what unit cpu says of the same.
Tally expect_as_cpu(const Size& size, const Output& output, const Pipeline& pipeline, const jungfrau::Config& config,
                    int rounds = 3) {
  constexpr std::uint32_t kStacks = 3;
  SCOPED_TRACE(testing::Message() << size.width << " x " << size.height << ", stacks of " << size.stack);
  Ring ring(size, kStacks);
  Ring same(size, kStacks);
  Doorbell bell;
  Doorbell same_bell;
  const auto unit = make_unit({.kind = Kind::cuda, .trigger = Trigger::persistent}, pipeline, ring.layout, bell);
  const auto cpu = make_unit({}, pipeline, same.layout, same_bell);
  Tally tally;
  for (int round = 0; round < rounds; ++round) {
    for (Ring* each : {&ring, &same}) {
      each->fill(config, kernel::test_seed() + static_cast<std::uint64_t>(round) * 1000);
      if (size.stack > 1) each->all[1].images[1].completeness = Completeness::missing;
    }
    for (Stack& stack : ring.all) unit->submit(&stack);
    for (Stack& stack : same.all) cpu->submit(&stack);
    for (std::uint32_t s = 0; s < kStacks; ++s) {
      if (wait(*unit, bell) != &ring.all[s] || wait(*cpu, same_bell) != &same.all[s]) {
        ADD_FAILURE() << "stack " << s << " has not come back in its turn; " << unit->error();
        return tally;
      }
      for (std::uint32_t i = 0; i < size.stack; ++i) {
        SCOPED_TRACE(testing::Message() << "round " << round << " stack " << s << " image " << i);
        const StackImage& image = ring.all[s].images[i];
        expect_same(image, same.all[s].images[i], output, size.shape().pixels());
        for (std::size_t t = 0; t < unit->output().results.tables.size(); ++t) {
          const TableView& truth = same.all[s].images[i].tables[t];
          expect_same(image.tables[t], truth, unit->output().results.tables[t].columns.size());
          tally.rows += truth.rows;
        }
        tally.accepted += image.decision == Decision::accepted ? 1 : 0;
        tally.vetoed += image.decision == Decision::vetoed ? 1 : 0;
        tally.errored += image.decision == Decision::errored ? 1 : 0;
        tally.entries += image.sparse.count;
      }
    }
  }
  EXPECT_EQ(unit->error(), "");
  EXPECT_NE(unit->how().find("persistent"), std::string::npos);
  return tally;
}

jungfrau::Config calibration(const Size& size, Output output = Output::photons) {
  return jungfrau::synthetic::config(size.width, size.height, output, 1, 0.01);
}
/// Keeps images with spots.
bragg_count::Config some_bright(const Size& size) {
  return {10, static_cast<std::uint32_t>(size.shape().pixels() / 200), 1'000'000};
}

TEST(Resident, pixels_and_numbers_are_those_of_the_processor) {
  for (const Size& size : kSizes) {
    for (const Output output : {Output::photons, Output::kev}) {
      const auto config = calibration(size, output);
      expect_as_cpu(size, output, {{config}}, calibration(size));
    }
  }
}

TEST(Resident, verdicts_and_lists_are_those_of_the_processor) {
  for (const Size& size : kSizes) {
    const auto config = calibration(size);
    for (const Delivery delivery : {Delivery::everything, Delivery::list_in_place}) {
      for (const std::int32_t threshold : {1, 8}) {
        Pipeline pipeline{{config, some_bright(size), csr::Config{threshold, 1.0}}};
        pipeline.delivery = delivery;
        const Tally tally = expect_as_cpu(size, Output::photons, pipeline, config);
        EXPECT_GT(tally.accepted, 0U);
        EXPECT_GT(tally.vetoed, 0U);
        EXPECT_GT(tally.entries, 0U);
      }
    }
    const Tally all = expect_as_cpu(size, Output::photons, {{config, csr::Config{2, 1.0}}}, config);
    EXPECT_EQ(all.vetoed, 0U);
  }
}

TEST(Resident, a_list_without_room_is_an_error_of_its_image) {
  for (const Size& size : kSizes) {
    const auto config = calibration(size);
    const Tally tally =
        expect_as_cpu(size, Output::photons, {{config, some_bright(size), csr::Config{2, 0.0005}}}, config);
    EXPECT_GT(tally.errored, 0U);
    EXPECT_EQ(tally.accepted, 0U);
  }
}

TEST(Resident, rules_say_what_they_say_on_the_processor) {
  for (const Size& size : kSizes) {
    const auto config = calibration(size);
    const std::string least = std::to_string(size.shape().pixels() / 200);
    const Pipeline pipeline{
        {config, bragg_count::Config{10, 0, 1'000'000},
         veto::Config{"bright_pixels * 1.1 >= " + least + " and masked_pixels < 100000", "few_spots"},
         veto::Config{"saturated_pixels / 3 < 1000000", "many_saturated"}, csr::Config{2, 1.0}}};
    const Tally tally = expect_as_cpu(size, Output::photons, pipeline, config);
    EXPECT_GT(tally.accepted, 0U);
    EXPECT_GT(tally.vetoed, 0U);
  }
}

kernel::peakfinder8::Config peaks_of(const Size& size) {
  return {.threshold = 8,
          .min_snr = 3,
          .max_pixels = 60,
          .local_bg_radius = 4,
          .beam_x = 0.4 * size.width,
          .beam_y = 0.6 * size.height};
}

TEST(Resident, peaks_are_those_of_the_processor) {
  for (const Size& size : kSizes) {
    const auto config = calibration(size);
    const Tally alone = expect_as_cpu(size, Output::photons, {{config, peaks_of(size)}}, config);
    EXPECT_GT(alone.rows, 0U);
    EXPECT_GT(alone.accepted, 0U);
    // By their number, with all that is written of images with enough of them.
    const Pipeline all{{config, peaks_of(size), veto::Config{"n_peaks >= 1 and peak_intensity > 10.5", "few_peaks"},
                        csr::Config{2, 1.0}}};
    const Tally tally = expect_as_cpu(size, Output::photons, all, config);
    EXPECT_GT(tally.accepted, 0U);
    EXPECT_GT(tally.vetoed, 0U);
    // Only of images that a count has kept.
    const Tally behind = expect_as_cpu(size, Output::photons, {{config, some_bright(size), peaks_of(size)}}, config);
    EXPECT_GT(behind.rows, 0U);
    EXPECT_GT(behind.vetoed, 0U);
  }
}

TEST(Resident, more_peaks_than_there_is_room_for_are_an_error) {
  const Size size{256, 200, 3};
  const auto config = calibration(size);
  auto peaks = peaks_of(size);
  peaks.max_peaks = 1;
  const Tally tally =
      expect_as_cpu(size, Output::photons, {{config, peaks, veto::Config{"n_peaks >= 1", "no_peak"}}}, config);
  EXPECT_GT(tally.errored, 0U);
}

TEST(Resident, peaks_of_many_pixels_grow_in_few_warps) {
  const Size size{256, 200, 2};
  const auto config = calibration(size);
  auto peaks = peaks_of(size);
  peaks.max_pixels = 2000;
  peaks.min_snr = 0.5;
  peaks.threshold = 1;
  expect_as_cpu(size, Output::photons, {{config, peaks}}, config);
}

TEST(Resident, small_images_stopped_in_any_state_end) {
  for (const Size& size : {Size{64, 64, 1}, Size{129, 101, 1}}) {
    Ring ring(size, 4);
    const auto config = calibration(size);
    ring.fill(config, 0);
    const auto pipeline = [&](int round) -> Pipeline {
      if (round % 2 == 0) return {{config, csr::Config{2, 1.0}}};
      return {{config, peaks_of(size), csr::Config{2, 1.0}}};
    };
    for (int round = 0; round < 60; ++round) {
      Doorbell bell;
      const auto unit =
          make_unit({.kind = Kind::cuda, .trigger = Trigger::persistent}, pipeline(round), ring.layout, bell);
      const auto submitted = static_cast<std::size_t>(round % 5);
      for (std::size_t s = 0; s < submitted; ++s) unit->submit(&ring.all[s]);
      if (round % 3 == 0) std::this_thread::sleep_for(std::chrono::microseconds(round));  // wait: any moment
      const auto start = std::chrono::steady_clock::now();
      unit->stop();
      EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(1));
      std::size_t back = 0;
      while (unit->take() != nullptr) ++back;
      EXPECT_EQ(back, submitted);
      EXPECT_EQ(unit->error(), "");
    }
  }
}

TEST(ResidentKernel, limits_change_with_a_stack_in_one_block_and_in_several) {
  constexpr std::uint32_t kStacks = 4, kRun = 20;
  for (const Size& size : kSizes) {
    SCOPED_TRACE(::testing::Message() << size.width << " × " << size.height << ", stack of " << size.stack);
    const auto config = jungfrau::synthetic::config(size.width, size.height, Output::photons, 1, 0.01);
    const Pipeline pipeline{
        {config, bragg_count::Config{10, 0, 1'000'000}, veto::Config{"bright_pixels < 1e6", "dull"}}};
    Doorbell bells[2];
    Ring rings[2] = {Ring(size, kStacks), Ring(size, kStacks)};
    for (Ring& ring : rings) ring.fill(config, 0);
    const auto resident =
        make_unit({.kind = Kind::cuda, .trigger = Trigger::persistent}, pipeline, rings[0].layout, bells[0]);
    const auto truth = make_unit({}, pipeline, rings[1].layout, bells[1]);
    const auto pixels = static_cast<std::uint32_t>(size.shape().pixels());
    std::size_t accepted = 0, vetoed = 0;
    for (std::uint32_t number = 0; number < kRun; ++number) {
      if (number % 2 == 1) {
        const kernel::StepOf count = bragg_count::Config{10, number % 4 == 1 ? 1U : 0U, 1'000'000};
        const kernel::StepOf rule = veto::Config{
            "bright_pixels < " + std::to_string(pixels / (number % 3 == 0 ? 10 : 1000)) + " or masked_pixels > 1e9",
            "dull"};
        for (Unit* const unit : {resident.get(), truth.get()}) {
          if (number % 5 != 0) {
            EXPECT_EQ(adjust(*unit, 1, count), number);
          }
          if (number % 7 != 0) {
            EXPECT_EQ(adjust(*unit, 2, rule), number);
          }
        }
      }
      Stack& left = rings[0].all[number % kStacks];
      Stack& right = rings[1].all[number % kStacks];
      left.number = right.number = number;
      resident->submit(&left);
      truth->submit(&right);
      ASSERT_EQ(wait(*resident, bells[0]), &left);
      ASSERT_EQ(wait(*truth, bells[1]), &right);
      for (std::uint32_t i = 0; i < size.stack; ++i) {
        expect_same(left.images[i], right.images[i], Output::photons, size.shape().pixels());
        (right.images[i].decision == Decision::accepted ? accepted : vetoed) += 1;
      }
    }
    EXPECT_GT(accepted, 0U);
    EXPECT_GT(vetoed, 0U);
  }
}

}  // namespace
}  // namespace rashpa::unit
