// SPDX-License-Identifier: Apache-2.0
#include "rashpa/unit/split/strips.hpp"

#include <fmt/core.h>

#include <numeric>
#include <utility>

#include "rashpa/core/error.hpp"

namespace rashpa::unit {

namespace {

constexpr std::uint32_t kTogether = 64;  // pixels

}  // namespace

std::vector<kernel::Rows> strips_of(const Layout& whole, std::uint32_t members) {
  const std::uint32_t step = kTogether / std::gcd(kTogether, whole.width);
  const std::uint32_t steps = whole.height / step + (whole.height % step != 0 ? 1 : 0);
  if (steps < members) {
    throw ConfigError(
        fmt::format("unit: an image of {} × {} pixels makes {} strips of {} rows at most, not {}; name fewer devices, "
                    "or deal stacks to them",
                    whole.width, whole.height, steps, step, members));
  }
  std::vector<kernel::Rows> strips;
  std::uint32_t first = 0;
  for (std::uint32_t member = 1; member <= members; ++member) {
    const auto steps_before = static_cast<std::uint32_t>(std::uint64_t{steps} * member / members);
    const std::uint32_t end = member == members ? whole.height : steps_before * step;
    strips.push_back({first, end - first});
    first = end;
  }
  return strips;
}

Layout strip_of(const Layout& whole, const kernel::Rows& rows) {
  Layout strip = whole;
  strip.height = rows.count;
  strip.images += std::size_t{rows.first} * whole.width * pixel_bytes(whole.input);
  return strip;
}

StripPipeline cut(const Pipeline& pipeline, const Layout& whole, const kernel::Rows& rows) {
  StripPipeline made{pipeline, {}};
  made.pipeline.kernels.clear();
  // A chunk is of a whole image.
  if (pipeline.delivery == Delivery::chunk_in_place) made.pipeline.delivery = Delivery::list_in_place;
  for (const kernel::StepOf& step : pipeline.kernels) {
    auto strip = step->strip({whole.width, whole.height}, rows);
    if (!strip) {
      throw ConfigError(
          fmt::format("unit: the kernel {} as it is set needs images in one piece; deal stacks to the devices, or name "
                      "one device",
                      step->declaration().name));
    }
    made.pipeline.kernels.emplace_back(std::move(strip->step));
    made.bounds.push_back(std::move(strip->bounds));
  }
  return made;
}

std::vector<Meeting> meetings_of(const Steps& steps, const std::vector<std::vector<kernel::Bound>>& bounds) {
  std::vector<Meeting> meetings;
  std::size_t met = 0;
  const std::size_t count = steps.steps.size();
  for (std::size_t i = 0; i < count; ++i) {
    const PlannedStep& step = steps.steps[i];
    if (!step.step->declaration().takes_pixels() && met < step.first_column) {
      meetings.push_back({.behind = i, .first = met, .end = step.first_column});
      met = step.first_column;
    }
    if (bounds[i].empty()) continue;
    const std::size_t end = i + 1 < count ? steps.steps[i + 1].first_column : steps.output.results.columns.size();
    meetings.push_back({.behind = i + 1, .first = met, .end = end, .bounds = bounds[i]});
    met = end;
  }
  if (const std::size_t all = steps.output.results.columns.size(); met < all) {
    meetings.push_back({.behind = count, .first = met, .end = all});
  }
  return meetings;
}

}  // namespace rashpa::unit
