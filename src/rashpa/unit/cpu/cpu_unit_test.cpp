#include "rashpa/unit/cpu/cpu_unit.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "rashpa/core/error.hpp"
#include "rashpa/core/fill.hpp"
#include "rashpa/core/frame_record.hpp"
#include "rashpa/kernel/jungfrau/synthetic.hpp"
#include "rashpa/unit/factory.hpp"

namespace rashpa::unit {
namespace {

namespace jungfrau = kernel::jungfrau;
namespace bragg_count = kernel::bragg_count;
namespace csr = kernel::csr;
using jungfrau::Output;

constexpr std::uint32_t kWidth = 129;
constexpr std::uint32_t kHeight = 101;
constexpr std::size_t kPixels = std::size_t{kWidth} * kHeight;

/// A unit, and stacks of synthetic frames for it; frame i of stack s is frames[s · k + i].
struct Fixture {
  Fixture(Pipeline pipeline_in, unsigned threads, std::uint32_t k = 5, std::uint32_t stacks = 3)
      : pipeline(std::move(pipeline_in)),
        layout{kWidth, kHeight, PixelType::u16, k, stacks},
        config(jungfrau::synthetic::config(kWidth, kHeight, Output::photons, 1, 0.01)) {
    unit = make_unit({.placement = {threads, -1}}, pipeline, layout, bell);
    for (std::size_t i = 0; i < std::size_t{k} * stacks; ++i) {
      frames.push_back(jungfrau::synthetic::frame(config, i % 2 == 0 ? 0.03 : 0.0, i));
    }
    all.resize(stacks);
    for (std::uint32_t s = 0; s < stacks; ++s) {
      all[s].slot = s;
      all[s].number = s;
      all[s].count = k;
      all[s].images.resize(k);
      for (std::uint32_t i = 0; i < k; ++i) {
        all[s].images[i].completeness = Completeness::complete;
        all[s].images[i].raw = reinterpret_cast<std::byte*>(frames[std::size_t{s} * k + i].data());
      }
    }
  }
  /// Waits for the next stack, five seconds at most.
  Stack* wait() {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    while (std::chrono::steady_clock::now() < deadline) {
      const std::uint32_t seen = bell.count();
      if (Stack* stack = unit->take()) return stack;
      bell.wait(seen, std::chrono::milliseconds(100));
    }
    return nullptr;
  }
  void run_all() {
    for (Stack& stack : all) unit->submit(&stack);
    for (Stack& stack : all) ASSERT_EQ(wait(), &stack) << "results come back in order";
  }

  Pipeline pipeline;
  Layout layout;
  jungfrau::Config config;
  Doorbell bell;
  std::unique_ptr<Unit> unit;
  std::vector<std::vector<std::uint16_t>> frames;
  std::vector<Stack> all;
};

jungfrau::Config calibration(Output output) { return jungfrau::synthetic::config(kWidth, kHeight, output, 1, 0.01); }

Pipeline full(std::uint32_t min_pixels = 100, double capacity = 0.2) {
  return {{calibration(Output::photons), bragg_count::Config{10, min_pixels, 100'000}, csr::Config{2, capacity}},
          PartialPolicy::keep,
          false};
}

/// Everything the unit says of the image, against the plain references.
void expect_as_reference(const StackImage& image, const Pipeline& pipeline) {
  const auto& config = std::get<jungfrau::Config>(pipeline.kernels[0]);
  const auto& veto = std::get<bragg_count::Config>(pipeline.kernels[1]);
  const auto& list = std::get<csr::Config>(pipeline.kernels[2]);
  std::vector<std::int16_t> photons(kPixels);
  const auto* raw = reinterpret_cast<const std::uint16_t*>(image.raw);
  void* out = photons.data();
  jungfrau::Counts counts{};
  jungfrau::convert_reference(config, {1, &raw, &out, nullptr, &counts}, {}, 0, kPixels);
  const std::uint32_t bright = bragg_count::count_reference(photons.data(), kPixels, veto.threshold);
  EXPECT_EQ(image.masked_pixels, counts.masked);
  EXPECT_EQ(image.saturated_pixels, counts.saturated);
  EXPECT_EQ(image.bright_pixels, bright);
  EXPECT_EQ(image.reason, bragg_count::decide(veto, bright));
  ASSERT_EQ(image.decision, image.reason == VetoReason::none ? Decision::accepted : Decision::vetoed);
  if (image.decision != Decision::accepted) return;
  EXPECT_EQ(std::memcmp(image.pixels, photons.data(), kPixels * 2), 0);
  std::vector<std::uint32_t> index(kPixels);
  std::vector<std::int16_t> value(kPixels);
  const std::size_t count =
      csr::compact_reference(photons.data(), kPixels, list.threshold, {index.data(), value.data(), kPixels});
  ASSERT_EQ(image.sparse.count, count);
  EXPECT_TRUE(std::equal(index.begin(), index.begin() + static_cast<std::ptrdiff_t>(count), image.sparse.index));
  EXPECT_TRUE(std::equal(value.begin(), value.begin() + static_cast<std::ptrdiff_t>(count), image.sparse.value));
}

TEST(CpuUnit, full_pipeline_gives_what_the_references_give_with_any_number_of_threads) {
  for (const unsigned threads : {1U, 2U, 5U}) {
    Fixture f(full(), threads);
    f.run_all();
    std::uint32_t accepted = 0;
    for (const Stack& stack : f.all) {
      EXPECT_GT(stack.decided_ns, 0);
      for (const StackImage& image : stack.view()) {
        expect_as_reference(image, f.pipeline);
        accepted += image.decision == Decision::accepted ? 1 : 0;
      }
    }
    EXPECT_EQ(accepted, 8U) << "frames 0, 2, 4, … have spots";
  }
}

TEST(CpuUnit, stacks_can_be_sent_again_and_again) {
  Fixture f(full(), 2, 3, 2);
  for (int round = 0; round < 200; ++round) f.run_all();
  for (const Stack& stack : f.all) {
    for (const StackImage& image : stack.view()) expect_as_reference(image, f.pipeline);
  }
}

TEST(CpuUnit, kev_output_is_the_reference_bit_for_bit) {
  Fixture f({{calibration(Output::kev)}, PartialPolicy::keep, false}, 2);
  EXPECT_EQ(f.unit->output(), PixelType::f32);
  f.run_all();
  const auto config = calibration(Output::kev);
  const StackImage& image = f.all[1].images[3];
  ASSERT_EQ(image.decision, Decision::accepted);
  for (std::size_t pixel = 0; pixel < kPixels; ++pixel) {
    const float truth = jungfrau::kev_of(f.frames[8][pixel], config, pixel);
    float value = 0;
    std::memcpy(&value, image.pixels + pixel * sizeof(float), sizeof value);
    ASSERT_EQ(std::memcmp(&value, &truth, sizeof value), 0) << pixel << ": " << value << " is not " << truth;
  }
}

TEST(CpuUnit, missing_dark_and_partial_images_are_decided_without_conversion) {
  Pipeline pipeline = full(0);
  pipeline.partial = PartialPolicy::veto;
  Fixture f(pipeline, 2);
  auto& images = f.all[0].images;
  images[0].completeness = Completeness::missing;
  images[0].decision = Decision::accepted;  // of an earlier use of the stack
  images[1].flags = FrameRecord::dark | FrameRecord::laser;
  images[2].completeness = Completeness::partial;
  images[3].flags = FrameRecord::laser;
  f.run_all();
  EXPECT_EQ(images[0].decision, Decision::none);
  EXPECT_EQ(images[1].decision, Decision::vetoed);
  EXPECT_EQ(images[1].reason, VetoReason::dark);
  EXPECT_EQ(images[1].masked_pixels, 0U);
  EXPECT_EQ(images[2].decision, Decision::vetoed);
  EXPECT_EQ(images[2].reason, VetoReason::partial);
  for (const int i : {0, 1, 2}) EXPECT_EQ(images[i].pixels, nullptr);
  EXPECT_EQ(images[3].decision, Decision::accepted);
  EXPECT_EQ(images[4].decision, Decision::accepted);
}

TEST(CpuUnit, darks_and_partial_images_are_kept_where_the_pipeline_says_so) {
  Pipeline pipeline = full(0);
  pipeline.keep_darks = true;
  Fixture f(pipeline, 2);
  auto& images = f.all[0].images;
  images[0].flags = FrameRecord::dark;
  images[1].completeness = Completeness::partial;
  std::fill_n(f.frames[1].begin() + 7 * kWidth, 2 * kWidth, kLostRaw);
  f.run_all();
  EXPECT_EQ(images[0].decision, Decision::accepted);
  EXPECT_EQ(images[1].decision, Decision::accepted);
  EXPECT_GE(images[1].masked_pixels, 2 * kWidth);
  expect_as_reference(images[1], f.pipeline);
  std::int16_t lost = 0;
  std::memcpy(&lost, images[1].pixels + 8 * kWidth * 2, sizeof lost);
  EXPECT_EQ(lost, kMaskedPhotons);
}

TEST(CpuUnit, image_whose_list_is_full_is_errored_and_its_neighbours_are_not) {
  Fixture f(full(0, 0.02), 2);
  f.run_all();
  for (const Stack& stack : f.all) {
    for (std::uint32_t i = 0; i < stack.count; ++i) {
      const bool spots = (stack.number * stack.count + i) % 2 == 0;  // 3 % of the pixels, more than the capacity
      EXPECT_EQ(stack.images[i].decision, spots ? Decision::errored : Decision::accepted);
      EXPECT_EQ(stack.images[i].sparse.count > 0, false) << "threshold 2 is above the background";
    }
  }
}

TEST(CpuUnit, empty_pipeline_hands_raw_images_through) {
  Fixture f(Pipeline{}, 1);
  EXPECT_EQ(f.unit->output(), PixelType::u16);
  f.all[1].images[2].completeness = Completeness::missing;
  f.run_all();
  for (const Stack& stack : f.all) {
    for (const StackImage& image : stack.view()) {
      const bool missing = &image == &f.all[1].images[2];
      EXPECT_EQ(image.decision, missing ? Decision::none : Decision::accepted);
      EXPECT_EQ(image.pixels, missing ? nullptr : image.raw);
    }
  }
}

TEST(CpuUnit, short_last_stack_is_processed) {
  Fixture f(full(0), 2);
  f.all[2].count = 1;
  f.run_all();
  expect_as_reference(f.all[2].images[0], f.pipeline);
  EXPECT_EQ(f.all[2].images[1].decision, Decision::none) << "behind the end: not touched";
}

TEST(CpuUnit, stop_gives_every_stack_back_decided_or_errored) {
  for (int round = 0; round < 30; ++round) {
    Fixture f(full(0), 2, 2, 8);
    for (Stack& stack : f.all) f.unit->submit(&stack);
    f.unit->stop();
    f.unit->stop();
    bool errored = false;
    for (Stack& stack : f.all) {
      ASSERT_EQ(f.unit->take(), &stack);
      for (const StackImage& image : stack.view()) {
        EXPECT_TRUE(image.decision == Decision::accepted || image.decision == Decision::errored);
        EXPECT_TRUE(!errored || image.decision == Decision::errored) << "work went on after the stop";
        errored = image.decision == Decision::errored;
      }
    }
    EXPECT_EQ(f.unit->take(), nullptr);
  }
}

TEST(CpuUnit, impossible_numbers_of_threads_are_refused) {
  Doorbell bell;
  const Layout layout{8, 8, PixelType::u16, 1, 1};
  EXPECT_THROW(make_unit({.placement = {0, -1}}, {}, layout, bell), ConfigError);
  EXPECT_THROW(make_unit({.placement = {100'000, -1}}, {}, layout, bell), ConfigError);
}

TEST(CpuUnit, outputs_too_large_for_the_machine_are_refused) {
  Doorbell bell;
  const Layout layout{kWidth, kHeight, PixelType::u16, 10'000, 1'000'000};
  EXPECT_THROW(make_unit({}, {{calibration(Output::photons)}, PartialPolicy::keep, false}, layout, bell),
               ResourceError);
}

}  // namespace
}  // namespace rashpa::unit
