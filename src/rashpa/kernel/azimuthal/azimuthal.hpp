// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Azimuthal integration: sums the pixels of an image over bins of radius, or of radius and azimuth. README.md has the
/// formulas.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "rashpa/kernel/contract/step.hpp"

namespace rashpa::kernel::azimuthal {

enum class Errors : std::uint8_t {
  none,
  poisson,    ///< the variance of a pixel is its value, at least 1, plus its dark value
  azimuthal,  ///< the variance of a bin follows from the spread of its pixels
};

/// The images whose profiles are also summed.
enum class Added : std::uint8_t {
  none,
  accepted,  ///< those that the pipeline accepts
  reached,   ///< images that this kernel and all earlier ones let through
};

inline constexpr std::uint32_t kNoBin = 0xFFFFFFFF;
inline constexpr std::size_t kFewBins = 4096;  ///< up to this number of bins, several threads share an image

struct Config {
  Errors errors = Errors::poisson;
  std::vector<double> radial_axis{};     ///< centres of the bins
  std::vector<double> azimuthal_axis{};  ///< degrees; empty: one-dimensional
  std::string unit{};                    ///< unit of the radial axis
  /// The bin of each pixel: azimuth · radial bins + radius, or kNoBin. Empty where pixels are split over bins: then
  /// pixel p has the shares share_ends[p − 1] (0 for the first) up to share_ends[p].
  std::vector<std::uint32_t> bins{};
  std::vector<std::uint32_t> share_ends{};
  std::vector<std::uint32_t> share_bins{};  ///< bin of each share
  std::vector<float> shares{};              ///< fraction of the pixel in that bin
  std::vector<float> norm{};                ///< divisor of each pixel's value, above 0
  std::vector<float> dark{};                ///< subtrahend of each pixel; empty: none
  std::uint32_t width = 0;
  double ring_min = 0;  ///< lower bound on the radial axis of the ring that the verdict uses; equal bounds: all bins
  double ring_max = 0;
  double min_intensity = 0;  ///< lowest mean of the ring that keeps an image; 0: no bound
  double max_intensity = 0;  ///< 0: no bound
  Added added = Added::none;
  std::uint64_t window = 0;  ///< images that are summed; 0: the run
};

/// The constants that all images share.
class Prepared {
 public:
  /// Prepares the constants. Throws ConfigError that names the pixel when a bin, a share or a norm is invalid.
  explicit Prepared(const Config& config);

  struct Bin {
    double norm = 0;           ///< Σ c w, with c the share of the pixel in the bin
    double dark = 0;           ///< Σ c dark
    double dark_variance = 0;  ///< Σ c² dark
    std::uint32_t shares = 0;  ///< shares of pixels in the bin
  };
  static constexpr std::size_t kBlock = 64;        ///< pixels that are skipped when none of them is in a bin
  static constexpr std::size_t kSplitBlock = 256;  ///< the block of split pixels

  [[nodiscard]] Errors errors() const noexcept { return errors_; }
  [[nodiscard]] std::size_t bins() const noexcept { return all_.size(); }
  [[nodiscard]] std::size_t pixels() const noexcept { return norm_.size(); }
  [[nodiscard]] const std::vector<Bin>& all() const noexcept { return all_; }
  [[nodiscard]] bool split() const noexcept { return !ends_.empty(); }
  /// Returns the bin of each pixel, or of each share where pixels are split; bins() means none. narrow() is valid when
  /// bins() is below 65535, wide() otherwise.
  [[nodiscard]] const std::uint16_t* narrow() const noexcept { return narrow_.empty() ? nullptr : narrow_.data(); }
  [[nodiscard]] const std::uint32_t* wide() const noexcept { return wide_.data(); }
  [[nodiscard]] std::uint32_t bin(std::size_t at) const noexcept { return narrow_.empty() ? wide_[at] : narrow_[at]; }
  [[nodiscard]] const float* norm() const noexcept { return norm_.data(); }
  [[nodiscard]] bool has_dark() const noexcept { return !dark_.empty(); }
  [[nodiscard]] float dark(std::size_t pixel) const noexcept { return dark_.empty() ? 0.0F : dark_[pixel]; }
  /// Returns true when a pixel of [64 · block, 64 · block + 64) is in a bin. For pixels that are not split.
  [[nodiscard]] bool counts(std::size_t block) const noexcept { return counts_[block] != 0; }

  /// The shares of a split pixel, and their sizes. Each share also has the pixel's place in its block of kSplitBlock.
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

/// Returns true when the sums of images in `format` are real numbers, not integers.
[[nodiscard]] inline bool real_sums(const Prepared& prepared, PixelFormat format) noexcept {
  return prepared.split() || format.type == PixelType::f32;
}

/// The sums of one image, or of some of its pixels. The constructor takes all memory.
struct Sums {
  Sums(const Prepared& prepared, PixelFormat format);
  void clear() noexcept;
  void add(const Sums& part) noexcept;  ///< adds integer sums

  std::vector<std::int64_t> signal;  ///< integers: Σ counts
  /// integers with Errors::poisson: Σ (max(count, 1) − 1), to which pixels of 0 add nothing
  std::vector<std::int64_t> variance;
  struct Real {
    double signal = 0;    ///< Σ c value
    double variance = 0;  ///< with Errors::poisson: Σ c² max(value, 1)
  };
  std::vector<Real> real;             ///< sums of real numbers, which replace the two above
  std::vector<Prepared::Bin> masked;  ///< sums to subtract for masked pixels
  bool any_masked = false;
  struct Spread {
    double signal = 0, norm = 0, variance = 0;
  };
  std::vector<Spread> spread;  ///< with Errors::azimuthal
};

/// Adds pixels [first, last) of an image that begins at pixel 0 of `image`. The plain reference: its integers equal
/// those of add(), its real numbers differ by rounding.
void add_reference(const Prepared& prepared, const void* image, PixelFormat format, std::size_t first, std::size_t last,
                   Sums& sums) noexcept;

/// Records that a masked pixel is missing in its bins.
void add_masked(const Prepared& prepared, std::size_t pixel, Sums& sums) noexcept;

/// Accumulators of one thread for add().
class Scratch {
 public:
  Scratch(const Prepared& prepared, PixelFormat format);
  /// copies of each bin, so that neighbouring pixels of one bin do not wait for each other
  static constexpr std::size_t kCopies = 4;
  [[nodiscard]] std::uint64_t* copies() noexcept { return copies_.data(); }
  [[nodiscard]] double* reals() noexcept { return reals_.data(); }       ///< pairs of signal and variance
  [[nodiscard]] std::size_t stride() const noexcept { return stride_; }  ///< bins from one copy to the next
  [[nodiscard]] double* values() noexcept { return values_.data(); }     ///< values of a block of pixels, as pairs

 private:
  std::size_t stride_;
  std::vector<std::uint64_t> copies_;  // of integers; two words a bin where one has no room for both sums
  std::vector<double> reals_;
  std::vector<double> values_;
};
/// Adds pixels [first, last) of an image. Real numbers do not depend on the division of work when one call adds all
/// pixels of an image.
void add(const Prepared& prepared, const void* image, PixelFormat format, std::size_t first, std::size_t last,
         Scratch& scratch, Sums& sums) noexcept;
/// Adds pixels as add() does, where vectors help: integers with up to kFewBins bins, and real numbers. Not for
/// Errors::azimuthal.
void add_counts(const Prepared& prepared, const void* image, PixelFormat format, std::size_t first, std::size_t last,
                Scratch& scratch, Sums& sums) noexcept;
void add_reals(const Prepared& prepared, const void* image, PixelFormat format, std::size_t first, std::size_t last,
               Scratch& scratch, Sums& sums) noexcept;

/// The number of arrays of a profile, each with bins() values: mean (Σ c (value − dark) / Σ c w), its standard error, Σ
/// c (value − dark), Σ c w. Bins without a pixel are NaN, and so are errors without an error model.
inline constexpr std::size_t kArrays = 4;
void finish(const Prepared& prepared, const Sums& sums, double* profile) noexcept;

/// The limits of the verdict on the mean of a ring; the mean is NaN when no pixel of the ring counts.
struct Limits {
  double min_intensity = 0;  ///< 0: no bound
  double max_intensity = 0;  ///< 0: no bound
  /// Returns 0 when the image is kept, or the reason 1 or 2.
  [[nodiscard]] constexpr std::uint8_t verdict(double mean) const noexcept {
    if (max_intensity > 0 && mean > max_intensity) return 2;
    return min_intensity > 0 && !(mean >= min_intensity) ? 1 : 0;
  }
};

/// The ring that the verdict uses: radial bins [first, last).
struct Ring {
  std::size_t first = 0;
  std::size_t last = 0;
  std::size_t radial = 0;  ///< bins of a row, along the radius
  Limits limits{};
  /// Writes the column and the verdict of a profile of `bins` bins.
  void judge(const double* profile, std::size_t bins, Finding& finding) const noexcept;
};

std::shared_ptr<const Step> step_of(const Config& config);

}  // namespace rashpa::kernel::azimuthal
