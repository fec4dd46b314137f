// SPDX-License-Identifier: Apache-2.0
#pragma once
/// JUNGFRAU raw words to photons or keV. The decode table, the arithmetic and the accuracy are in README.md.
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

/// The treatment of the pixels of double size at the borders of chips (assembly.hpp).
enum class Borders : std::uint8_t {
  raw,     ///< the image is as modules send it
  shared,  ///< assembled; their counts are shared by the pixels that they cover
  masked,  ///< assembled; they are masked
};

/// Pedestals of G0 that follow the detector (tracking.hpp).
struct Tracking {
  enum class From : std::uint8_t {
    off,
    darks,  ///< dark images
    empty,  ///< and, in the first other image of each stack, pixels without a photon
  };
  From from = From::off;
  std::uint32_t images = 200;  ///< N: how many images the running mean looks back
  double sigma = 3;            ///< this many σ from the pedestal at most count as empty
  double alarm = 0;            ///< median drift in σ at which an alarm is given; 0: none
};

using Calibration = CalibrationMaps;

struct Config {
  double photon_energy_kev = 0;
  Output output = Output::photons;
  Calibration calibration{};
  Borders borders = Borders::raw;
  Tracking tracking{};
  /// The storage cell of each set of pedestals, which are then [cells][3][height][width]; gains are one set for all, or
  /// as many. Empty: one set, for images of every cell (cells.hpp).
  std::vector<std::uint32_t> cells{};
};

/// A step of a pipeline. Throws nothing: the fitting of the step reports faults of the configuration.
std::shared_ptr<const Step> step_of(const Config& config);

/// Pixels without and with too much of a value, and bright ones, of one image.
struct Counts {
  std::uint32_t masked = 0;
  std::uint32_t saturated = 0;
  std::uint32_t bright = 0;  ///< photons ≥ Taps::bright_threshold, when counted
  friend bool operator==(const Counts&, const Counts&) = default;
};

/// The values derived from the photons while they are still in registers.
struct Taps {
  bool count = false;                 ///< fill Counts::bright
  std::int16_t bright_threshold = 0;  ///< photons
  bool mark = false;                  ///< fill Images::marks
  std::int16_t mark_threshold = 0;    ///< photons
};

/// The ports: `count` images, all of the calibration's shape. Arrays of pointers, one entry an image.
struct Images {
  std::size_t count = 0;
  const std::uint16_t* const* raw = nullptr;
  void* const* out = nullptr;  ///< int16 or float32, as Config::output says
  std::uint64_t* const* marks =
      nullptr;               ///< bit p mod 64 of word p / 64: photons of pixel p ≥ mark_threshold; with Taps::mark
  Counts* counts = nullptr;  ///< added to
  bool past_caches = true;   ///< false: the output is read again soon
};

/// Pixels in the unit of calibration layout and marks: ranges start at multiples of it and end there or at the image's
/// end.
inline constexpr std::size_t kGroup = 64;

/// The calibration as the fast kernel reads it: for every gain and group of 64 pixels 4 × 32 floats, pedestals of even
/// pixels, of odd pixels, factors of even, of odd. The order does not depend on the vector width.
class Prepared {
 public:
  /// Throws ConfigError when sizes or energy make no sense, ResourceError when there is no memory for the tables.
  explicit Prepared(const Config& config);
  [[nodiscard]] std::size_t pixels() const noexcept { return pixels_; }
  [[nodiscard]] Output output() const noexcept { return output_; }
  /// Group `group` of gain `gain` (0 … 2).
  [[nodiscard]] const float* table(unsigned gain, std::size_t group) const noexcept {
    return reinterpret_cast<const float*>(tables_.data()) + (gain * groups_ + group) * 2 * kGroup;
  }
  /// The same, for pedestals that move within 0 … 16383 ADU: of a calibration with Config::tracking.
  [[nodiscard]] float* table(unsigned gain, std::size_t group) noexcept {
    return reinterpret_cast<float*>(tables_.data()) + (gain * groups_ + group) * 2 * kGroup;
  }
  /// Bit p: pixel p of the group has no valid calibration in G0 (pixels behind the image's end have one).
  [[nodiscard]] std::uint64_t invalid_g0(std::size_t group) const noexcept { return invalid_g0_[group]; }
  /// Returns true when a G0 word of the group can leave the int16 range, so that clamping cannot be left out.
  [[nodiscard]] bool wild(std::size_t group) const noexcept { return wild_[group] != 0; }

 private:
  std::size_t pixels_;
  Output output_;
  std::size_t groups_;
  memory::Buffer tables_;  // huge pages: the tables of G1 and G2 are read here and there
  std::vector<std::uint64_t> invalid_g0_;
  std::vector<std::uint8_t> wild_;
};

/// The plain reference: the value of `word` of pixel `pixel`.
std::int16_t photons_of(std::uint16_t word, const Config& config, std::size_t pixel) noexcept;
float kev_of(std::uint16_t word, const Config& config, std::size_t pixel) noexcept;

/// The plain reference on pixels [first, last) of all images. Slow, obvious, the truth.
void convert_reference(const Config& config, const Images& images, const Taps& taps, std::size_t first,
                       std::size_t last) noexcept;

/// The fast kernel (widest vectors of the machine, chosen at run time): any thread, no allocation. `first` is a
/// multiple of kGroup, `last` too or the image's end. Outputs aligned to 64 bytes are written past the caches.
void convert(const Prepared& calibration, const Images& images, const Taps& taps, std::size_t first,
             std::size_t last) noexcept;

}  // namespace rashpa::kernel::jungfrau
