// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Pedestals of the highest gain that follow the detector while it measures: a running mean and variance of every
/// pixel, from dark images, or also from pixels that have no photon (README.md).
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "rashpa/kernel/jungfrau/jungfrau.hpp"
#include "rashpa/memory/buffer.hpp"

namespace rashpa::kernel::jungfrau {

/// How far the pedestals have moved from those of the calibration, in units of their RMS there, over all valid pixels.
struct Drift {
  double median = 0;
  double worst = 0;
  friend bool operator==(const Drift&, const Drift&) = default;
};

/// One pixel: sum ← sum + x − sum/N and the same for squares, with P = sum/N, written in the form of their use.
struct Running {
  float pedestal = 0;  ///< ADU
  float variance = 0;  ///< ADU²
};
/// The plain reference: `adu` of a pixel in G0, and its running mean and variance behind it; `inverse` = float32(1/N).
inline Running follow(const Running& before, float adu, float inverse) noexcept {
  const float far = adu - before.pedestal;
  return {before.pedestal + far * inverse, (before.variance + far * far * inverse) * (1.0F - inverse)};
}

/// The drift is looked at in a histogram of |P − P_start| / RMS: bins of 1 / kBinsPerSigma, the last one has all
/// beyond.
inline constexpr std::size_t kDriftBins = 4096;
inline constexpr float kBinsPerSigma = 100;
/// The drift at the middle of the bin in which the median pixel is.
constexpr Drift drift_of(std::size_t median_bin, float worst) noexcept {
  return {(static_cast<double>(median_bin) + 0.5) / kBinsPerSigma, worst};
}
/// Returns the number of images that are followed between two checks of the drift.
inline std::uint64_t images_between_looks(const Tracking& settings) noexcept {
  return std::max<std::uint64_t>(1, settings.images / 8);
}

/// The state of the pixels before the first image, pixel by pixel up to a multiple of kGroup; 0 of pixels without
/// a valid calibration in G0.
struct AtStart {
  /// Throws ConfigError when the calibration has no RMS, or one that is no number.
  AtStart(const Config& config, const Prepared& calibration);
  std::vector<float> pedestal;
  std::vector<float> variance;
  std::vector<float> inverse_sigma;  ///< 0, too, where the RMS is 0
};

/// Remembers that the pedestals have moved too far. The alarm stays from then on. see() is called by one thread, the
/// rest by any.
class DriftAlarm {
 public:
  /// `at`: median drift in RMS; 0: never.
  explicit DriftAlarm(double at) : at_(at) {}
  void see(const Drift& drift) noexcept {
    if (at_ > 0 && drift.median >= at_) seen_.store(drift.median, std::memory_order_relaxed);
  }
  /// Describes in words how pedestals have moved; empty when they have not.
  [[nodiscard]] std::string notice() const;

 private:
  double at_;
  std::atomic<double> seen_{0};  // relaxed: a unit's thread writes, a status reads one value
};

/// The tables of a Prepared calibration, changed while it is in use. One stack at a time: its images are converted with
/// the tables as the stacks before it have left them, then its dark images are followed, by blocks of pixels.
class Tracker {
 public:
  /// `calibration` was prepared from `config` and outlives it. Throws ConfigError when the calibration has no RMS, or
  /// one that is no number, ResourceError when there is no memory.
  Tracker(const Config& config, Prepared& calibration, unsigned workers);

  /// Some images of a stack. `dark[i]` ≠ 0: of image i all pixels in G0 are followed.
  struct Images {
    std::size_t count = 0;
    const std::uint16_t* const* raw = nullptr;
    const std::uint8_t* dark = nullptr;
  };
  /// Settles the changes of the stack before, ahead of the first follow() of a stack. One thread.
  void begin() noexcept;
  /// Pixels [first, last) of all images; `first` is a multiple of kGroup. Several threads, for different pixels.
  void follow(unsigned worker, const Images& images, std::size_t first, std::size_t last) noexcept;

  /// The drift when it was last computed: in the first stack, and whenever an eighth of Tracking::images more were
  /// followed.
  [[nodiscard]] const Drift& drift() const noexcept { return drift_; }
  /// Images that were followed, before the stack in hand.
  [[nodiscard]] std::uint64_t followed() const noexcept { return followed_; }
  /// The present state of a pixel. For tests: slow.
  [[nodiscard]] Running at(std::size_t pixel) const noexcept;

 private:
  struct Histogram {
    std::vector<std::uint32_t> bins;
    float worst = 0;
  };
  [[nodiscard]] float* variance() const noexcept { return reinterpret_cast<float*>(variances_.data()); }
  void look(Histogram& histogram, std::size_t first, std::size_t last) noexcept;

  Prepared* calibration_;
  Tracking settings_;
  float inverse_;
  memory::Buffer variances_;          // float by group: of even pixels, of odd ones, as Prepared::table
  std::vector<float> start_;          // pedestal of the calibration, in the same order
  std::vector<float> inverse_sigma_;  // 0: not a valid pixel
  std::vector<Histogram> histograms_;
  std::uint64_t followed_ = 0;
  std::uint64_t in_hand_ = 0;  // of the stack in hand: written by the one thread that has pixel 0
  std::uint64_t next_look_ = 0;
  bool looking_ = false;
  Drift drift_{};
};

/// The parameters of following one image.
struct Follow {
  float inverse = 0;  ///< float32(1/N)
  float limit = 0;    ///< σ: only pixels that are no farther from their pedestal, and no variance; 0: all pixels in G0
};
/// Groups of pixels, the widest vectors of the machine. `table`: of the first group in G0, 2 · kGroup floats a group.
void follow_groups(float* table, float* variance, std::size_t groups, const std::uint16_t* raw,
                   const Follow& follow) noexcept;

}  // namespace rashpa::kernel::jungfrau
