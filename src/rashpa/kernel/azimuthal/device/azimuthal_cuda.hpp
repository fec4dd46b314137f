// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Azimuthal integration on CUDA devices: profiles and verdicts are made there.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "rashpa/kernel/azimuthal/azimuthal.hpp"
#include "rashpa/kernel/azimuthal/profile_sums.hpp"
#include "rashpa/kernel/contract/device_pass.hpp"

namespace rashpa::kernel::azimuthal::cuda {

/// The step on the current device. `summed`: where profiles are added up, if anywhere.
std::unique_ptr<kernel::cuda::DevicePass> make_pass(const std::shared_ptr<const Prepared>& prepared, const Ring& ring,
                                                    std::optional<ProfileSums> summed, const Setup& setup);

/// The constants of all images, on the device.
struct Tables {
  const Prepared::Bin* all = nullptr;     ///< [bins]
  const float* norm = nullptr;            ///< [pixels]
  const float* dark = nullptr;            ///< [pixels]; null: none
  const std::uint16_t* bin_of = nullptr;  ///< to scatter: one for each pixel, padded to a multiple of eight
  const std::uint32_t* firsts = nullptr;  ///< to gather: ByBin
  const std::uint32_t* by_bin = nullptr;  ///< the same
  const float* shares = nullptr;          ///< the same; null: all 1
  std::uint32_t bins = 0;
  std::uint32_t pixels = 0;
  Errors errors = Errors::none;
  bool real = false;       ///< sums are real numbers
  std::uint32_t team = 1;  ///< to gather: threads of a bin, 1 or 32
};

/// The sums that masked pixels take away from a bin.
struct MaskedSum {
  double norm = 0;
  double dark = 0;
  double dark_variance = 0;
  std::uint64_t shares = 0;
};

/// Sums on their way, of a stack: [image][bin], all 0 before and behind. Integers, or the bits of real numbers.
struct Found {
  std::int64_t* signal = nullptr;
  std::int64_t* variance = nullptr;
  MaskedSum* masked = nullptr;
  std::uint32_t* any_masked = nullptr;   ///< [image]
  std::uint32_t* pixels_done = nullptr;  ///< [image], by scatter
};

/// Describes how pixels are scattered to bins in the shared memory of blocks; none fits: together = 0. Powers of 2:
/// together, words, sets.
struct Scatter {
  std::uint32_t together = 0;  ///< images of a block
  std::uint32_t words = 0;     ///< of a bin: `words / together` for each image
  std::uint32_t sets = 0;      ///< of these, for warps by turns
  std::uint32_t run = 0;       ///< pixels of an image that no word overflows by
  std::uint32_t blocks = 0;    ///< as many as run at once
  std::uint32_t waves = 1;     ///< of images, one behind the other
  bool early = false;          ///< profiles are made while other images are still added up
};
/// Chooses for the current device, for integers that are not split and errors by pixels. Throws ResourceError.
Scatter scatter_for(PixelFormat format, std::span<const std::uint16_t> bin_of, std::uint32_t bins, std::uint32_t stack);

/// Sums the images of `stack`; the first error, as a cudaError_t.
int scatter(const Scatter& how, const Tables& tables, PixelFormat format, const kernel::cuda::DeviceStack& stack,
            const Found& found, CUstream_st* stream) noexcept;
int gather(const Tables& tables, PixelFormat format, const kernel::cuda::DeviceStack& stack, const Found& found,
           CUstream_st* stream) noexcept;
/// Makes profiles of them, [image][array][bin] at `profiles`, in host memory, columns and verdicts, and clears them.
int settle(const Scatter& how, const Tables& tables, const Ring& ring, const kernel::cuda::DeviceStack& stack,
           const Found& found, double* profiles, CUstream_st* stream) noexcept;

}  // namespace rashpa::kernel::azimuthal::cuda
