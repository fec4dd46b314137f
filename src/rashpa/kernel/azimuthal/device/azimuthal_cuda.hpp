// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Azimuthal integration on CUDA devices, which make profiles and verdicts.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "rashpa/kernel/azimuthal/azimuthal.hpp"
#include "rashpa/kernel/azimuthal/profile_sums.hpp"
#include "rashpa/kernel/contract/device_pass.hpp"

namespace rashpa::kernel::azimuthal::cuda {

/// Makes the pass on the current device. `summed` receives the sum of profiles, if it is requested.
std::unique_ptr<kernel::cuda::DevicePass> make_pass(const std::shared_ptr<const Prepared>& prepared, const Ring& ring,
                                                    std::optional<ProfileSums> summed, const Setup& setup);

/// The constants of all images in device memory.
struct Tables {
  const Prepared::Bin* all = nullptr;     ///< [bins]
  const float* norm = nullptr;            ///< [pixels]
  const float* dark = nullptr;            ///< [pixels]; null: none
  const std::uint16_t* bin_of = nullptr;  ///< for scatter: bin of each pixel, padded to a multiple of eight
  const std::uint32_t* firsts = nullptr;  ///< for gather: ByBin::firsts
  const std::uint32_t* by_bin = nullptr;  ///< for gather: ByBin::pixels
  const float* shares = nullptr;          ///< for gather: ByBin::shares; null: all 1
  std::uint32_t bins = 0;
  std::uint32_t pixels = 0;
  Errors errors = Errors::none;
  bool real = false;       ///< sums are real numbers
  std::uint32_t team = 1;  ///< for gather: threads for each bin, 1 or 32
};

/// The sums to subtract from a bin for masked pixels.
struct MaskedSum {
  double norm = 0;
  double dark = 0;
  double dark_variance = 0;
  std::uint64_t shares = 0;
};

/// The intermediate sums of a stack, [image][bin], all 0 before and afterwards: integers, or the bits of real numbers.
struct Found {
  std::int64_t* signal = nullptr;
  std::int64_t* variance = nullptr;
  MaskedSum* masked = nullptr;
  std::uint32_t* any_masked = nullptr;   ///< [image]
  std::uint32_t* pixels_done = nullptr;  ///< [image], counted by scatter
};

/// The way in which blocks of threads scatter pixels to bins in their shared memory; together = 0 when no way fits.
/// `together`, `words` and `sets` are powers of 2.
struct Scatter {
  std::uint32_t together = 0;  ///< images that a block adds at once
  std::uint32_t words = 0;     ///< words for each bin: `words / together` for each image
  std::uint32_t sets = 0;      ///< sets of these words, used by warps in turn
  std::uint32_t run = 0;       ///< pixels of an image that cannot overflow a word
  std::uint32_t blocks = 0;    ///< blocks that run at once
  std::uint32_t waves = 1;     ///< successive waves of images
  bool early = false;          ///< true: profiles are computed while other images are still summed
};
/// Chooses the scatter for the current device, for integer pixels that are not split and errors by pixels. Throws
/// ResourceError.
Scatter scatter_for(PixelFormat format, std::span<const std::uint16_t> bin_of, std::uint32_t bins, std::uint32_t stack);

/// Enqueues the sums of the images of `stack`; returns the first error as a cudaError_t.
int scatter(const Scatter& how, const Tables& tables, PixelFormat format, const kernel::cuda::DeviceStack& stack,
            const Found& found, CUstream_st* stream) noexcept;
int gather(const Tables& tables, PixelFormat format, const kernel::cuda::DeviceStack& stack, const Found& found,
           CUstream_st* stream) noexcept;
/// Enqueues their profiles, [image][array][bin] at `profiles` in host memory, with columns and verdicts, and clears the
/// sums.
int settle(const Scatter& how, const Tables& tables, const Ring& ring, const kernel::cuda::DeviceStack& stack,
           const Found& found, double* profiles, CUstream_st* stream) noexcept;

}  // namespace rashpa::kernel::azimuthal::cuda
