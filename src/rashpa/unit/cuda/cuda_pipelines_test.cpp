// SPDX-License-Identifier: Apache-2.0
/// Pipelines that change the shape of images, or refuse them by their sources' records, on a device against the unit on
/// processor cores. Run by `make test-device`.
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <random>
#include <vector>

#include "rashpa/core/numbers/checksum.hpp"
#include "rashpa/kernel/checksum/checksum.hpp"
#include "rashpa/kernel/csr/csr.hpp"
#include "rashpa/kernel/roi_stats/roi_stats.hpp"
#include "rashpa/kernel/testing/device_testing.hpp"
#include "rashpa/kernel/total_counts/total_counts.hpp"
#include "rashpa/kernel/unpack/unpack.hpp"
#include "rashpa/unit/contract/pipelines.hpp"
#include "rashpa/unit/factory.hpp"
#include "rashpa/unit/stack_ring.hpp"

namespace rashpa::unit {
namespace {

namespace checksum = kernel::checksum;
namespace unpack = kernel::unpack;

constexpr std::uint32_t kStack = 3, kStacks = 4, kRounds = 3;

/// The results of all images, one after the other.
struct Outcome {
  struct Image {
    Decision decision = Decision::none;
    VetoReason reason = VetoReason::none;
    std::uint8_t failed_in = 0;
    bool measured = false;
    std::array<Scalar, kMostColumns> scalars{};
    std::vector<std::byte> pixels;
    std::vector<std::uint32_t> index;
    friend bool operator==(const Image&, const Image&) = default;
  };
  std::vector<Image> images;
  std::string failure;
};

class CudaPipelines : public testing::TestWithParam<Trigger> {
 protected:
  /// `fill(image, number)` makes the pixels of an image, and their facts.
  template <typename Fill>
  static Outcome run(const Choice& choice, const Pipeline& pipeline, const kernel::Shape& shape, Fill fill) {
    StackRing ring(shape.width, shape.height, kStack, kStacks, memory::MemoryKind::pageable, PixelType::u8);
    Doorbell bell;
    const auto unit = make_unit(choice, pipeline, ring.layout, bell);
    Outcome all;
    std::uint32_t number = 0;
    for (std::uint32_t round = 0; round < kRounds; ++round) {
      for (Stack& stack : ring.all) {
        for (StackImage& image : stack.view()) fill(image, number++);
        unit->submit(&stack);
      }
      for (Stack& stack : ring.all) {
        Stack* back = nullptr;
        while ((back = unit->take()) == nullptr) bell.wait(bell.count(), std::chrono::milliseconds(1));
        EXPECT_EQ(back, &stack);
        for (const StackImage& image : back->view()) all.images.push_back(kept(image, unit->output()));
      }
    }
    EXPECT_EQ(unit->error(), "");
    all.failure = unit->failure(1);
    return all;
  }
  static Outcome::Image kept(const StackImage& image, const Output& output) {
    Outcome::Image out{image.decision, image.reason, image.failed_in, image.measured, image.scalars, {}, {}};
    if (image.decision != Decision::accepted) return out;
    if (image.pixels != nullptr) {
      const std::size_t bytes = std::size_t{output.width} * output.height * pixel_bytes(output.pixel);
      out.pixels.assign(image.pixels, image.pixels + bytes);
    }
    out.index.assign(image.sparse.index, image.sparse.index + image.sparse.count);
    return out;
  }
  template <typename Fill>
  static Outcome expect_as_cpu(const Pipeline& pipeline, const kernel::Shape& shape, Fill fill) {
    SCOPED_TRACE(testing::Message() << "RASHPA_SEED=" << kernel::test_seed());
    const Outcome found = run({.kind = Kind::cuda, .trigger = GetParam()}, pipeline, shape, fill);
    Outcome truth = run({}, pipeline, shape, fill);
    EXPECT_EQ(found.failure, truth.failure);
    EXPECT_EQ(found.images.size(), truth.images.size());
    for (std::size_t i = 0; i < truth.images.size(); ++i) {
      SCOPED_TRACE(testing::Message() << "image " << i);
      EXPECT_EQ(found.images[i].decision, truth.images[i].decision);
      EXPECT_EQ(found.images[i].reason, truth.images[i].reason);
      EXPECT_EQ(found.images[i].failed_in, truth.images[i].failed_in);
      EXPECT_TRUE(found.images[i] == truth.images[i]);
    }
    return truth;
  }
  static std::size_t of(const Outcome& outcome, Decision decision) {
    std::size_t images = 0;
    for (const Outcome::Image& image : outcome.images) images += image.decision == decision ? 1 : 0;
    return images;
  }
};

TEST_P(CudaPipelines, unpacked_images_have_another_shape_and_pixels_of_another_type) {
  for (const unpack::Bits bits :
       {unpack::Bits::one, unpack::Bits::six, unpack::Bits::twelve, unpack::Bits::twenty_four}) {
    SCOPED_TRACE(unpack::count_of(bits));
    const unpack::Config config{bits, 64, 37, 2, 2, 3, 5};
    const kernel::Shape packed = config.packed();
    const auto fill = [&](StackImage& image, std::uint32_t number) {
      std::mt19937 random(kernel::test_seed() + number);
      for (std::size_t b = 0; b < packed.pixels(); ++b) {
        image.raw[b] = static_cast<std::byte>(number % 3 == 0 ? 0 : random());
      }
    };
    const kernel::total_counts::Config some{1, 1'000'000'000'000, 1};
    const kernel::roi_stats::Config regions{"middle=60,30,10,20; all=0,0,131,79"};
    Outcome outcome = expect_as_cpu({.kernels = {config, regions, some}}, packed, fill);
    EXPECT_EQ(of(outcome, Decision::accepted), 24U);
    outcome = expect_as_cpu({.kernels = {config, some, kernel::csr::Config{1, 1.0}}}, packed, fill);
    EXPECT_EQ(of(outcome, Decision::accepted), 24U);
  }
}

TEST_P(CudaPipelines, what_its_source_has_not_sent_is_refused) {
  constexpr kernel::Shape kShape{512, 96};
  std::vector<std::vector<PayloadSum>> sums(std::size_t{kStack} * kStacks * kRounds);
  const auto fill = [&](StackImage& image, std::uint32_t number) {
    std::mt19937 random(kernel::test_seed() + number);
    for (std::size_t b = 0; b < kShape.pixels(); ++b) image.raw[b] = static_cast<std::byte>(random() % 4);
    std::vector<PayloadSum>& of_image = sums[number];
    of_image.clear();
    // Modules below each other, or beside each other; of every seventh image nothing is known.
    for (std::uint32_t part = 0; part < 3 && number % 7 != 6; ++part) {
      PayloadSum sum{part * 32ULL * 512, 512, 512, 32, 0, true};
      if (number % 2 == 1) sum = {part * 160ULL, 512, part == 2 ? 192U : 160U, 96, 0, true};
      sum.crc32c = checksum::crc_of({image.raw, kShape.pixels()}, {sum.first, sum.pitch, sum.line_bytes, sum.lines});
      if (number % 5 == 2 && part == 1) sum.crc32c ^= 0x100U;
      if (number % 5 == 3 && part == 0) sum.known = false;
      of_image.push_back(sum);
    }
    image.sums = of_image;
  };
  const kernel::total_counts::Config all{};
  Outcome outcome = expect_as_cpu({.kernels = {checksum::Config{}, all}}, kShape, fill);
  EXPECT_GT(of(outcome, Decision::errored), 0U);
  EXPECT_NE(outcome.failure.find("DTP 1 "), std::string::npos) << outcome.failure;
  outcome = expect_as_cpu({.kernels = {checksum::Config{checksum::OnMismatch::veto}, all}}, kShape, fill);
  EXPECT_GT(of(outcome, Decision::vetoed), 0U);
  EXPECT_EQ(outcome.failure, "");
}

class CudaLearning : public testing::TestWithParam<Trigger>, protected contract::Pipelines {
 protected:
  static Choice choice() { return {.kind = Kind::cuda, .trigger = GetParam()}; }
};

TEST_P(CudaLearning, pedestals_follow_as_on_processors) { expect_pedestals_to_follow(choice()); }
TEST_P(CudaLearning, pedestals_of_cells_follow_as_on_processors) { expect_pedestals_of_cells_to_follow(choice()); }

TEST_P(CudaLearning, storage_cells_have_their_pedestals_as_on_processors) {
  expect_cells_to_have_their_pedestals(choice());
}

TEST_P(CudaLearning, dark_images_are_learned_from_whatever_steps_before_say_of_them) {
  expect_darks_to_be_learned_from(choice());
}

TEST_P(CudaLearning, a_rule_on_the_drift_and_windows_are_as_on_processors) { expect_rules_on_the_drift(choice()); }

INSTANTIATE_TEST_SUITE_P(Triggers, CudaLearning, testing::Values(Trigger::launch, Trigger::graph, Trigger::stream),
                         [](const auto& trigger) { return std::string(name_of(trigger.param)); });

INSTANTIATE_TEST_SUITE_P(Triggers, CudaPipelines, testing::Values(Trigger::launch, Trigger::graph, Trigger::stream),
                         [](const auto& trigger) { return std::string(name_of(trigger.param)); });

}  // namespace
}  // namespace rashpa::unit
