// SPDX-License-Identifier: Apache-2.0
#include "rashpa/dataset/jungfrau/jungfrau_calibration.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "rashpa/dataset/random.hpp"

namespace rashpa::dataset {

namespace {

constexpr std::uint64_t kPurposePixels = 0x6A660001;
constexpr std::uint64_t kPurposeChips = 0x6A660002;
constexpr std::uint64_t kPurposeDefects = 0x6A660003;
constexpr std::uint32_t kDead = 1U << 1;
// The share of the pedestals' variance that all pixels of a chip have in common (chip medians on M049 spread by 85 of
// 216 ADU).
constexpr float kChipShare = 0.15F;
constexpr float kFarthest = 4.5F;  // standard deviations; keeps 23 photons in G0 and 660 in G1 inside 14 bits

float bounded_normal(Random& random) noexcept { return std::clamp(random.normal(), -kFarthest, kFarthest); }

/// Three numbers of variance 1 with the correlations of the pedestals: G1 and G2 share nearly all, G0 little of it.
std::array<float, 3> correlated(Random& random, const JungfrauFacts& facts) noexcept {
  const float shared = bounded_normal(random);
  const auto c = static_cast<float>(facts.pedestal_correlation_g12);
  const auto to_g0 = static_cast<float>(facts.pedestal_correlation_g0) / std::sqrt(c);
  return {to_g0 * shared + std::sqrt(1 - to_g0 * to_g0) * bounded_normal(random),
          std::sqrt(c) * shared + std::sqrt(1 - c) * bounded_normal(random),
          std::sqrt(c) * shared + std::sqrt(1 - c) * bounded_normal(random)};
}

using ChipOffsets = std::array<std::array<float, 3>, kJungfrauChips>;

/// One triple a chip; their mean over the chips is taken away, so that the module's median stays where it was measured.
ChipOffsets chip_offsets(std::uint64_t seed, std::uint32_t module, const JungfrauFacts& facts) {
  Random random(seed, kPurposeChips, module);
  ChipOffsets offsets{};
  std::array<float, 3> mean{};
  for (auto& chip : offsets) {
    chip = correlated(random, facts);
    for (std::size_t k = 0; k < 3; ++k) mean[k] += chip[k] / kJungfrauChips;
  }
  for (auto& chip : offsets) {
    for (std::size_t k = 0; k < 3; ++k) chip[k] = std::clamp(chip[k] - mean[k], -2.0F, 2.0F);
  }
  return offsets;
}

float between(Random& random, const double (&range)[2]) noexcept {
  const double middle = (range[0] + range[1]) / 2;
  const double sigma = (range[1] - range[0]) / 5;
  return static_cast<float>(std::clamp(middle + sigma * random.normal(), range[0], range[1]));
}

void make_row(JungfrauModule& out, std::uint32_t row, Random random, const ChipOffsets& chips,
              const JungfrauFacts& facts) {
  for (std::uint32_t column = 0; column < kJungfrauWidth; ++column) {
    const std::size_t at = std::size_t{row} * kJungfrauWidth + column;
    const auto& chip = chips[row / kJungfrauChip * 4 + column / kJungfrauChip];
    const auto own = correlated(random, facts);
    for (std::size_t k = 0; k < 3; ++k) {
      const float spread = std::sqrt(kChipShare) * chip[k] + std::sqrt(1 - kChipShare) * own[k];
      out.pedestal[k * kJungfrauPixels + at] =
          static_cast<float>(facts.pedestal_adu[k] + facts.pedestal_sigma_adu[k] * spread);
      out.gain[k * kJungfrauPixels + at] =
          static_cast<float>(facts.gain_adu_per_kev[k] * (1 + facts.gain_sigma[k] * bounded_normal(random)));
    }
    out.noise[at] = static_cast<float>(facts.noise_adu[0] * (1 + 0.08 * bounded_normal(random)));
    out.to_g1_kev[at] = between(random, facts.to_g1_kev);
    out.to_g2_kev[at] = between(random, facts.to_g2_kev);
  }
}

void place_defects(JungfrauModule& out, Random random, const JungfrauFacts& facts) {
  const auto place = [&](PixelKind kind, std::uint32_t count) {
    for (std::uint32_t done = 0; done < count;) {
      const std::uint32_t at = random.below(kJungfrauPixels);
      if (out.kind[at] != PixelKind::normal) continue;
      out.kind[at] = kind;
      if (kind == PixelKind::dead) out.mask[at] = kDead;
      ++done;
    }
  };
  place(PixelKind::always_g1, facts.always_g1);
  place(PixelKind::always_g2, facts.always_g2);
  place(PixelKind::dead, facts.dead);
}

}  // namespace

JungfrauModule make_jungfrau_module(std::uint64_t seed, std::uint32_t module, const JungfrauFacts& facts) {
  JungfrauModule out;
  out.pedestal.resize(std::size_t{3} * kJungfrauPixels);
  out.gain.resize(std::size_t{3} * kJungfrauPixels);
  for (auto* map : {&out.noise, &out.to_g1_kev, &out.to_g2_kev}) map->resize(kJungfrauPixels);
  out.mask.resize(kJungfrauPixels, 0);
  out.kind.resize(kJungfrauPixels, PixelKind::normal);
  const ChipOffsets chips = chip_offsets(seed, module, facts);
  for (std::uint32_t row = 0; row < kJungfrauHeight; ++row) {
    make_row(out, row, Random(seed, kPurposePixels, module, row), chips, facts);
  }
  place_defects(out, Random(seed, kPurposeDefects, module), facts);
  return out;
}

}  // namespace rashpa::dataset
