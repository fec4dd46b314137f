// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Sum, mean, maximum and variance of each pixel over the run or a window of images. See README.md.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "rashpa/kernel/contract/step.hpp"

namespace rashpa::kernel::accumulate {

/// Describes which images are added up.
enum class Images : std::uint8_t {
  accepted,  ///< those that the pipeline accepts
  reached,   ///< all that the kernels before it have let through
};

struct Config {
  bool sum = true;
  bool mean = true;
  bool max = true;
  bool variance = false;
  std::int64_t window = 0;  ///< images; 0: the run
  Images images = Images::accepted;
  bool parts = false;  ///< plain sums are written, for units that add up together: parts.hpp
};

/// Throws ConfigError when nothing is asked for.
void check(const Config& config);

/// A step of a pipeline. Throws as check().
std::shared_ptr<const Step> step_of(const Config& config);

/// The sums of each pixel. Arrays that nobody asked for are empty.
struct Sums {
  /// Room for `pixels` pixels of the format, started anew.
  Sums(const Config& config, PixelFormat format, std::size_t pixels);

  PixelFormat format;
  bool wants_max;
  bool wants_squares;
  std::vector<std::uint32_t> counted;  ///< images in which the pixel was not masked
  std::vector<std::int64_t> sum;       ///< integers
  /// Integers: sums of squares. 8 and 16 bits: [0] of x². 32 bits, of |x| = a · 2^16 + b: [0] of b², [1] of a · b, [2]
  /// of a². So nothing is ever rounded, up to 2^31 images.
  std::vector<std::uint64_t> squares[3];
  std::vector<std::int32_t> max;     ///< integers; bits of uint32 for unsigned pixels
  std::vector<double> real_sum;      ///< float32
  std::vector<double> real_mean;     ///< float32, with the variance only: running mean …
  std::vector<double> real_squares;  ///< … and the sum of squared distances from it
  std::vector<float> real_max;       ///< float32

  /// Pixels [first, last) as before the first image.
  void start_anew(std::size_t first, std::size_t last) noexcept;
};

/// Returns a number below every value of an integer pixel, in the bits of Sums::max.
std::int32_t lowest(PixelFormat format) noexcept;

/// Adds pixels [first, last) of `count` images. Threads may add different pixels at once. The plain reference.
void add_reference(Sums& sums, const std::byte* const* images, std::size_t count, std::size_t first,
                   std::size_t last) noexcept;
/// The same with the machine's widest vectors: identical for integers; of float32 sum, mean and variance within 1e-12
/// of their largest term.
void add(Sums& sums, const std::byte* const* images, std::size_t count, std::size_t first, std::size_t last) noexcept;

/// Describes where results of pixel 0 go; null: not wanted.
struct Arrays {
  void* sum = nullptr;  ///< int64 of integers, float64 of float32
  double* mean = nullptr;
  void* max = nullptr;  ///< uint32, int32 or float32, as the pixels are
  double* variance = nullptr;
  std::uint32_t* counted = nullptr;
};
/// Sorts the arrays by quantity, in the order of the declaration.
Arrays arrays_of(const Config& config, const AccumulatedArrays& to) noexcept;
/// Writes the results of a window that ends for pixels [first, last): quantities, or parts.
void write_window(const Config& config, const Sums& sums, const AccumulatedArrays& to, std::size_t first,
                  std::size_t last) noexcept;
/// Results of pixels [first, last). Of integers mean and variance are within 2 ulp of the exact value.
void write(const Sums& sums, const Arrays& to, std::size_t first, std::size_t last) noexcept;

}  // namespace rashpa::kernel::accumulate
