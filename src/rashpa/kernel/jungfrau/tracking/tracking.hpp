// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Pedestals of the highest gain that follow the detector during a measurement. Each pixel has a running mean and
/// variance from dark images, optionally also from pixels without a photon (README.md).
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "rashpa/kernel/jungfrau/jungfrau.hpp"
#include "rashpa/memory/buffer.hpp"

namespace rashpa::kernel::jungfrau {

/// The drift of the pedestals since the calibration, in units of their RMS there, over all valid pixels.
struct Drift {
  double median = 0;
  double worst = 0;
  friend bool operator==(const Drift&, const Drift&) = default;
};

/// The running mean and variance of one pixel: sum ← sum + x − sum/N, the same for squares, and P = sum/N, written in
/// the form of their use.
struct Running {
  float pedestal = 0;  ///< ADU
  float variance = 0;  ///< ADU²
};
/// Returns the running mean and variance after `adu` of a pixel in G0; `inverse` = float32(1/N). The plain reference.
inline Running follow(const Running& before, float adu, float inverse) noexcept {
  const float far = adu - before.pedestal;
  return {before.pedestal + far * inverse, (before.variance + far * far * inverse) * (1.0F - inverse)};
}

/// The bins of the drift histogram of |P − P_start| / RMS. Bins are 1 / kBinsPerSigma wide; the last one includes all
/// larger values.
inline constexpr std::size_t kDriftBins = 4096;
inline constexpr float kBinsPerSigma = 100;
/// Returns the drift at the middle of the bin that contains the median pixel.
constexpr Drift drift_of(std::size_t median_bin, float worst) noexcept {
  return {(static_cast<double>(median_bin) + 0.5) / kBinsPerSigma, worst};
}
/// Returns the number of followed images between two checks of the drift.
inline std::uint64_t images_between_looks(const Tracking& settings) noexcept {
  return std::max<std::uint64_t>(1, settings.images / 8);
}

/// The state of the pixels before the first image, up to a multiple of kGroup pixels; 0 for pixels without a valid
/// calibration in G0.
struct AtStart {
  /// Computes the state. Throws ConfigError when the calibration has no RMS, or one that is no number.
  AtStart(const Config& config, const Prepared& calibration);
  std::vector<float> pedestal;
  std::vector<float> variance;
  std::vector<float> inverse_sigma;  ///< 0 also where the RMS is 0
};

/// An alarm that stays on once the pedestals have drifted too far. One thread calls see(), any thread the rest.
class DriftAlarm {
 public:
  /// Sets the alarm to a median drift of `at` RMS; 0: never.
  explicit DriftAlarm(double at) : at_(at) {}
  void see(const Drift& drift) noexcept {
    if (at_ > 0 && drift.median >= at_) seen_.store(drift.median, std::memory_order_relaxed);
  }
  /// Returns a text about the drift once the alarm is on; empty before.
  [[nodiscard]] std::string notice() const;

 private:
  double at_;
  std::atomic<double> seen_{0};  // relaxed: a unit's thread writes, a status reads one value
};

/// Changes the tables of a Prepared calibration while they are in use. It handles one stack at a time: its images are
/// converted with the tables that earlier stacks have left, and then its dark images are followed, block by block. With
/// Tracking::at_once(), each image is followed before the next one is converted, block by block.
class Tracker {
 public:
  /// Takes the memory. `calibration` was prepared from `config` and outlives the object. Throws ConfigError when the
  /// calibration has no RMS, or one that is no number, ResourceError when there is no memory.
  Tracker(const Config& config, Prepared& calibration, unsigned workers);

  /// Some images of a stack. dark[i] ≠ 0: all pixels of image i that are in G0 are followed.
  struct Images {
    std::size_t count = 0;
    const std::uint16_t* const* raw = nullptr;
    const std::uint8_t* dark = nullptr;
  };
  /// Applies the changes of the previous stack, before the first follow() of a stack. One thread.
  void begin() noexcept;
  /// Follows pixels [first, last) of all images; `first` is a multiple of kGroup. Several threads, for different
  /// pixels. With Tracking::at_once(), `images` is one image, and look_at() follows the last one.
  void follow(unsigned worker, const Images& images, std::size_t first, std::size_t last) noexcept;

  /// Computes the drift of pixels [first, last) when it is due, behind the last image of a stack.
  void look_at(unsigned worker, std::size_t first, std::size_t last) noexcept {
    if (looking_) look(histograms_[worker], first, last);
  }

  /// Returns the drift when it was last computed: in the first stack, and after each further eighth of
  /// Tracking::images.
  [[nodiscard]] const Drift& drift() const noexcept { return drift_; }
  /// Returns the number of images followed before the present stack.
  [[nodiscard]] std::uint64_t followed() const noexcept { return followed_; }
  /// Returns the present state of a pixel. Slow, for tests.
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
  /// 0: all pixels in G0; otherwise only pixels within this many σ of their pedestal, without the variance
  float limit = 0;
};
/// Follows groups of pixels with the machine's widest vectors. `table` is that of the first group in G0, with 2 ·
/// kGroup floats for each group.
void follow_groups(float* table, float* variance, std::size_t groups, const std::uint16_t* raw,
                   const Follow& follow) noexcept;

}  // namespace rashpa::kernel::jungfrau
