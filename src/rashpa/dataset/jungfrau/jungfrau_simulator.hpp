// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "rashpa/dataset/jungfrau/crystal_scene.hpp"
#include "rashpa/dataset/jungfrau/jungfrau_calibration.hpp"
#include "rashpa/dataset/making.hpp"
#include "rashpa/dataset/memory_dataset.hpp"

namespace rashpa::dataset {

enum class FrameKind : std::uint8_t { dark = 0, blank = 1, hit = 2 };
enum class Truth : std::uint8_t { drop, keep };

struct JungfrauParameters {
  std::uint32_t modules = 2;
  std::uint64_t frames = 60;  ///< distinct frames; a run repeats them
  std::uint64_t seed = 1;
  double energy_kev = 12.4;
  double hit_fraction = 0.3;        ///< fraction of the frames that are not dark, rounded to a whole number of frames
  std::uint32_t dark_every = 10;    ///< frame n is dark when n mod dark_every = dark_every − 1; 0: no dark frames
  std::uint32_t spots = 80;         ///< Bragg reflections of a hit, over all modules
  double background_photons = 1.0;  ///< mean of the pixels of a hit; a blank has 0.85 of it
  Truth truth = Truth::drop;
  unsigned threads = 0;             ///< 0: one for each processor. The frames do not depend on this number.
  std::vector<ModulePlace> places;  ///< of all modules in the assembled image; empty: gapless_places()
};

/// Synthetic raw frames of a JUNGFRAU detector: 16-bit words with gain code and ADU in all three gains. They come from
/// a crystal scene and each pixel's own pedestal, gain, noise and switching points. Dark frames have FrameRecord::dark.
class JungfrauDataset final : public MemoryDataset {
 public:
  /// Makes all frames. Throws ConfigError for impossible parameters, ResourceError when memory is short.
  explicit JungfrauDataset(const JungfrauParameters& parameters, Making* making = nullptr);

  [[nodiscard]] const JungfrauParameters& parameters() const noexcept { return parameters_; }
  /// Returns the constants that made the frames, which a perfect calibration would find. `module` < modules().
  [[nodiscard]] const JungfrauModule& calibration(std::uint32_t module) const noexcept { return calibration_[module]; }
  /// Returns the kind of each frame.
  [[nodiscard]] std::span<const FrameKind> kinds() const noexcept { return kinds_; }
  /// Returns the photons that hit each pixel, [512][1024], at most 65535; empty with Truth::drop.
  [[nodiscard]] std::span<const std::uint16_t> photons(std::uint32_t module, std::uint64_t frame) const noexcept;

 private:
  JungfrauParameters parameters_;
  std::vector<JungfrauModule> calibration_;
  std::vector<FrameKind> kinds_;
  memory::Buffer truth_;
};

}  // namespace rashpa::dataset
