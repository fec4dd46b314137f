// SPDX-License-Identifier: Apache-2.0
#include "unit_rows.hpp"

#include <fmt/format.h>

#include <string>

#include "random_stack.hpp"
#include "rashpa/card/unit_card.hpp"

namespace rashpa::sim {

namespace {

void print(const std::string& what, double value, const char* unit, const char* against, double against_value) {
  fmt::print(
      "{{\"what\": \"{}\", \"value\": {:.4f}, \"unit\": \"{}\", \"against\": \"{}\", \"against_value\": {:.4f}}}\n",
      what, value, unit, against, against_value);
}

}  // namespace

bool print_unit_rows(std::uint32_t latency, std::uint32_t seed) {
  bool right = true;
  for (const std::uint32_t stack : {1U, 10U}) {
    for (const std::uint64_t pixels : {std::uint64_t{1} << 19U, std::uint64_t{1} << 20U}) {
      RandomStack images(pixels, stack, latency, seed);
      const double began = processor_seconds();
      const auto cycles = static_cast<double>(images.process());
      const double took = processor_seconds() - began;
      right &= images.right();
      const std::string what =
          fmt::format("unit, {}M pixels, stack of {}", static_cast<double>(pixels) / (1U << 20U), stack);
      const auto beats = static_cast<double>(pixels) / card::kUnitBeatPixels;
      print(what + ": cycles an image", cycles / stack, "cycles", "beats of an image", beats);
      print(what + ": beats a cycle", beats * stack / cycles, "beats", "each cycle one", 1.0);
      if (pixels == std::uint64_t{1} << 20U && stack == 10) {
        print("unit, ten images of 1M pixels: the simulation", took, "s of one core", "what it may take", 10.0);
      }
    }
  }
  constexpr std::int16_t kBright = 10;
  RandomStack listed(std::uint64_t{1} << 19U, 10, latency, seed, kBright);
  const auto cycles = static_cast<double>(listed.process());
  right &= listed.right();
  const auto beats = 10 * static_cast<double>(std::uint64_t{1} << 19U) / card::kUnitBeatPixels;
  print("unit, 0.5M pixels, stack of 10, with lists: beats a cycle", beats / cycles, "beats",
        "of all pixels, those in lists", listed.listed());
  return right;
}

}  // namespace rashpa::sim
