// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Azimuthal integration: the pixels of an image summed by bins of their radius, or of radius and azimuth. README.md
/// has the formulas.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "rashpa/kernel/contract/step.hpp"

namespace rashpa::kernel::azimuthal {

enum class Errors : std::uint8_t {
  none,
  poisson,    ///< the variance of a pixel is its value, at least 1, plus its dark
  azimuthal,  ///< the variance of a bin is how its pixels differ
};

/// The images whose profiles are summed, too.
enum class Added : std::uint8_t {
  none,
  accepted,  ///< those that the pipeline accepts
  reached,   ///< all that this kernel and those before it have let through
};

inline constexpr std::uint32_t kNoBin = 0xFFFFFFFF;
inline constexpr std::size_t kFewBins = 4096;  ///< up to this number of bins, threads share an image

struct Config {
  Errors errors = Errors::poisson;
  std::vector<double> radial_axis{};     ///< centres of the bins
  std::vector<double> azimuthal_axis{};  ///< degrees; empty: one-dimensional
  std::string unit{};                    ///< of the radial axis
  /// The bin of each pixel: azimuth · radial bins + radius, or kNoBin. Empty where pixels are split over bins: then
  /// pixel p has the shares from share_ends[p − 1] (0 for the first) up to share_ends[p].
  std::vector<std::uint32_t> bins{};
  std::vector<std::uint32_t> share_ends{};
  std::vector<std::uint32_t> share_bins{};  ///< bin of each share
  std::vector<float> shares{};              ///< how much of the pixel lies there
  std::vector<float> norm{};                ///< of each pixel: the divisor of its value, above 0
  std::vector<float> dark{};                ///< of each pixel: to subtract; empty: none
  std::uint32_t width = 0;
  double ring_min = 0;  ///< on the radial axis: the ring that is judged; equal bounds: all
  double ring_max = 0;
  double min_intensity = 0;  ///< of the ring; 0 keeps all
  double max_intensity = 0;  ///< 0: no bound
  Added added = Added::none;
  std::uint64_t window = 0;  ///< images that are added up; 0: the run
};

/// The constants of all images.
class Prepared {
 public:
  /// Throws ConfigError that names the pixel when a bin, a share or a norm makes no sense.
  explicit Prepared(const Config& config);

  struct Bin {
    double norm = 0;           ///< Σ c w, with c the share of the pixel in the bin
    double dark = 0;           ///< Σ c dark
    double dark_variance = 0;  ///< Σ c² dark
    std::uint32_t shares = 0;  ///< of pixels
  };
  static constexpr std::size_t kBlock = 64;        ///< pixels that are skipped when all are in no bin
  static constexpr std::size_t kSplitBlock = 256;  ///< the same of pixels that are split

  [[nodiscard]] Errors errors() const noexcept { return errors_; }
  [[nodiscard]] std::size_t bins() const noexcept { return all_.size(); }
  [[nodiscard]] std::size_t pixels() const noexcept { return norm_.size(); }
  [[nodiscard]] const std::vector<Bin>& all() const noexcept { return all_; }
  [[nodiscard]] bool split() const noexcept { return !ends_.empty(); }
  /// Bin of each pixel, or of each share where pixels are split; bins() for none. The first when bins() is below
  /// 65535, else the second.
  [[nodiscard]] const std::uint16_t* narrow() const noexcept { return narrow_.empty() ? nullptr : narrow_.data(); }
  [[nodiscard]] const std::uint32_t* wide() const noexcept { return wide_.data(); }
  [[nodiscard]] std::uint32_t bin(std::size_t at) const noexcept { return narrow_.empty() ? wide_[at] : narrow_[at]; }
  [[nodiscard]] const float* norm() const noexcept { return norm_.data(); }
  [[nodiscard]] bool has_dark() const noexcept { return !dark_.empty(); }
  [[nodiscard]] float dark(std::size_t pixel) const noexcept { return dark_.empty() ? 0.0F : dark_[pixel]; }
  /// Returns true when one of the pixels [64 · block, 64 · block + 64) is in a bin. For pixels that are not split.
  [[nodiscard]] bool counts(std::size_t block) const noexcept { return counts_[block] != 0; }

  /// Split: the shares of a pixel, and how large they are; of each, the pixel's place in its block of kSplitBlock.
  [[nodiscard]] std::size_t shares_before(std::size_t pixel) const noexcept {
    return pixel == 0 ? 0 : ends_[pixel - 1];
  }
  [[nodiscard]] const float* shares() const noexcept { return shares_.data(); }
  [[nodiscard]] const std::uint8_t* places() const noexcept { return places_.data(); }

 private:
  void take_bins(const Config& config);
  void take_shares(const Config& config);
  void put(const Config& config, std::size_t pixel, std::uint32_t bin, double share);

  Errors errors_;
  std::vector<Bin> all_;
  std::vector<std::uint16_t> narrow_;
  std::vector<std::uint32_t> wide_;
  std::vector<float> norm_;
  std::vector<float> dark_;
  std::vector<std::uint8_t> counts_;
  std::vector<std::uint32_t> ends_;
  std::vector<float> shares_;
  std::vector<std::uint8_t> places_;
};

/// Returns true when the sums of such images are real numbers, not integers.
[[nodiscard]] inline bool real_sums(const Prepared& prepared, PixelFormat format) noexcept {
  return prepared.split() || format.type == PixelType::f32;
}

/// Sums of one image, or of a part of its pixels. All memory is taken when it is made.
struct Sums {
  Sums(const Prepared& prepared, PixelFormat format);
  void clear() noexcept;
  void add(const Sums& part) noexcept;  ///< of integers

  std::vector<std::int64_t> signal;    ///< integers: Σ counts
  std::vector<std::int64_t> variance;  ///< integers, poisson: Σ (max(count, 1) − 1); pixels that are 0 add nothing
  struct Real {
    double signal = 0;    ///< Σ c value
    double variance = 0;  ///< poisson: Σ c² max(value, 1)
  };
  std::vector<Real> real;             ///< real numbers: in place of the two
  std::vector<Prepared::Bin> masked;  ///< the sums that masked pixels take away
  bool any_masked = false;
  struct Spread {
    double signal = 0, norm = 0, variance = 0;
  };
  std::vector<Spread> spread;  ///< azimuthal
};

/// Adds pixels [first, last) of an image that begins at pixel 0 of `image`. Plain; the integers of add() are the same,
/// its real numbers differ by rounding.
void add_reference(const Prepared& prepared, const void* image, PixelFormat format, std::size_t first, std::size_t last,
                   Sums& sums) noexcept;

/// Takes a masked pixel away from its bins.
void add_masked(const Prepared& prepared, std::size_t pixel, Sums& sums) noexcept;

/// Accumulators of one thread for add().
class Scratch {
 public:
  Scratch(const Prepared& prepared, PixelFormat format);
  static constexpr std::size_t kCopies = 4;  ///< so that neighbours in the same bin do not wait for each other
  [[nodiscard]] std::uint64_t* copies() noexcept { return copies_.data(); }
  [[nodiscard]] double* reals() noexcept { return reals_.data(); }       ///< pairs: signal, variance
  [[nodiscard]] std::size_t stride() const noexcept { return stride_; }  ///< from a copy to the next, in bins
  [[nodiscard]] double* values() noexcept { return values_.data(); }     ///< of a block of pixels, such pairs

 private:
  std::size_t stride_;
  std::vector<std::uint64_t> copies_;  // of integers; two words a bin where one has no room for both sums
  std::vector<double> reals_;
  std::vector<double> values_;
};
/// Real numbers come out the same for any split of the work only when one call adds all pixels of an image.
void add(const Prepared& prepared, const void* image, PixelFormat format, std::size_t first, std::size_t last,
         Scratch& scratch, Sums& sums) noexcept;
/// The work of add() where vectors help: of integers up to kFewBins bins; of real numbers. Not for Errors::azimuthal.
void add_counts(const Prepared& prepared, const void* image, PixelFormat format, std::size_t first, std::size_t last,
                Scratch& scratch, Sums& sums) noexcept;
void add_reals(const Prepared& prepared, const void* image, PixelFormat format, std::size_t first, std::size_t last,
               Scratch& scratch, Sums& sums) noexcept;

/// The profile of sums: arrays of bins() values each: mean (Σ c (value − dark) / Σ c w), its standard error, Σ c (value
/// − dark), Σ c w. NaN in bins without a pixel, and errors without a model.
inline constexpr std::size_t kArrays = 4;
void finish(const Prepared& prepared, const Sums& sums, double* profile) noexcept;

/// The limits of the verdict on the mean of a ring; NaN where no pixel of it is there.
struct Limits {
  double min_intensity = 0;  ///< 0: any
  double max_intensity = 0;  ///< 0: any
  /// 0: kept; 1, 2: the reason.
  [[nodiscard]] constexpr std::uint8_t verdict(double mean) const noexcept {
    if (max_intensity > 0 && mean > max_intensity) return 2;
    return min_intensity > 0 && !(mean >= min_intensity) ? 1 : 0;
  }
};

/// The ring that is judged: radial bins [first, last).
struct Ring {
  std::size_t first = 0;
  std::size_t last = 0;
  std::size_t radial = 0;  ///< bins of a row
  Limits limits{};
  /// Column and verdict of a profile of `bins` bins.
  void judge(const double* profile, std::size_t bins, Finding& finding) const noexcept;
};

std::shared_ptr<const Step> step_of(const Config& config);

}  // namespace rashpa::kernel::azimuthal
