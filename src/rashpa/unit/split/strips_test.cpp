// SPDX-License-Identifier: Apache-2.0
/// Images in strips: the cuts, and the sum of the steps' parts against the whole, on processor cores.
#include "rashpa/unit/split/strips.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <string>

#include "rashpa/core/error.hpp"
#include "rashpa/kernel/accumulate/accumulate.hpp"
#include "rashpa/kernel/bragg_count/bragg_count.hpp"
#include "rashpa/kernel/csr/csr.hpp"
#include "rashpa/kernel/jungfrau/testing/synthetic.hpp"
#include "rashpa/kernel/roi_stats/roi_stats.hpp"
#include "rashpa/kernel/total_counts/total_counts.hpp"
#include "rashpa/kernel/veto/veto.hpp"
#include "rashpa/unit/factory.hpp"
#include "rashpa/unit/stack_ring.hpp"

namespace rashpa::unit {
namespace {

namespace jungfrau = kernel::jungfrau;
using kernel::Rows;

constexpr std::uint32_t kWidth = 129;
constexpr std::uint32_t kHeight = 301;
constexpr std::uint32_t kImages = 6;

Layout layout_of(std::uint32_t width, std::uint32_t height) {
  return {.width = width, .height = height, .stack = 1, .stacks = 1};
}

std::string refusal(const std::function<void()>& work) {
  try {
    work();
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Strips, are_about_equal_and_begin_where_words_of_pixels_do) {
  EXPECT_EQ(strips_of(layout_of(4096, 4096), 2), (std::vector<Rows>{{0, 2048}, {2048, 2048}}));
  EXPECT_EQ(strips_of(layout_of(1030, 514), 2), (std::vector<Rows>{{0, 256}, {256, 258}})) << "32 rows are whole words";
  EXPECT_EQ(strips_of(layout_of(129, 101), 2), (std::vector<Rows>{{0, 64}, {64, 37}})) << "64 rows are";
  for (const std::uint32_t width : {1U, 64U, 129U, 1030U, 2068U}) {
    for (std::uint32_t members = 2; members <= 5; ++members) {
      const std::uint32_t height = 64 * members + 13;
      std::uint32_t next = 0;
      for (const Rows& rows : strips_of(layout_of(width, height), members)) {
        EXPECT_EQ(rows.first, next);
        EXPECT_EQ(std::uint64_t{rows.first} * width % 64, 0U);
        EXPECT_GT(rows.count, 0U);
        next = rows.first + rows.count;
      }
      EXPECT_EQ(next, height);
    }
  }
}

TEST(Strips, an_image_with_too_few_rows_is_refused) {
  EXPECT_NE(refusal([] { strips_of(layout_of(129, 101), 3); }).find("makes 2 strips of 64 rows at most, not 3"),
            std::string::npos);
}

TEST(Strips, lie_in_the_slots_of_the_whole) {
  StackRing ring(kWidth, kHeight, 2, 2, memory::MemoryKind::pageable);
  const Layout strip = strip_of(ring.layout, {64, 128});
  EXPECT_EQ(strip.images, ring.layout.images + std::size_t{64} * kWidth * 2);
  EXPECT_EQ(strip.image_stride, ring.layout.image_stride);
  EXPECT_EQ(strip.height, 128U);
}

/// Three strips of images with lost pixels, on processor cores.
class StripSums : public testing::Test {
 protected:
  static constexpr std::uint32_t kMembers = 3;

  static jungfrau::Config calibration(jungfrau::Output output = jungfrau::Output::photons) {
    return jungfrau::synthetic::config(kWidth, kHeight, output, 1, 0.01);
  }
  StripSums() : ring_(kWidth, kHeight, kImages, 1, memory::MemoryKind::pageable) {
    for (std::uint32_t i = 0; i < kImages; ++i) {
      const auto frame = jungfrau::synthetic::frame(calibration(), i % 2 == 0 ? 0.03 : 0.0, i);
      std::memcpy(ring_.all[0].images[i].raw, frame.data(), frame.size() * 2);
    }
  }
  /// A unit, and its results for the stack.
  struct Ran {
    Ran(const Pipeline& pipeline, const Layout& layout, Stack stack_in, std::size_t first_byte)
        : stack(std::move(stack_in)), unit(make_unit({}, pipeline, layout, bell)) {
      for (StackImage& image : stack.view()) image.raw += first_byte;
      unit->submit(&stack);
      while (unit->take() == nullptr) bell.wait(bell.count(), std::chrono::milliseconds(1));
    }
    Doorbell bell;
    Stack stack;
    std::unique_ptr<Unit> unit;
  };
  /// Pixels, lists, columns and verdicts of the strips together are those of the whole.
  void expect_whole(const Pipeline& pipeline) {
    const Ran whole(pipeline, ring_.layout, ring_.all[0], 0);
    const std::vector<Rows> strips = strips_of(ring_.layout, kMembers);
    std::vector<std::unique_ptr<Ran>> ran;
    std::vector<Meeting> meetings;
    for (const Rows& rows : strips) {
      const StripPipeline part = cut(pipeline, ring_.layout, rows);
      const Layout layout = strip_of(ring_.layout, rows);
      meetings = meetings_of(steps_of(part.pipeline, layout), part.bounds);
      ran.push_back(std::make_unique<Ran>(part.pipeline, layout, ring_.all[0], std::size_t{rows.first} * kWidth * 2));
    }
    const Steps steps = steps_of(pipeline, ring_.layout);
    for (std::uint32_t i = 0; i < kImages; ++i) {
      SCOPED_TRACE(i);
      const StackImage& truth = whole.stack.images[i];
      std::array<Scalar, kMostColumns> sums{};
      for (const auto& one : ran) {
        EXPECT_EQ(one->stack.images[i].decision, Decision::accepted) << "a strip refuses nothing";
        for (std::size_t c = 0; c < sums.size(); ++c) {
          sums[c] = Scalar::of_count(sums[c].count() + one->stack.images[i].scalars[c].count());
        }
      }
      VetoReason reason = VetoReason::none;
      for (const Meeting& meeting : meetings) {
        const auto begin = sums.begin() + static_cast<std::ptrdiff_t>(meeting.first);
        EXPECT_TRUE(std::equal(begin, sums.begin() + static_cast<std::ptrdiff_t>(meeting.end),
                               truth.scalars.begin() + static_cast<std::ptrdiff_t>(meeting.first)));
        if (meeting.bounds.empty()) continue;
        const PlannedStep& step = steps.steps[meeting.behind - 1];
        const std::uint8_t verdict =
            kernel::verdict_of(meeting.bounds.data(), meeting.bounds.size(), sums.data() + step.first_column);
        if (verdict == 0) continue;
        reason = step.reasons[verdict - 1U];
        break;
      }
      EXPECT_EQ(truth.reason, reason);
      EXPECT_EQ(truth.decision, reason == VetoReason::none ? Decision::accepted : Decision::vetoed);
      accepted_ += truth.decision == Decision::accepted ? 1 : 0;
      if (truth.decision == Decision::accepted) expect_pixels(truth, i, strips, ran, whole.unit->output());
    }
  }
  static void expect_pixels(const StackImage& truth, std::uint32_t image, const std::vector<Rows>& strips,
                            const std::vector<std::unique_ptr<Ran>>& ran, const Output& output) {
    std::uint32_t entries = 0;
    for (std::size_t s = 0; s < strips.size(); ++s) {
      const StackImage& part = ran[s]->stack.images[image];
      const std::size_t first = std::size_t{strips[s].first} * kWidth;
      const std::size_t bytes = pixel_bytes(output.pixel);
      EXPECT_EQ(std::memcmp(part.pixels, truth.pixels + first * bytes, std::size_t{strips[s].count} * kWidth * bytes),
                0);
      ASSERT_LE(entries + part.sparse.count, truth.sparse.count);
      for (std::uint32_t e = 0; e < part.sparse.count; ++e) {
        EXPECT_EQ(part.sparse.index[e] + first, truth.sparse.index[entries + e]);
      }
      entries += part.sparse.count;
    }
    EXPECT_EQ(entries, truth.sparse.count);
  }

  StackRing ring_;
  std::size_t accepted_ = 0;
};

TEST_F(StripSums, photons_their_counts_and_verdicts_are_those_of_the_whole) {
  for (const Passes passes : {Passes::fused, Passes::separate}) {
    Pipeline pipeline{
        .kernels = {calibration(), kernel::bragg_count::Config{10, 400, 100'000}, kernel::csr::Config{2, 0.2}},
        .passes = passes};
    expect_whole(pipeline);
    EXPECT_EQ(accepted_, 3U) << "those with spots";
    accepted_ = 0;
  }
}

TEST_F(StripSums, kev_are_those_of_the_whole) {
  expect_whole({.kernels = {calibration(jungfrau::Output::kev)}});
  EXPECT_EQ(accepted_, kImages);
}

TEST_F(StripSums, limits_on_sums_and_on_what_is_masked_are_those_of_the_whole) {
  const kernel::total_counts::Config some{.min_counts = 30'000};
  expect_whole({.kernels = {calibration(), some}});
  EXPECT_EQ(accepted_, 3U);
  expect_whole({.kernels = {calibration(), kernel::total_counts::Config{.max_counts = 30'000}}});
  EXPECT_EQ(accepted_, 6U);
  expect_whole({.kernels = {calibration(), kernel::total_counts::Config{.max_masked = 0.001}}});
  EXPECT_EQ(accepted_, 6U) << "none: more is masked";
  expect_whole({.kernels = {calibration(), kernel::total_counts::Config{.min_counts = 0}}});
  EXPECT_EQ(accepted_, 6U + kImages) << "no minimum";
}

TEST_F(StripSums, any_strip_has_room_for_the_list_of_the_whole) {
  const kernel::csr::Config list{1, 0.1};
  const std::size_t room = kernel::csr::capacity_of(list, std::size_t{kWidth} * kHeight);
  for (const Rows& rows : strips_of(ring_.layout, kMembers)) {
    const StripPipeline part = cut({.kernels = {calibration(), list}}, ring_.layout, rows);
    const std::size_t pixels = std::size_t{kWidth} * rows.count;
    EXPECT_GE(steps_of(part.pipeline, strip_of(ring_.layout, rows)).output.list_capacity, std::min(room, pixels));
  }
}

TEST_F(StripSums, what_needs_images_in_one_piece_is_refused_by_name) {
  jungfrau::Config assembled = calibration();
  assembled.borders = jungfrau::Borders::masked;
  jungfrau::Config following = calibration();
  following.tracking.from = jungfrau::Tracking::From::darks;
  const Rows rows{0, 128};
  for (const kernel::StepOf& step :
       {kernel::StepOf(assembled), kernel::StepOf(following), kernel::StepOf(kernel::accumulate::Config{}),
        kernel::StepOf(kernel::roi_stats::Config{"all=0,0,129,301"})}) {
    const std::string name = step->declaration().name;
    const std::string text = refusal([&] { cut({.kernels = {step}}, ring_.layout, rows); });
    EXPECT_NE(text.find("the kernel " + name + " as it is set needs images in one piece; deal stacks"),
              std::string::npos)
        << text;
  }
}

TEST_F(StripSums, members_meet_where_something_is_decided_and_behind_the_last_step) {
  const auto of = [&](const std::vector<kernel::StepOf>& kernels) {
    const Rows rows{0, 128};
    const StripPipeline part = cut({.kernels = kernels}, ring_.layout, rows);
    std::string text;
    for (const Meeting& one : meetings_of(steps_of(part.pipeline, strip_of(ring_.layout, rows)), part.bounds)) {
      text += std::to_string(one.behind) + ": " + std::to_string(one.first) + "-" + std::to_string(one.end) +
              (one.bounds.empty() ? "; " : " decided; ");
    }
    return text;
  };
  const kernel::bragg_count::Config count{10, 1, 100};
  const kernel::veto::Config rule{"masked_pixels < 100", "masked"};
  EXPECT_EQ(of({calibration()}), "1: 0-2; ");
  EXPECT_EQ(of({calibration(), count, kernel::csr::Config{}}), "2: 0-3 decided; ");
  EXPECT_EQ(of({calibration(), rule}), "1: 0-2; ");
  EXPECT_EQ(of({calibration(), rule, count, rule}), "1: 0-2; 3: 2-3 decided; ");
  EXPECT_EQ(of({calibration(), kernel::csr::Config{}}), "2: 0-2; ");
}

}  // namespace
}  // namespace rashpa::unit
