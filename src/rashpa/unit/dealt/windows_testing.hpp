// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Windows of a run by one unit on processors and by another unit with the same pipeline, for tests.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <random>
#include <vector>

#include "rashpa/core/frame/frame_record.hpp"
#include "rashpa/unit/factory.hpp"
#include "rashpa/unit/stack_ring.hpp"

namespace rashpa::unit::windows_testing {

inline constexpr std::uint32_t kWidth = 131, kHeight = 67, kStack = 4, kStacks = 5;
inline constexpr std::size_t kPixels = std::size_t{kWidth} * kHeight;

/// Makes the tested unit.
using Make = std::function<std::unique_ptr<Unit>(const Pipeline&, const Layout&, Doorbell&)>;

/// A window as a sink gets it, with a copy of its quantities.
struct Window {
  AccumulatedView view;
  const Accumulation* facts;
  std::vector<std::vector<std::byte>> quantities;
};

/// Fills an image with small counts, or with float32 values of about 1000; one pixel in fifty is masked.
inline void fill(std::byte* raw, std::uint32_t seed, PixelType pixel) {
  std::mt19937 random(seed + 1);
  for (std::size_t p = 0; p < kPixels; ++p) {
    const auto dice = random();
    const bool masked = dice % 50 == 0;
    if (pixel == PixelType::f32) {
      const float value = masked ? std::numeric_limits<float>::quiet_NaN() : 1e3F + static_cast<float>(dice % 1000) / 7;
      std::memcpy(raw + 4 * p, &value, 4);
    } else {
      const auto value = static_cast<std::uint16_t>(masked ? 65535 : dice % (20 + seed % 7));
      std::memcpy(raw + 2 * p, &value, 2);
    }
  }
}

inline void keep(const Accumulated& accumulated, const std::vector<Accumulation>& facts, std::vector<Window>& all) {
  for (std::size_t a = 0; a < facts.size(); ++a) {
    if (!accumulated[a].ended()) continue;
    Window& window = all.emplace_back(Window{accumulated[a], &facts[a], {}});
    for (std::size_t q = 0; q < facts[a].quantities.size(); ++q) {
      const std::byte* const values = accumulated[a].values[q];
      window.quantities.emplace_back(values, values + facts[a].elements() * bytes_of(facts[a].quantities[q].type));
    }
  }
}

/// Returns all windows that the unit makes of `images` images, with as many stacks in flight as there is room for. Each
/// ninth image is dark.
inline std::vector<Window> windows_of(const Make& make, const Pipeline& pipeline, std::uint32_t images, PixelType pixel,
                                      const std::vector<Accumulation>& facts) {
  StackRing ring(kWidth, kHeight, kStack, kStacks, memory::MemoryKind::pageable, pixel);
  Doorbell bell;
  const auto unit = make(pipeline, ring.layout, bell);
  EXPECT_TRUE(unit->output().results.accumulations == facts);
  std::vector<Window> all;
  const std::uint32_t stacks = (images + kStack - 1) / kStack;
  std::uint32_t submitted = 0;
  for (std::uint32_t taken = 0; taken < stacks; ++taken) {
    for (; submitted < stacks && submitted < taken + kStacks; ++submitted) {
      Stack& stack = ring.all[submitted % kStacks];
      stack.number = submitted;
      stack.count = std::min(kStack, images - submitted * kStack);
      for (std::uint32_t i = 0; i < stack.count; ++i) {
        const std::uint32_t index = submitted * kStack + i;
        fill(stack.images[i].raw, index, pixel);
        stack.images[i].flags = index % 9 == 8 ? std::uint32_t{FrameRecord::dark} : 0U;
      }
      unit->submit(&stack);
    }
    Stack* back = nullptr;
    for (std::uint32_t seen = bell.count(); (back = unit->take()) == nullptr; seen = bell.count()) {
      bell.wait(seen, std::chrono::milliseconds(100));
    }
    EXPECT_EQ(back->number, taken);
    keep(back->accumulated, facts, all);
  }
  keep(concluded(*unit), facts, all);
  EXPECT_EQ(unit->error(), "");
  EXPECT_EQ(notice_of(*unit), "");
  return all;
}

/// Expects equal windows. float64 may differ by the fraction `reals`.
inline void expect_same(const Window& found, const Window& truth, double reals) {
  EXPECT_EQ(found.view.window, truth.view.window);
  EXPECT_EQ(found.view.first, truth.view.first);
  EXPECT_EQ(found.view.end, truth.view.end);
  EXPECT_EQ(found.view.images, truth.view.images);
  ASSERT_EQ(found.facts, truth.facts);
  for (std::size_t q = 0; q < truth.quantities.size(); ++q) {
    SCOPED_TRACE(truth.facts->quantities[q].name);
    if (truth.facts->quantities[q].type != Quantity::Type::f64 || reals == 0) {
      EXPECT_TRUE(found.quantities[q] == truth.quantities[q]);
      continue;
    }
    const auto* const values = reinterpret_cast<const double*>(found.quantities[q].data());
    const auto* const wanted = reinterpret_cast<const double*>(truth.quantities[q].data());
    for (std::size_t e = 0; e < truth.facts->elements(); ++e) {
      ASSERT_EQ(std::isnan(values[e]), std::isnan(wanted[e])) << e;
      if (std::isnan(wanted[e])) continue;
      ASSERT_NEAR(values[e], wanted[e], reals * std::abs(wanted[e])) << e;
    }
  }
}

/// Expects the unit of `make` to give the windows of a unit on processors.
inline void expect_as_one(const Make& make, const Pipeline& pipeline, std::uint32_t images, double reals = 0,
                          PixelType pixel = PixelType::u16) {
  const Make one = [](const Pipeline& same, const Layout& layout, Doorbell& bell) {
    return make_unit({}, same, layout, bell);
  };
  Doorbell bell;
  const StackRing ring(kWidth, kHeight, kStack, kStacks, memory::MemoryKind::pageable, pixel);
  const std::vector<Accumulation> facts = one(pipeline, ring.layout, bell)->output().results.accumulations;
  const std::vector<Window> truth = windows_of(one, pipeline, images, pixel, facts);
  const std::vector<Window> found = windows_of(make, pipeline, images, pixel, facts);
  ASSERT_EQ(found.size(), truth.size());
  for (std::size_t w = 0; w < truth.size(); ++w) {
    SCOPED_TRACE(testing::Message() << "window " << w);
    expect_same(found[w], truth[w], reals);
  }
}

}  // namespace rashpa::unit::windows_testing
