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

/// ImageBooks::entries of an image that has more than there is room for.
inline constexpr std::uint32_t kListOverflow = ~0U;

/// The device's findings on one image; `struct Books` of work_group.cl. The unit clears it before the first step,
/// and sets `work` of images that are to be processed; a step clears `work` of images that it does not keep.
struct ImageBooks {
  std::uint32_t counted = 0;  ///< Tap::count
  std::uint32_t entries = 0;  ///< of its list; kListOverflow
  std::uint8_t work = 0;
  std::uint8_t verdict = 0;  ///< 0: kept; n: the n-th reason of step `step`
  std::uint8_t step = 0;     ///< which step's verdict it is
  std::uint8_t failed = 0;   ///< set by the host: n: its n-th step could not do its work
  std::uint8_t unused[4]{};
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
  // The host's knowledge; null where there is none: kernels are tried on nothing.
  const StackImage* images = nullptr;  ///< [count]
  const std::uint8_t* work = nullptr;  ///< [count]: 0: nothing is to be done, as far as the host knows
  bool delivered = false;              ///< `in` are images as they were delivered, which StackImage::raw are, too
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

/// One image, on the host.
struct HostItem {
  std::uint32_t bench = 0;
  std::uint32_t image = 0;  ///< of the stack
  std::uint32_t place = 0;  ///< below Setup::places
  const StackImage* of = nullptr;
  bool delivered = false;  ///< the step sees StackImage::raw
};

/// Owns memory of the device that it was made for. One for each stack in flight works at a time on its bench: `bench`
/// counts from 0. One thread, unless a function says otherwise. Nothing waits. The classes below it are
/// abilities of only some passes: the unit asks for them when it makes a pass (core/ability.hpp).
class DevicePass {
 public:
  /// The place that finds the results of an image.
  enum class Where : std::uint8_t {
    device,  ///< enqueue(), and the books have it
    both,    ///< enqueue(), then settle() on the host, with the results of fetch()
    host,    ///< settle(): nothing is enqueued or fetched
  };
  virtual ~DevicePass() = default;
  [[nodiscard]] virtual Where where() const noexcept { return Where::device; }
  /// Puts the work into the queue; returns the first error, a cl_int.
  virtual cl_int enqueue(const DeviceStack& stack, std::uint32_t bench, cl_command_queue queue) const noexcept = 0;
  /// Puts what settle() looks at into the queue, on its way to memory of the host; behind enqueue(), maybe in another
  /// queue.
  virtual cl_int fetch(const DeviceStack& stack, std::uint32_t bench, cl_command_queue queue) const noexcept {
    static_cast<void>(stack), static_cast<void>(bench), static_cast<void>(queue);
    return CL_SUCCESS;
  }
  /// Finishes an image that the step has seen, once, when its data is on the host: as CpuPass::finish().
  virtual void settle(const HostItem& item, Finding& finding) noexcept {
    static_cast<void>(item), static_cast<void>(finding);
  }
  /// The lists on the device, for steps that make lists there.
  [[nodiscard]] virtual DeviceLists lists(std::uint32_t bench) const noexcept {
    static_cast<void>(bench);
    return {};
  }
  /// These are the functions of that name of CpuPass. Any thread.
  [[nodiscard]] virtual std::string failure() const { return {}; }
  [[nodiscard]] virtual std::string notice() const { return {}; }
};

/// A pass of a step that accumulates on the host.
class HostAdding {
 public:
  virtual ~HostAdding() = default;
  /// An image that the step has kept, in the order of images, when all is done with its stack.
  virtual void add(const HostItem& item) noexcept = 0;
  /// Writes the quantities of a window that has ended, each from element 0, and starts them anew.
  virtual void write(const AccumulatedArrays& to) noexcept = 0;
};

/// A pass of a step that accumulates on the device.
class DeviceAdding {
 public:
  virtual ~DeviceAdding() = default;
  /// Puts the quantities into the queue, on their way to memory of the host, behind enqueue() of the last stack of a
  /// window; they start anew.
  virtual cl_int conclude(std::uint32_t bench, cl_command_queue queue) noexcept = 0;
  /// Writes the quantities that conclude() has brought to the host, each from element 0.
  virtual void write(std::uint32_t bench, const AccumulatedArrays& to) noexcept = 0;
};

/// Memory of the device with a copy on the host, one for each bench.
class Fetched {
 public:
  Fetched() = default;
  /// `bytes`: at each bench.
  Fetched(const memory::opencl::Device& device, std::uint32_t benches, std::size_t bytes, std::string_view what);
  [[nodiscard]] cl_mem device(std::uint32_t bench) const noexcept { return pairs_[bench].device.get(); }
  template <typename T>
  [[nodiscard]] T* host(std::uint32_t bench) const noexcept {
    return pairs_[bench].host.as<T>();
  }
  /// Puts the copy into the queue, to the host.
  cl_int fetch(std::uint32_t bench, cl_command_queue queue) const noexcept;
  /// Copies the first `bytes` to the device.
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

/// work_group.cl and the parts of `source`, compiled with `macros` ("-D TILE=4096"). Throws ResourceError with the
/// compiler's message.
memory::opencl::Program build(const memory::opencl::Device& device, const std::string& name,
                              std::vector<std::string_view> source, const std::string& macros);

/// Macros for photons.cl: the type of the pixels, and which of their values count.
std::string photon_macros(PixelFormat format, PhotonRange range);
/// The source of photons.cl.
std::string_view photon_source() noexcept;

/// The result of a CountTap from counts, image by image: its column, its verdict; images that are not kept leave the
/// work.
class SettleCounts {
 public:
  SettleCounts(const memory::opencl::Device& device, const CountTap& tap);
  /// Enqueues the work on counts of tiles, `tiles` an image, or, without them, on ImageBooks::counted.
  cl_int enqueue(const DeviceStack& stack, cl_mem tile_counts, std::uint32_t tiles,
                 cl_command_queue queue) const noexcept;
  /// Takes those of a CountTap, for every enqueue() from now on.
  void adopt(const LimitBytes& limits) noexcept;

 private:
  CountTap tap_;
  std::uint32_t group_;
  memory::opencl::Program program_;
  memory::opencl::Kernel of_tiles_, of_books_;
};

}  // namespace rashpa::kernel::opencl
