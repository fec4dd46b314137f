// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Azimuthal integration: the pixels of an image summed by bins of their radius, or of radius and azimuth. README.md
/// has the formulas.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "rashpa/kernel/step.hpp"

namespace rashpa::kernel::azimuthal {

enum class Errors : std::uint8_t {
  none,
  poisson,    ///< the variance of a pixel is its count, at least 1, plus its dark
  azimuthal,  ///< the variance of a bin is how its pixels differ
};

inline constexpr std::uint32_t kNoBin = 0xFFFFFFFF;
inline constexpr std::size_t kFewBins = 4096;  ///< up to so many, threads share an image

struct Config {
  Errors errors = Errors::poisson;
  std::vector<double> radial_axis{};     ///< centres of the bins
  std::vector<double> azimuthal_axis{};  ///< degrees; empty: one-dimensional
  std::string unit{};                    ///< of the radial axis
  std::vector<std::uint32_t> bins{};     ///< of each pixel: azimuth · radial bins + radius, or kNoBin
  std::vector<float> norm{};             ///< of each pixel: what its count is divided by, above 0
  std::vector<float> dark{};             ///< of each pixel: photons to subtract; empty: none
  std::uint32_t width = 0;
  double ring_min = 0;  ///< on the radial axis: the ring that is judged; equal bounds: all
  double ring_max = 0;
  double min_intensity = 0;  ///< of the ring; 0 keeps all
  double max_intensity = 0;  ///< 0: no bound
};

/// What does not change from image to image.
class Prepared {
 public:
  /// Throws ConfigError that names the pixel when a bin or a norm makes no sense.
  explicit Prepared(const Config& config);

  struct Bin {
    double norm = 0;   ///< Σ w
    double norm2 = 0;  ///< Σ w²
    double dark = 0;   ///< Σ dark
    std::uint32_t pixels = 0;
  };
  static constexpr std::size_t kBlock = 64;  ///< pixels that are skipped when all are in no bin

  [[nodiscard]] Errors errors() const noexcept { return errors_; }
  [[nodiscard]] std::size_t bins() const noexcept { return all_.size(); }
  [[nodiscard]] const std::vector<Bin>& all() const noexcept { return all_; }
  /// Of each pixel, bins() for none; the first when bins() is below 65536, else the second.
  [[nodiscard]] const std::uint16_t* narrow() const noexcept { return narrow_.empty() ? nullptr : narrow_.data(); }
  [[nodiscard]] const std::uint32_t* wide() const noexcept { return wide_.data(); }
  [[nodiscard]] std::uint32_t bin(std::size_t pixel) const noexcept {
    return narrow_.empty() ? wide_[pixel] : narrow_[pixel];
  }
  [[nodiscard]] const float* norm() const noexcept { return norm_.data(); }
  [[nodiscard]] float dark(std::size_t pixel) const noexcept { return dark_.empty() ? 0.0F : dark_[pixel]; }
  /// Whether any of the pixels [64 · block, 64 · block + 64) is in a bin.
  [[nodiscard]] bool counts(std::size_t block) const noexcept { return counts_[block] != 0; }

 private:
  Errors errors_;
  std::vector<Bin> all_;
  std::vector<std::uint16_t> narrow_;
  std::vector<std::uint32_t> wide_;
  std::vector<float> norm_;
  std::vector<float> dark_;
  std::vector<std::uint8_t> counts_;
};

/// Sums of one image, or of a part of its pixels. All memory is taken when it is made.
struct Sums {
  explicit Sums(const Prepared& prepared);
  void clear() noexcept;
  void add(const Sums& part) noexcept;  ///< not for Errors::azimuthal

  std::vector<std::int64_t> signal;    ///< Σ counts
  std::vector<std::int64_t> variance;  ///< poisson: Σ max(count, 1)
  std::vector<Prepared::Bin> masked;   ///< what masked pixels take away
  bool any_masked = false;
  struct Spread {
    double signal = 0, norm = 0, variance = 0;
  };
  std::vector<Spread> spread;  ///< azimuthal
};

/// Adds pixels [first, last) of an image that begins at pixel 0 of `image`. Plain; the integers of add() are the same.
void add_reference(const Prepared& prepared, const void* image, PixelFormat format, std::size_t first, std::size_t last,
                   Sums& sums) noexcept;

/// Accumulators of one thread for add().
class Scratch {
 public:
  explicit Scratch(std::size_t bins);
  static constexpr std::size_t kCopies = 4;  ///< so that neighbours in the same bin do not wait for each other
  [[nodiscard]] std::uint64_t* copies() noexcept { return copies_.data(); }
  [[nodiscard]] std::size_t stride() const noexcept { return stride_; }  ///< of 64-bit words

 private:
  std::size_t stride_;
  std::vector<std::uint64_t> copies_;
};
void add(const Prepared& prepared, const void* image, PixelFormat format, std::size_t first, std::size_t last,
         Scratch& scratch, Sums& sums) noexcept;

/// The profile of sums: arrays of bins() values each: mean count (Σ(count − dark) / Σw), its standard error, Σ(count −
/// dark), Σw. NaN in bins without a pixel, and errors without a model.
void finish(const Prepared& prepared, const Sums& sums, double* profile) noexcept;

std::shared_ptr<const Step> step_of(const Config& config);

}  // namespace rashpa::kernel::azimuthal
