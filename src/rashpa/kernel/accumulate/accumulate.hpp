// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Sum, mean, maximum and variance of each pixel over the run or a window of images. See README.md.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "rashpa/kernel/contract/step.hpp"

namespace rashpa::kernel::accumulate {

/// The images that are accumulated.
enum class Images : std::uint8_t {
  accepted,  ///< those that the pipeline accepts
  reached,   ///< images that all earlier kernels let through
};

struct Config {
  bool sum = true;
  bool mean = true;
  bool max = true;
  bool variance = false;
  std::int64_t window = 0;  ///< images of a window; 0: the run
  Images images = Images::accepted;
  bool parts = false;  ///< write plain sums, for units that accumulate together: parts.hpp
};

/// Throws ConfigError when no quantity is requested.
void check(const Config& config);

/// Makes a pipeline step. Throws as check().
std::shared_ptr<const Step> step_of(const Config& config);

/// The sums of each pixel. Arrays of quantities that are not requested are empty.
struct Sums {
  /// Takes memory for `pixels` pixels of the format and starts the sums.
  Sums(const Config& config, PixelFormat format, std::size_t pixels);

  PixelFormat format;
  bool wants_max;
  bool wants_squares;
  std::vector<std::uint32_t> counted;  ///< images in which the pixel was not masked
  std::vector<std::int64_t> sum;       ///< of integer pixels
  /// Sums of squares of integers. 8 and 16 bits: [0] of x². 32 bits, with |x| = a · 2^16 + b: [0] of b², [1] of a · b,
  /// [2] of a². So nothing is rounded, up to 2^31 images.
  std::vector<std::uint64_t> squares[3];
  std::vector<std::int32_t> max;     ///< of integer pixels; for unsigned pixels the bits of uint32
  std::vector<double> real_sum;      ///< of float32 pixels
  std::vector<double> real_mean;     ///< of float32 pixels, with the variance only: the running mean
  std::vector<double> real_squares;  ///< the sum of squared distances from the running mean
  std::vector<float> real_max;       ///< of float32 pixels

  /// Resets pixels [first, last) to their state before the first image.
  void start_anew(std::size_t first, std::size_t last) noexcept;
};

/// Returns a number below each value of an integer pixel, in the bits of Sums::max.
std::int32_t lowest(PixelFormat format) noexcept;

/// Adds pixels [first, last) of `count` images. Different threads may add different pixels at once. The plain
/// reference.
void add_reference(Sums& sums, const std::byte* const* images, std::size_t count, std::size_t first,
                   std::size_t last) noexcept;
/// Adds pixels as add_reference() does, with the machine's widest vectors. Integers give identical sums; for float32,
/// sum, mean and variance differ by at most 1e-12 of their largest term.
void add(Sums& sums, const std::byte* const* images, std::size_t count, std::size_t first, std::size_t last) noexcept;

/// The destinations of the results from pixel 0 on; null: not requested.
struct Arrays {
  void* sum = nullptr;  ///< int64 for integer pixels, float64 for float32
  double* mean = nullptr;
  void* max = nullptr;  ///< uint32, int32 or float32, as the pixels
  double* variance = nullptr;
  std::uint32_t* counted = nullptr;
};
/// Assigns the arrays, which are in the order of the declaration, to their quantities.
Arrays arrays_of(const Config& config, const AccumulatedArrays& to) noexcept;
/// Writes the results of an ended window for pixels [first, last): quantities, or parts.
void write_window(const Config& config, const Sums& sums, const AccumulatedArrays& to, std::size_t first,
                  std::size_t last) noexcept;
/// Writes the results of pixels [first, last). For integers, mean and variance are within 2 ulp of the exact value.
void write(const Sums& sums, const Arrays& to, std::size_t first, std::size_t last) noexcept;

}  // namespace rashpa::kernel::accumulate
