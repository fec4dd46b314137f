// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The work of one step on an OpenCL device.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rashpa/core/frame/stack.hpp"
#include "rashpa/kernel/contract/step.hpp"
#include "rashpa/memory/opencl/device.hpp"

namespace rashpa::kernel::opencl {

/// The value of ImageBooks::entries when an image has more entries than its list has room for.
inline constexpr std::uint32_t kListOverflow = ~0U;

/// The device's findings in one image; `struct Books` of work_group.cl. The unit clears them before the first step and
/// sets `work` of images to process. A step clears `work` of images that it does not keep.
struct ImageBooks {
  std::uint32_t counted = 0;  ///< the count of Tap::count
  std::uint32_t entries = 0;  ///< entries of its list, or kListOverflow
  std::uint8_t work = 0;
  std::uint8_t verdict = 0;  ///< 0: kept; n: the n-th reason of step `step`
  std::uint8_t step = 0;     ///< number of the step whose verdict it is
  std::uint8_t failed = 0;   ///< set by the host; n: its n-th step failed on the image
  std::uint8_t unused[4]{};
  Scalar scalars[kMostColumns]{};
};
static_assert(sizeof(ImageBooks) == 16 + 8 * kMostColumns);

/// A stack of images at regular distances in device memory.
struct DeviceStack {
  cl_mem in = nullptr;
  std::uint32_t in_stride = 0;   ///< bytes, a multiple of 16
  cl_mem out = nullptr;          ///< for a step that makes pixels
  std::uint32_t out_stride = 0;  ///< bytes, a multiple of 64 pixels
  cl_mem marks = nullptr;  ///< marks of Tap::mark: bit p mod 64 of word p / 64 for pixel p; 0 behind the last pixel
  std::uint32_t marks_stride = 0;  ///< words of 64 bits
  cl_mem books = nullptr;          ///< ImageBooks [count]
  std::uint32_t count = 0;
  std::uint32_t step = 0;          ///< number of this step in the pipeline
  std::uint32_t first_column = 0;  ///< first column of this step in ImageBooks::scalars
  // The host's knowledge; null where there is none: kernels are tried on nothing.
  const StackImage* images = nullptr;  ///< [count]
  const std::uint8_t* work = nullptr;  ///< [count]; 0: the host knows that the image needs no work
  bool delivered = false;              ///< true: `in` has images as delivered, like StackImage::raw
};

/// The lists of a stack in device memory; list i begins at entry i · stride.
struct DeviceLists {
  cl_mem index = nullptr;  ///< uint32
  cl_mem value = nullptr;  ///< of the pixels' type
  std::size_t stride = 0;  ///< entries
};

/// Returns the number of tiles of `size` pixels that cover an image.
constexpr std::uint32_t tiles_of(std::size_t pixels, std::uint32_t size) noexcept {
  return static_cast<std::uint32_t>((pixels + size - 1) / size);
}

/// An image on the host.
struct HostItem {
  std::uint32_t bench = 0;
  std::uint32_t image = 0;  ///< number in the stack
  std::uint32_t place = 0;  ///< below Setup::places
  const StackImage* of = nullptr;
  bool delivered = false;  ///< true: the step reads StackImage::raw
};

/// The work of a step on the device for which the pass was made, with device memory of its own. Each stack in flight
/// has its own bench, which counts from 0. One thread, unless a function says otherwise; nothing waits. The classes
/// below are abilities of only some passes: the unit asks for them when it makes a pass (core/ability.hpp).
class DevicePass {
 public:
  /// The processor that computes the results of an image.
  enum class Where : std::uint8_t {
    device,  ///< enqueue() alone; the results are in ImageBooks
    both,    ///< enqueue(), then settle() on the host with the results of fetch()
    host,    ///< settle() alone: nothing is enqueued or fetched
  };
  virtual ~DevicePass() = default;
  [[nodiscard]] virtual Where where() const noexcept { return Where::device; }
  /// Enqueues the work; returns the first error, a cl_int.
  virtual cl_int enqueue(const DeviceStack& stack, std::uint32_t bench, cl_command_queue queue) const noexcept = 0;
  /// Enqueues copies to the host of the data that settle() needs, after enqueue() and maybe in another queue.
  virtual cl_int fetch(const DeviceStack& stack, std::uint32_t bench, cl_command_queue queue) const noexcept {
    static_cast<void>(stack), static_cast<void>(bench), static_cast<void>(queue);
    return CL_SUCCESS;
  }
  /// Completes the findings in an image when its data is on the host, once an image, as CpuPass::finish() does.
  virtual void settle(const HostItem& item, Finding& finding) noexcept {
    static_cast<void>(item), static_cast<void>(finding);
  }
  /// Returns the lists in device memory, for steps that make lists there.
  [[nodiscard]] virtual DeviceLists lists(std::uint32_t bench) const noexcept {
    static_cast<void>(bench);
    return {};
  }
  /// Returns what CpuPass::failure() or CpuPass::notice() returns. Any thread.
  [[nodiscard]] virtual std::string failure() const { return {}; }
  [[nodiscard]] virtual std::string notice() const { return {}; }
};

/// A pass of a step that accumulates on the host.
class HostAdding {
 public:
  virtual ~HostAdding() = default;
  /// Adds an image that the step has kept, after its stack is complete. Images come in order.
  virtual void add(const HostItem& item) noexcept = 0;
  /// Writes the quantities of an ended window, each from element 0, and resets them.
  virtual void write(const AccumulatedArrays& to) noexcept = 0;
};

/// A pass of a step that accumulates on the device.
class DeviceAdding {
 public:
  virtual ~DeviceAdding() = default;
  /// Enqueues copies of the quantities to the host, after enqueue() of the last stack of a window, and resets them.
  virtual cl_int conclude(std::uint32_t bench, cl_command_queue queue) noexcept = 0;
  /// Writes the quantities that conclude() has copied to the host, each from element 0.
  virtual void write(std::uint32_t bench, const AccumulatedArrays& to) noexcept = 0;
};

/// Device memory with a copy on the host, one pair for each bench.
class Fetched {
 public:
  Fetched() = default;
  /// Takes `bytes` bytes for each bench.
  Fetched(const memory::opencl::Device& device, std::uint32_t benches, std::size_t bytes, std::string_view what);
  [[nodiscard]] cl_mem device(std::uint32_t bench) const noexcept { return pairs_[bench].device.get(); }
  template <typename T>
  [[nodiscard]] T* host(std::uint32_t bench) const noexcept {
    return pairs_[bench].host.as<T>();
  }
  /// Enqueues the copy to the host.
  cl_int fetch(std::uint32_t bench, cl_command_queue queue) const noexcept;
  /// Enqueues the copy of the first `bytes` bytes to the device.
  cl_int send(std::uint32_t bench, cl_command_queue queue, std::size_t bytes) const noexcept;

 private:
  struct Pair {
    memory::opencl::Memory device;
    memory::opencl::HostMemory host;
  };
  std::size_t bytes_ = 0;
  std::vector<Pair> pairs_;
};

/// Throws ConfigError that names the kernel when the device cannot compute with double precision.
void need_doubles(const memory::opencl::Device& device, std::string_view kernel);

/// Compiles work_group.cl and the parts of `source` with `macros` ("-D TILE=4096"). Throws ResourceError with the
/// compiler's message.
memory::opencl::Program build(const memory::opencl::Device& device, const std::string& name,
                              std::vector<std::string_view> source, const std::string& macros);

/// Returns macros for photons.cl: the type of the pixels, and the values that count.
std::string photon_macros(PixelFormat format, PhotonRange range);
/// Returns the source of photons.cl.
std::string_view photon_source() noexcept;

/// Computes a CountTap's column and verdict from counts, image by image, and clears `work` of images that are not kept.
class SettleCounts {
 public:
  SettleCounts(const memory::opencl::Device& device, const CountTap& tap);
  /// Enqueues the work on tile counts, `tiles` for each image; without them, on ImageBooks::counted.
  cl_int enqueue(const DeviceStack& stack, cl_mem tile_counts, std::uint32_t tiles,
                 cl_command_queue queue) const noexcept;
  /// Takes new limits of a CountTap for all later calls of enqueue().
  void adopt(const LimitBytes& limits) noexcept;

 private:
  CountTap tap_;
  std::uint32_t group_;
  memory::opencl::Program program_;
  memory::opencl::Kernel of_tiles_, of_books_;
};

}  // namespace rashpa::kernel::opencl
