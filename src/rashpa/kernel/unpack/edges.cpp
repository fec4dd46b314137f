// SPDX-License-Identifier: Apache-2.0
#include "rashpa/kernel/unpack/edges.hpp"

#include <array>
#include <cstddef>
#include <optional>

namespace rashpa::kernel::unpack {

namespace {

constexpr std::size_t kMostPixels = 16;  // of a byte each, in the bytes that are stored at once

std::size_t counters_of(const Config& config) noexcept { return config.packed().pixels() * 8 / count_of(config.bits); }

/// No value in a gap.
std::optional<std::uint32_t> counter_of(const Config& config, std::uint32_t pixel) noexcept {
  const std::uint32_t step_x = config.module_width + config.gap_x, step_y = config.module_height + config.gap_y;
  const std::uint32_t line = pixel / config.made().width, column = pixel % config.made().width;
  if (line % step_y >= config.module_height || column % step_x >= config.module_width) return {};
  const std::uint32_t lines = line / step_y * config.module_height + line % step_y;
  return (lines * config.modules_across + column / step_x) * config.module_width + column % step_x;
}

/// The edge in the `count` pixels from `pixel` on, if there is one.
std::optional<Edge> edge_at(const Config& config, std::uint32_t pixel, std::uint32_t count) {
  Edge edge{pixel, 0, 0, Edge::kSingly, static_cast<std::uint16_t>(count)};
  if (std::size_t{pixel} + count > config.made().pixels()) return edge;
  const auto first = counter_of(config, pixel);
  if (first && (!has_gaps(config) || *first % config.module_width + count <= config.module_width)) return {};
  std::array<std::optional<std::uint32_t>, kMostPixels> counter{first};
  for (std::uint32_t k = 1; k < count; ++k) counter[k] = counter_of(config, pixel + k);
  // How many pixels from `k` on are of counters that follow one another.
  const auto run = [&](std::uint32_t k) {
    std::uint32_t length = 0;
    while (k + length < count && counter[k] && counter[k + length] == *counter[k] + length) ++length;
    return length;
  };
  const auto readable = [&](std::uint32_t from) { return std::size_t{from} + count <= counters_of(config); };
  const std::uint32_t before = run(0);
  std::uint32_t after = before;
  while (after < count && !counter[after]) ++after;
  if (before != 0 && !readable(*first)) return edge;
  if (after != count) {
    if (after + run(after) != count || *counter[after] < after || !readable(*counter[after] - after)) return edge;
    edge.second = *counter[after] - after;
  }
  edge.first = first.value_or(0);
  edge.before = static_cast<std::uint16_t>(before);
  edge.after = static_cast<std::uint16_t>(after);
  return edge;
}

}  // namespace

bool has_gaps(const Config& config) noexcept { return config.made().pixels() != counters_of(config); }

std::vector<Edge> edges_of(const Config& config) {
  const auto count = static_cast<std::uint32_t>(kMostPixels / pixel_bytes(type_of(config.bits)));
  std::vector<Edge> edges;
  for (std::uint32_t pixel = 0; pixel < config.made().pixels(); pixel += count) {
    if (const auto edge = edge_at(config, pixel, count)) edges.push_back(*edge);
  }
  return edges;
}

}  // namespace rashpa::kernel::unpack
