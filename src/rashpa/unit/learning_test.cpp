// SPDX-License-Identifier: Apache-2.0
/// Dark images reach the steps that learn from them, and no others; results do not depend on threads.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "rashpa/core/error.hpp"
#include "rashpa/core/frame/frame_record.hpp"
#include "rashpa/kernel/accumulate/accumulate.hpp"
#include "rashpa/kernel/bragg_count/bragg_count.hpp"
#include "rashpa/kernel/jungfrau/testing/synthetic.hpp"
#include "rashpa/kernel/jungfrau/tracking/tracking.hpp"
#include "rashpa/unit/factory.hpp"
#include "rashpa/unit/stack_ring.hpp"
#include "rashpa/unit/steps.hpp"

namespace rashpa::unit {
namespace {

namespace jungfrau = kernel::jungfrau;

constexpr std::uint32_t kWidth = 300;
constexpr std::uint32_t kHeight = 70;
constexpr std::size_t kPixels = std::size_t{kWidth} * kHeight;
constexpr std::uint32_t kStack = 4;
constexpr std::uint32_t kStacks = 5;

using From = jungfrau::Tracking::From;

jungfrau::Config tracked(From from = From::darks) {
  auto config = jungfrau::synthetic::config(kWidth, kHeight, jungfrau::Output::photons, 1);
  config.calibration.rms.assign(kPixels, 24.0F);
  config.tracking = {from, 20, 3.0, 0.5};
  return config;
}

/// The second image of each stack is dark, and all words are 60 ADU above their pedestals and photons.
struct Played {
  Played() : ring(kWidth, kHeight, kStack, kStacks, memory::MemoryKind::pageable) {
    const auto config = tracked();
    jungfrau::synthetic::Random random(4);
    for (std::uint32_t s = 0; s < kStacks; ++s) {
      for (std::uint32_t i = 0; i < kStack; ++i) {
        StackImage& image = ring.all[s].images[i];
        if (i == 1) image.flags = FrameRecord::dark;
        std::vector<std::uint16_t> words(kPixels);
        for (std::size_t p = 0; p < kPixels; ++p) {
          const double photons = i != 1 && random.below(10) == 0 ? 12 : 0;
          words[p] = jungfrau::synthetic::word_of(photons, config, p, 60 + 24 * random.normal());
        }
        std::memcpy(image.raw, words.data(), kPixels * 2);
      }
    }
  }
  void through(Unit& unit) {
    for (Stack& stack : ring.all) {
      unit.submit(&stack);
      while (unit.take() == nullptr) {
      }
    }
  }
  StackRing ring;
};

Pipeline pipeline(bool keep_darks = false) {
  return {.kernels = {tracked(), kernel::bragg_count::Config{10, 10, 4'000'000}}, .keep_darks = keep_darks};
}

TEST(Learning, images_of_a_stack_have_the_pedestals_that_the_stacks_before_have_left) {
  for (const unsigned threads : {1U, 2U, 5U}) {
    Played run;
    Doorbell bell;
    const auto unit = make_unit({.cores = {threads, -1}}, pipeline(), run.ring.layout, bell);
    run.through(*unit);
    jungfrau::Config now = tracked();  // moved by the plain reference
    std::vector<jungfrau::Running> running(kPixels);
    for (std::size_t p = 0; p < kPixels; ++p) running[p] = {now.calibration.pedestal[p], 24.0F * 24.0F};
    for (std::uint32_t s = 0; s < kStacks; ++s) {
      for (std::uint32_t i = 0; i < kStack; ++i) {
        const StackImage& image = run.ring.all[s].images[i];
        if (i == 1) {
          EXPECT_EQ(image.decision, Decision::vetoed);
          EXPECT_EQ(image.reason, VetoReason::dark);
          EXPECT_FALSE(image.measured);
          continue;
        }
        ASSERT_EQ(image.decision, Decision::accepted);
        const auto* raw = reinterpret_cast<const std::uint16_t*>(image.raw);
        const auto* pixels = reinterpret_cast<const std::int16_t*>(image.pixels);
        for (std::size_t p = 0; p < kPixels; ++p) {
          ASSERT_EQ(pixels[p], jungfrau::photons_of(raw[p], now, p)) << "stack " << s << " pixel " << p;
        }
      }
      const auto* dark = reinterpret_cast<const std::uint16_t*>(run.ring.all[s].images[1].raw);
      for (std::size_t p = 0; p < kPixels; ++p) {
        if (dark[p] <= 0x3FFF) running[p] = jungfrau::follow(running[p], dark[p], 1.0F / 20);
        now.calibration.pedestal[p] = running[p].pedestal;
      }
    }
    // columns: masked, saturated, drift, worst drift; the alarm is at 0.5 RMS
    const StackImage& last = run.ring.all[kStacks - 1].images[0];
    EXPECT_GT(last.scalars[2].real(), 0.2);
    EXPECT_GT(last.scalars[3].real(), last.scalars[2].real());
    EXPECT_EQ(run.ring.all[0].images[0].scalars[2].real(), 0.0);
  }
}

/// Moves a pixel by the plain reference, as far as its word is followed.
jungfrau::Running moved(const jungfrau::Running& before, std::uint16_t word, bool dark) {
  if (word > 0x3FFF) return before;
  const jungfrau::Running next = jungfrau::follow(before, word, 1.0F / 20);
  if (dark) return next;
  const float far = static_cast<float>(word) - before.pedestal;
  return far * far <= 9.0F * before.variance ? jungfrau::Running{next.pedestal, before.variance} : before;
}

TEST(Learning, the_very_next_image_has_the_pedestals_of_the_one_before_it) {
  for (const From from : {From::next, From::every}) {
    for (const bool keep_darks : {false, true}) {
      for (const unsigned threads : {1U, 3U}) {
        SCOPED_TRACE(testing::Message() << static_cast<int>(from) << keep_darks << threads);
        Played run;
        Doorbell bell;
        const auto unit = make_unit({.cores = {threads, -1}}, {.kernels = {tracked(from)}, .keep_darks = keep_darks},
                                    run.ring.layout, bell);
        run.through(*unit);
        jungfrau::Config now = tracked(from);
        std::vector<jungfrau::Running> running(kPixels);
        for (std::size_t p = 0; p < kPixels; ++p) running[p] = {now.calibration.pedestal[p], 24.0F * 24.0F};
        for (std::uint32_t s = 0; s < kStacks; ++s) {
          for (std::uint32_t i = 0; i < kStack; ++i) {
            const StackImage& image = run.ring.all[s].images[i];
            const bool dark = i == 1;
            ASSERT_EQ(image.decision == Decision::accepted, keep_darks || !dark);
            const auto* raw = reinterpret_cast<const std::uint16_t*>(image.raw);
            const auto* pixels = reinterpret_cast<const std::int16_t*>(image.pixels);
            for (std::size_t p = 0; p < kPixels; ++p) {
              if (image.decision == Decision::accepted) {
                ASSERT_EQ(pixels[p], jungfrau::photons_of(raw[p], now, p)) << "stack " << s << " image " << i;
              }
              if (!dark && from == From::next) continue;
              running[p] = moved(running[p], raw[p], dark);
              now.calibration.pedestal[p] = running[p].pedestal;
            }
          }
        }
        const StackImage& last = run.ring.all[kStacks - 1].images[0];
        EXPECT_GT(last.scalars[2].real(), 0.2);
      }
    }
  }
}

TEST(Learning, kept_darks_are_images_like_others) {
  Played run;
  Doorbell bell;
  Pipeline kept{.kernels = {tracked()}, .keep_darks = true};
  const auto unit = make_unit({.cores = {2, -1}}, kept, run.ring.layout, bell);
  run.through(*unit);
  EXPECT_EQ(run.ring.all[2].images[1].decision, Decision::accepted);
  EXPECT_TRUE(run.ring.all[2].images[1].measured);
}

TEST(Learning, an_alarm_is_a_notice) {
  Played run;
  Doorbell bell;
  const auto unit = make_unit({.cores = {1, -1}}, pipeline(), run.ring.layout, bell);
  EXPECT_EQ(notice_of(*unit), "");
  for (int round = 0; round < 3; ++round) run.through(*unit);
  EXPECT_NE(notice_of(*unit).find("the drift_alarm is 0.5; calibrate again"), std::string::npos) << notice_of(*unit);
}

TEST(Learning, nothing_accumulates_what_is_only_learned_from) {
  const Played played;
  Pipeline pipeline{{kernel::accumulate::Config{.sum = true}, tracked()}};
  EXPECT_THROW(steps_of(pipeline, played.ring.layout), ConfigError);
  pipeline.keep_darks = true;
  EXPECT_NO_THROW(steps_of(pipeline, played.ring.layout));
  EXPECT_NO_THROW(steps_of({{tracked(), kernel::accumulate::Config{.sum = true}}}, played.ring.layout));
}

}  // namespace
}  // namespace rashpa::unit
