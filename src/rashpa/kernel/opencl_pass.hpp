// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The work of one step on an OpenCL device.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rashpa/core/stack.hpp"
#include "rashpa/kernel/step.hpp"
#include "rashpa/memory/opencl/device.hpp"

namespace rashpa::kernel::opencl {

/// ImageBooks::entries of an image that has more than there is room for.
inline constexpr std::uint32_t kListOverflow = ~0U;

/// What is known on the device of one image; `struct Books` of work_group.cl. The unit clears it before the first step,
/// and sets `work` of images that are to be processed; a step with a verdict clears `work` of images that it does not
/// keep.
struct ImageBooks {
  std::uint32_t counted = 0;  ///< Tap::count
  std::uint32_t entries = 0;  ///< of its list; kListOverflow
  std::uint8_t work = 0;
  std::uint8_t verdict = 0;  ///< 0: kept; n: the n-th reason of step `step`
  std::uint8_t step = 0;     ///< which step's verdict it is
  std::uint8_t unused[5]{};
  Scalar scalars[kMostColumns]{};
};
static_assert(sizeof(ImageBooks) == 16 + 8 * kMostColumns);

/// A stack in memory of the device. Images at regular distances from the beginning.
struct DeviceStack {
  cl_mem in = nullptr;
  std::uint32_t in_stride = 0;     ///< bytes, a multiple of 16
  cl_mem out = nullptr;            ///< when it makes pixels
  std::uint32_t out_stride = 0;    ///< bytes, a multiple of 64 pixels
  cl_mem marks = nullptr;          ///< Tap::mark: bit p mod 64 of word p / 64; 0 behind the last pixel
  std::uint32_t marks_stride = 0;  ///< words of 64 bits
  cl_mem books = nullptr;          ///< ImageBooks [count]
  std::uint32_t count = 0;
  std::uint32_t step = 0;          ///< number of this step in the pipeline
  std::uint32_t first_column = 0;  ///< of this step, in ImageBooks::scalars
};

/// Lists of a stack in memory of the device; list i begins at entry i · stride.
struct DeviceLists {
  cl_mem index = nullptr;  ///< uint32
  cl_mem value = nullptr;  ///< of the pixels' type
  std::size_t stride = 0;  ///< entries
};

/// Tiles of `size` pixels that make up an image.
constexpr std::uint32_t tiles_of(std::size_t pixels, std::uint32_t size) noexcept {
  return static_cast<std::uint32_t>((pixels + size - 1) / size);
}

/// Owns memory of the device that it was made for. One for each stack in flight works at a time on its bench: `bench`
/// counts from 0. One thread.
class DevicePass {
 public:
  virtual ~DevicePass() = default;
  /// Puts the work into the queue; returns the first error, a cl_int. Nothing waits.
  virtual cl_int enqueue(const DeviceStack& stack, std::uint32_t bench, cl_command_queue queue) const noexcept = 0;
  /// For steps that make lists.
  [[nodiscard]] virtual DeviceLists lists(std::uint32_t bench) const noexcept {
    static_cast<void>(bench);
    return {};
  }
};

/// work_group.cl and the parts of `source`, compiled with `macros` ("-D TILE=4096"). Throws ResourceError with what the
/// compiler says.
memory::opencl::Program build(const memory::opencl::Device& device, const std::string& name,
                              std::vector<std::string_view> source, const std::string& macros);

/// Macros for photons.cl: the type of the pixels, and which of their values count.
std::string photon_macros(PixelFormat format, PhotonRange range);
/// The source of photons.cl.
std::string_view photon_source() noexcept;

/// What a CountTap makes of counts, image by image: its column, its verdict; images that are not kept leave the work.
class SettleCounts {
 public:
  SettleCounts(const memory::opencl::Device& device, const CountTap& tap);
  /// Of counts of tiles, `tiles` an image, or, without them, of ImageBooks::counted.
  cl_int enqueue(const DeviceStack& stack, cl_mem tile_counts, std::uint32_t tiles,
                 cl_command_queue queue) const noexcept;

 private:
  CountTap tap_;
  std::uint32_t group_;
  memory::opencl::Program program_;
  memory::opencl::Kernel of_tiles_, of_books_;
};

}  // namespace rashpa::kernel::opencl
