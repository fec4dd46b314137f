// SPDX-License-Identifier: Apache-2.0
/// Accepted images that leave the device as chunks, against the pixels of the unit on processor cores. Run by
/// `make test-device`.
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "rashpa/kernel/bitshuffle_lz4/bitshuffle_lz4.hpp"
#include "rashpa/kernel/bitshuffle_lz4/runs_testing.hpp"
#include "rashpa/kernel/bragg_count/bragg_count.hpp"
#include "rashpa/kernel/csr/csr.hpp"
#include "rashpa/kernel/jungfrau/testing/synthetic.hpp"
#include "rashpa/kernel/total_counts/total_counts.hpp"
#include "rashpa/unit/factory.hpp"
#include "rashpa/unit/stack_ring.hpp"

namespace rashpa::unit {
namespace {

namespace bslz4 = kernel::bitshuffle_lz4;
namespace jungfrau = kernel::jungfrau;
using Bytes = std::vector<std::byte>;

constexpr std::uint32_t kStacks = 4, kRounds = 3;
constexpr std::uint32_t kWidth = 129, kHeight = 101;
constexpr std::size_t kPixels = std::size_t{kWidth} * kHeight;

/// The results of an image.
struct Result {
  Decision decision = Decision::none;
  VetoReason reason = VetoReason::none;
  std::array<Scalar, kMostColumns> scalars{};
  Bytes pixels, chunk;
};

/// Makes the pixels of image `number`.
using Fill = std::function<void(StackImage& image, std::uint32_t number)>;

struct Case {
  std::uint32_t stack = 1;
  Pipeline pipeline;
  PixelType input = PixelType::u16;
  Fill fill;
};

/// All images of some rounds of the ring; the last stack has an image fewer where it can.
std::vector<Result> run(const Choice& choice, const Case& one, Output& output) {
  StackRing ring(kWidth, kHeight, one.stack, kStacks, memory::MemoryKind::pageable, one.input);
  Doorbell bell;
  const auto unit = make_unit(choice, one.pipeline, ring.layout, bell);
  output = unit->output();
  std::vector<Result> all;
  std::uint32_t number = 0;
  for (std::uint32_t round = 0; round < kRounds; ++round) {
    if (round + 1 == kRounds && one.stack > 1) ring.all.back().count = one.stack - 1;
    for (Stack& stack : ring.all) {
      for (StackImage& image : stack.view()) one.fill(image, number++);
      unit->submit(&stack);
    }
    for (Stack& stack : ring.all) {
      Stack* back = nullptr;
      while ((back = unit->take()) == nullptr) bell.wait(bell.count(), std::chrono::milliseconds(1));
      EXPECT_EQ(back, &stack) << unit->error();
      for (const StackImage& image : back->view()) {
        Result& result = all.emplace_back(Result{image.decision, image.reason, image.scalars, {}, {}});
        result.chunk.assign(image.chunk.begin(), image.chunk.end());
        if (image.pixels == nullptr) continue;
        const std::size_t bytes = std::size_t{output.width} * output.height * pixel_bytes(output.pixel);
        result.pixels.assign(image.pixels, image.pixels + bytes);
      }
    }
  }
  EXPECT_EQ(unit->error(), "");
  return all;
}

class CudaChunks : public testing::TestWithParam<Trigger> {
 protected:
  [[nodiscard]] static Choice choice() { return {.kind = Kind::cuda, .trigger = GetParam()}; }

  /// Returns the accepted ones.
  static std::vector<Result> expect_as_cpu(const Choice& choice, Case one) {
    Output output, on_cpu;
    const std::vector<Result> truth = run({}, one, on_cpu);
    one.pipeline.delivery = Delivery::chunk_in_place;
    const std::vector<Result> found = run(choice, one, output);
    EXPECT_TRUE(output.chunked);
    EXPECT_FALSE(output.pixels);
    EXPECT_EQ(output.pixel, on_cpu.pixel);
    EXPECT_EQ(found.size(), truth.size());
    std::vector<Result> accepted;
    for (std::size_t i = 0; i < truth.size(); ++i) {
      SCOPED_TRACE(testing::Message() << "stacks of " << one.stack << ", image " << i);
      EXPECT_EQ(found[i].decision, truth[i].decision);
      EXPECT_EQ(found[i].reason, truth[i].reason);
      EXPECT_EQ(found[i].scalars, truth[i].scalars);
      EXPECT_TRUE(found[i].pixels.empty());
      EXPECT_EQ(found[i].chunk.empty(), truth[i].decision != Decision::accepted);
      if (truth[i].decision != Decision::accepted) continue;
      const std::size_t element = pixel_bytes(output.pixel);
      EXPECT_TRUE(found[i].chunk == bslz4::chunk_of_runs(truth[i].pixels, element)) << "what the reference makes";
      Bytes back(truth[i].pixels.size());
      EXPECT_TRUE(bslz4::decompress(found[i].chunk, element, back));
      EXPECT_TRUE(back == truth[i].pixels);
      accepted.push_back(found[i]);
    }
    return accepted;
  }
};

jungfrau::Config calibration(jungfrau::Output output) {
  return jungfrau::synthetic::config(kWidth, kHeight, output, 1, 0.01);
}

/// Every third image has spots.
void fill_frame(StackImage& image, std::uint32_t number) {
  static const auto config = calibration(jungfrau::Output::photons);
  const auto frame = jungfrau::synthetic::frame(config, number % 3 == 0 ? 0.03 : 0.0, number + 1);
  std::memcpy(image.raw, frame.data(), kPixels * sizeof(std::uint16_t));
}

/// Noise, of which every bit is needed, in every second image, and little in the others.
void fill_noise(StackImage& image, std::uint32_t number) {
  jungfrau::synthetic::Random random(number + 1);
  auto* const pixels = reinterpret_cast<std::uint16_t*>(image.raw);
  for (std::size_t i = 0; i < kPixels; ++i) {
    const auto value = static_cast<std::uint16_t>(random.below(65536));
    pixels[i] = number % 2 == 0 ? value : static_cast<std::uint16_t>(value % 50 == 0 ? 1 : 0);
  }
}

TEST_P(CudaChunks, of_converted_and_counted_images_are_those_of_the_accepted_ones) {
  const Pipeline vetoing{{calibration(jungfrau::Output::photons), kernel::bragg_count::Config{10, 100, 100'000}},
                         PartialPolicy::keep,
                         false};
  for (const std::uint32_t stack : {1U, 10U}) {
    for (const Passes passes : {Passes::fused, Passes::separate}) {
      Case one{.stack = stack, .pipeline = vetoing, .fill = fill_frame};
      one.pipeline.passes = passes;
      const auto accepted = expect_as_cpu(choice(), one);
      EXPECT_EQ(accepted.size(), stack == 1 ? 4U : 40U);
    }
  }
}

TEST_P(CudaChunks, of_energies_are_of_four_bytes_a_pixel) {
  for (const std::uint32_t stack : {1U, 10U}) {
    const auto accepted = expect_as_cpu(
        choice(), {.stack = stack, .pipeline = {.kernels = {calibration(jungfrau::Output::kev)}}, .fill = fill_frame});
    EXPECT_EQ(accepted.size(), stack == 1 ? 12U : 119U);
  }
}

TEST_P(CudaChunks, of_the_detector_s_own_pixels_hold_noise_that_does_not_shrink) {
  for (const std::uint32_t stack : {1U, 10U}) {
    const kernel::total_counts::Config all{};
    const auto accepted = expect_as_cpu(choice(), {.stack = stack, .pipeline = {.kernels = {all}}, .fill = fill_noise});
    ASSERT_GE(accepted.size(), 2U);
    EXPECT_GT(accepted[0].chunk.size(), kPixels * sizeof(std::uint16_t)) << "noise, and what the format adds";
    EXPECT_LT(accepted[1].chunk.size(), kPixels * sizeof(std::uint16_t) / 4);
  }
}

TEST_P(CudaChunks, are_not_made_where_nobody_asks_or_the_pipeline_makes_lists) {
  Case one{.stack = 2, .pipeline = {.kernels = {calibration(jungfrau::Output::photons)}}, .fill = fill_frame};
  Output output;
  for (const Result& result : run(choice(), one, output)) {
    EXPECT_TRUE(result.chunk.empty());
    EXPECT_FALSE(result.pixels.empty());
  }
  EXPECT_FALSE(output.chunked);
  one.pipeline.kernels.emplace_back(kernel::csr::Config{2, 0.5});
  one.pipeline.delivery = Delivery::chunk_in_place;
  for (const Result& result : run(choice(), one, output)) EXPECT_TRUE(result.chunk.empty() && result.pixels.empty());
  EXPECT_FALSE(output.chunked);
}

INSTANTIATE_TEST_SUITE_P(Triggers, CudaChunks, testing::Values(Trigger::launch, Trigger::graph, Trigger::stream),
                         [](const auto& trigger) { return std::string(name_of(trigger.param)); });

class CudaChunksOnce : public CudaChunks {};

TEST_P(CudaChunksOnce, come_from_several_devices_as_from_one) {
  Choice several = choice();
  several.device = "0,0";
  const Pipeline vetoing{{calibration(jungfrau::Output::photons), kernel::bragg_count::Config{10, 100, 100'000}},
                         PartialPolicy::keep,
                         false};
  expect_as_cpu(several, {.stack = 10, .pipeline = vetoing, .fill = fill_frame});
}

TEST_P(CudaChunksOnce, take_memory_of_the_device_and_are_said_in_words) {
  StackRing ring(kWidth, kHeight, 10, kStacks, memory::MemoryKind::pageable);
  Doorbell bell;
  Pipeline pipeline{.kernels = {calibration(jungfrau::Output::photons)}};
  const std::size_t without = device_bytes_of(*make_unit(choice(), pipeline, ring.layout, bell));
  pipeline.delivery = Delivery::chunk_in_place;
  const auto unit = make_unit(choice(), pipeline, ring.layout, bell);
  EXPECT_GT(device_bytes_of(*unit), without + std::size_t{2} * 3 * 10 * kPixels * sizeof(std::uint16_t));
  EXPECT_NE(unit->how().find("chunks"), std::string::npos) << unit->how();
}

TEST_P(CudaChunksOnce, are_left_to_the_host_by_the_resident_kernel) {
  StackRing ring(kWidth, kHeight, 1, kStacks, memory::MemoryKind::pageable);
  Doorbell bell;
  Pipeline pipeline{.kernels = {calibration(jungfrau::Output::photons)}};
  pipeline.delivery = Delivery::chunk_in_place;
  const auto unit = make_unit({.kind = Kind::cuda, .trigger = Trigger::persistent}, pipeline, ring.layout, bell);
  EXPECT_FALSE(unit->output().chunked);
  EXPECT_TRUE(unit->output().pixels);
}

INSTANTIATE_TEST_SUITE_P(Graph, CudaChunksOnce, testing::Values(Trigger::graph),
                         [](const auto& trigger) { return std::string(name_of(trigger.param)); });

}  // namespace
}  // namespace rashpa::unit
