// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Converts JUNGFRAU raw words to photons or keV. README.md has the decode table, the arithmetic and the accuracy.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "rashpa/kernel/contract/calibration_maps.hpp"
#include "rashpa/memory/buffer.hpp"

namespace rashpa::kernel {
class Step;
}

namespace rashpa::kernel::jungfrau {

/// The unit of output pixels.
enum class Output : std::uint8_t {
  photons,  ///< int16, rounded
  kev,      ///< float32
};

/// The treatment of double-size pixels at the borders of chips (assembly.hpp).
enum class Borders : std::uint8_t {
  raw,     ///< not assembled: the image is as modules send it
  shared,  ///< assembled; the pixels that a double-size pixel covers share its counts
  masked,  ///< assembled; double-size pixels are masked
};

/// The settings by which pedestals of G0 follow the detector (tracking.hpp).
struct Tracking {
  enum class From : std::uint8_t {
    off,
    darks,  ///< from dark images
    empty,  ///< also from pixels without a photon in the first other image of each stack
    next,   ///< from dark images, from the next image on
    every,  ///< from dark images and pixels without a photon in every image, from the next image on
  };
  From from = From::off;
  std::uint32_t images = 200;  ///< N, the number of images in the running mean
  double sigma = 3;            ///< pixels within this many σ of the pedestal count as empty
  double alarm = 0;            ///< median drift in σ that raises an alarm; 0: none

  /// Returns true when pedestals apply to the next image, false when they apply to the next stack.
  [[nodiscard]] bool at_once() const noexcept { return from == From::next || from == From::every; }
  /// Returns true when images that are not dark are followed where they have no photon.
  [[nodiscard]] bool where_empty() const noexcept { return from == From::empty || from == From::every; }
};

using Calibration = CalibrationMaps;

struct Config {
  double photon_energy_kev = 0;
  Output output = Output::photons;
  Calibration calibration{};
  Borders borders = Borders::raw;
  Tracking tracking{};
  /// The storage cell of each set of pedestals, which are then [cells][3][height][width]; gains have one set, or one
  /// for each cell, and so has the RMS. Empty: one set for all cells (cells.hpp).
  std::vector<std::uint32_t> cells{};
};

/// Makes a pipeline step. Throws nothing: Step::fit() reports errors in the configuration.
std::shared_ptr<const Step> step_of(const Config& config);

/// The numbers of masked, saturated and bright pixels of one image.
struct Counts {
  std::uint32_t masked = 0;
  std::uint32_t saturated = 0;
  std::uint32_t bright = 0;  ///< pixels with at least Taps::bright_threshold photons, when counted
  friend bool operator==(const Counts&, const Counts&) = default;
};

/// The values to derive from the photons while they are in registers.
struct Taps {
  bool count = false;                 ///< true: fill Counts::bright
  std::int16_t bright_threshold = 0;  ///< photons
  bool mark = false;                  ///< true: fill Images::marks
  std::int16_t mark_threshold = 0;    ///< photons
};

/// The inputs and outputs: `count` images of the calibration's shape, as arrays of pointers with one entry for each
/// image.
struct Images {
  std::size_t count = 0;
  const std::uint16_t* const* raw = nullptr;
  void* const* out = nullptr;  ///< int16 or float32, by Config::output
  std::uint64_t* const* marks =
      /// with Taps::mark: bit p mod 64 of word p / 64 is set when pixel p has at least mark_threshold photons
      nullptr;
  Counts* counts = nullptr;  ///< the pass adds to these
  bool past_caches = true;   ///< false: the output is read again soon, so it goes through the caches
};

/// The pixels of a group, the unit of calibration layout and marks. Ranges start at multiples of it and end at one or
/// at the image's end.
inline constexpr std::size_t kGroup = 64;

/// The calibration in the fast kernel's layout. Each gain and group of 64 pixels has 4 × 32 floats: pedestals of even
/// pixels, of odd pixels, factors of even, of odd. The layout does not depend on the vector width.
class Prepared {
 public:
  /// Computes the tables. Throws ConfigError when sizes or energy are invalid, ResourceError when there is no memory
  /// for the tables.
  explicit Prepared(const Config& config);
  [[nodiscard]] std::size_t pixels() const noexcept { return pixels_; }
  [[nodiscard]] Output output() const noexcept { return output_; }
  /// Returns the table of group `group` in gain `gain` (0 … 2).
  [[nodiscard]] const float* table(unsigned gain, std::size_t group) const noexcept {
    return reinterpret_cast<const float*>(tables_.data()) + (gain * groups_ + group) * 2 * kGroup;
  }
  /// Returns the table of group `group` in gain `gain`, for writing. Only for a calibration with Config::tracking, and
  /// pedestals within 0 … 16383 ADU.
  [[nodiscard]] float* table(unsigned gain, std::size_t group) noexcept {
    return reinterpret_cast<float*>(tables_.data()) + (gain * groups_ + group) * 2 * kGroup;
  }
  /// Returns a word in which bit p is set when pixel p of the group has no valid calibration in G0. Pixels behind the
  /// image's end have one.
  [[nodiscard]] std::uint64_t invalid_g0(std::size_t group) const noexcept { return invalid_g0_[group]; }
  /// Returns true when a G0 word of the group can leave the int16 range and so must be clamped.
  [[nodiscard]] bool wild(std::size_t group) const noexcept { return wild_[group] != 0; }

 private:
  std::size_t pixels_;
  Output output_;
  std::size_t groups_;
  memory::Buffer tables_;  // huge pages: the tables of G1 and G2 are read here and there
  std::vector<std::uint64_t> invalid_g0_;
  std::vector<std::uint8_t> wild_;
};

/// Returns the photons of `word` of pixel `pixel`. The plain reference.
std::int16_t photons_of(std::uint16_t word, const Config& config, std::size_t pixel) noexcept;
float kev_of(std::uint16_t word, const Config& config, std::size_t pixel) noexcept;

/// Converts pixels [first, last) of all images. The plain reference: slow, obvious, the truth.
void convert_reference(const Config& config, const Images& images, const Taps& taps, std::size_t first,
                       std::size_t last) noexcept;

/// Converts by the machine's widest vectors, chosen at run time: any thread, no allocation. `first` is a multiple of
/// kGroup; `last` is one, too, or the image's end. Outputs aligned to 64 bytes are written past the caches.
void convert(const Prepared& calibration, const Images& images, const Taps& taps, std::size_t first,
             std::size_t last) noexcept;

}  // namespace rashpa::kernel::jungfrau
