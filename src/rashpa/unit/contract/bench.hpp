// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The common part of the tests of the unit contract: recipes of pipelines, a ring of stacks with synthetic images, a
/// unit that runs them, and the plain references' results for the same images.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "rashpa/core/system/doorbell.hpp"
#include "rashpa/kernel/bragg_count/bragg_count.hpp"
#include "rashpa/kernel/csr/csr.hpp"
#include "rashpa/kernel/jungfrau/jungfrau.hpp"
#include "rashpa/unit/stack_ring.hpp"
#include "rashpa/unit/unit_contract.hpp"

namespace rashpa::unit::contract {

namespace jungfrau = kernel::jungfrau;
namespace bragg_count = kernel::bragg_count;
namespace csr = kernel::csr;

inline constexpr std::uint32_t kWidth = 129;
inline constexpr std::uint32_t kHeight = 101;
inline constexpr std::size_t kPixels = std::size_t{kWidth} * kHeight;

/// The recipe of a pipeline, which units and plain references both follow.
struct Recipe {
  std::optional<jungfrau::Config> conversion{};
  std::optional<bragg_count::Config> veto{};
  std::optional<csr::Config> list{};
  PixelType input = PixelType::u16;
  std::int64_t largest_count = kNoLargestCount;
  PartialPolicy partial = PartialPolicy::keep;
  bool keep_darks = false;
  Delivery delivery = Delivery::everything;
  Passes passes = Passes::fused;

  [[nodiscard]] Pipeline pipeline() const;
  [[nodiscard]] bool fits_resident() const { return conversion && ((!list && !veto) || passes == Passes::fused); }
};

jungfrau::Config calibration(jungfrau::Output output);
/// Returns conversion to photons and a veto that keeps each second image, which has spots.
Recipe vetoing(std::uint32_t min_pixels = 100);
/// Returns the recipe of vetoing() with a list of pixels.
Recipe full(std::uint32_t min_pixels = 100, double capacity = 0.2);

/// A unit with stacks of images for it.
struct Bench {
  Bench(const Contestant& who, Recipe recipe_in, std::uint32_t k = 5, std::uint32_t stacks = 3);
  /// Returns false when the unit has correctly refused the pipeline.
  [[nodiscard]] bool runs() const { return unit != nullptr; }
  /// Returns the next finished stack; null after ten seconds.
  Stack* wait();
  void run_all();
  [[nodiscard]] std::uint64_t scalar(const StackImage& image, const char* name) const;
  [[nodiscard]] std::string reason(const StackImage& image) const;
  /// Expects all results of a processed image to equal those of the plain references.
  void expect_as_reference(const StackImage& image) const;
  void expect_all_as_references() const;

  Recipe recipe;
  StackRing ring;
  Doorbell bell;
  std::unique_ptr<Unit> unit;
};

}  // namespace rashpa::unit::contract
