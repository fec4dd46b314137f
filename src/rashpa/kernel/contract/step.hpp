// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The contract of kernels: a step of a pipeline is a kernel with its parameters. At set-up, units ask it once for the
/// object that does the work. docs/how-to/add_a_kernel.md shows how to write one.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "rashpa/core/frame/stack.hpp"
#include "rashpa/core/image/region.hpp"
#include "rashpa/core/image/special_value.hpp"
#include "rashpa/kernel/contract/declaration.hpp"
#include "rashpa/kernel/contract/fpga_tables.hpp"
#include "rashpa/kernel/contract/given.hpp"
#include "rashpa/kernel/contract/strip.hpp"

namespace rashpa::memory::opencl {
class Device;  // memory/opencl/device.hpp
}

namespace rashpa::kernel {

/// The pixel values that mean that there is no measurement.
enum class Masked : std::uint8_t {
  maximum,       ///< the largest value, for unsigned pixels as detectors deliver them
  negative,      ///< negative values, for signed pixels as detectors deliver them
  minimum,       ///< the smallest value, for signed pixels as kernels make them, where small negative values are noise
  not_a_number,  ///< NaN, for float32
  none,          ///< no value: all integers count, as in arrays without further information
};

struct PixelFormat {
  PixelType type = PixelType::u16;
  Masked masked = Masked::maximum;
  /// for delivered pixels: larger values are special values of the detector
  std::int64_t largest_count = kNoLargestCount;
  friend bool operator==(const PixelFormat&, const PixelFormat&) = default;
};

/// Returns true when values may be negative. Not defined for reals.
constexpr bool is_signed(PixelFormat format) noexcept {
  return format.type == PixelType::i16 || format.type == PixelType::i32;
}

/// Returns the format that a detector delivers. `largest_count` comes from largest_count_of() for its special values.
constexpr PixelFormat delivered(PixelType type, std::int64_t largest_count = kNoLargestCount) noexcept {
  switch (type) {
    case PixelType::f32:
      return {type, Masked::not_a_number};
    case PixelType::i16:
    case PixelType::i32:
      return {type, Masked::negative, largest_count};
    default:
      return {type, Masked::maximum, largest_count};
  }
}

/// Returns the format of a plain array, in which all numbers count; in float32, NaN means no value.
constexpr PixelFormat plain(PixelType type) noexcept {
  return {type, type == PixelType::f32 ? Masked::not_a_number : Masked::none};
}

/// The values of a photon image that are counts, `least` to `most`; all others are masked.
struct PhotonRange {
  std::int64_t least = 0;
  std::int64_t most = 0;
};
constexpr PhotonRange photon_range(PixelFormat format) noexcept {
  const auto range = [&]<typename T>(T) -> PhotonRange {
    constexpr std::int64_t kLeast = std::numeric_limits<T>::min();
    constexpr std::int64_t kMost = std::numeric_limits<T>::max();
    if (format.masked == Masked::none) return {kLeast, kMost};
    if (format.masked == Masked::maximum) return {kLeast, std::min(kMost - 1, format.largest_count)};
    return {format.masked == Masked::negative ? 0 : kLeast + 1, std::min(kMost, format.largest_count)};
  };
  switch (format.type) {
    case PixelType::u8:
      return range(std::uint8_t{});
    case PixelType::u16:
      return range(std::uint16_t{});
    case PixelType::u32:
      return range(std::uint32_t{});
    case PixelType::i16:
      return range(std::int16_t{});
    default:
      return range(std::int32_t{});
  }
}

struct Shape {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  [[nodiscard]] std::size_t pixels() const noexcept { return std::size_t{width} * height; }
  friend bool operator==(const Shape&, const Shape&) = default;
};

/// The change of image shape by a step, for everything that is in units of pixels. Constant; any thread.
class Reshape {
 public:
  virtual ~Reshape() = default;
  /// Returns the shape of the images that the step makes.
  [[nodiscard]] virtual Shape shape() const noexcept = 0;
  /// Returns the smallest region that contains all output pixels of `region`.
  [[nodiscard]] virtual Region place(const Region& region) const = 0;
  /// Returns the NXmx pixel_mask of the output images from that of the input images.
  [[nodiscard]] virtual std::vector<std::uint32_t> mask(std::span<const std::uint32_t> seen) const = 0;
};

/// The set-up of a pass, given by its unit.
struct Setup {
  Shape shape{};  ///< of the images that the step reads
  Shape made{};   ///< of the images that the step makes; the same unless the step has a Reshape
  PixelFormat in{};
  std::uint32_t stack = 0;                 ///< most images of a stack
  std::uint32_t places = 0;                ///< images in the ring: room for data that must outlive the pass
  unsigned workers = 1;                    ///< for cpu: threads
  std::uint32_t benches = 1;               ///< for cuda and opencl: stacks in flight, each on its own bench
  std::optional<std::int32_t> count_at{};  ///< the pass provides Tap::count of pixels at or above this value
  std::optional<std::int32_t> mark_at{};   ///< the pass provides Tap::mark of pixels at or above this value
  bool marked = false;                     ///< true: the pass receives Tap::mark
  bool only_learned = false;         ///< true: dark images are needed only for the state that the step learns from them
  std::span<const Column> before{};  ///< columns of earlier steps; valid while the pass is made
};

/// Some images of a stack as a pass reads them: arrays of pointers, one entry for each image.
struct Items {
  std::size_t first = 0;  ///< item number of entry 0
  std::size_t count = 0;
  const std::byte* const* in = nullptr;   ///< row-major, without gaps
  std::byte* const* out = nullptr;        ///< output pixels, aligned to 64 bytes, for a step that makes pixels
  std::uint64_t* const* marks = nullptr;  ///< marks of Tap::mark: bit p mod 64 of word p / 64; written or read
  const std::uint32_t* place = nullptr;   ///< below Setup::places
  const std::span<const PayloadSum>* sums = nullptr;  ///< checksums of the image as delivered; null: sources send none
  const std::uint8_t* dark = nullptr;                 ///< not 0: the image is dark; null: none is dark
};

/// The findings of a pass in one image. The pass fills them.
struct Finding {
  Scalar* scalars = nullptr;       ///< columns of the step, in the order of the declaration
  const Scalar* before = nullptr;  ///< columns of Setup::before
  std::uint8_t verdict = 0;        ///< 0: kept; n: its n-th reason
  bool failed = false;             ///< the step failed on the image (such as a full list), which is errored
  SparseView list{};               ///< in memory of the pass, valid until the place is processed again
  TableView table{};               ///< in memory of the pass, valid until the place is processed again
  ProfileView profile{};           ///< in memory of the pass, valid until the place is processed again
  std::uint32_t counted = 0;       ///< the count of Tap::count
};

/// The destinations of an accumulation's quantities, each aligned to 64 bytes.
using AccumulatedArrays = std::array<std::byte*, kMostQuantities>;

/// The work of one step on processor cores. Nothing throws or allocates. For a step that takes no pixels, only finish()
/// is called.
class CpuPass {
 public:
  enum class Grain : std::uint8_t {
    block,  ///< blocks of pixels across all images, so that a stack reads the constants of a pixel once
    image,  ///< one image at a time
  };
  virtual ~CpuPass() = default;
  [[nodiscard]] virtual Grain grain() const noexcept { return Grain::block; }
  /// Prepares for a stack with `items` images, before its first run(). One thread.
  virtual void begin(std::size_t items) noexcept = 0;
  /// Processes pixels [first, last) of the images; `first` is a multiple of 4096. Several threads call it at once, each
  /// with its `worker` number, for different pixels (block) or items (image: one item, all pixels).
  virtual void run(unsigned worker, const Items& items, std::size_t first, std::size_t last) noexcept = 0;
  /// Completes the findings in an item after the last run() of the stack, once an item. One thread.
  virtual void finish(std::size_t item, Finding& finding) noexcept = 0;
  /// Ends a window of a step that accumulates, after finish() of all its images. Writes and resets elements [first,
  /// last) of each quantity; `first` is a multiple of 4096. Several threads call it at once for different elements,
  /// each with its `worker` number. `to` has the address of element 0 of each quantity.
  virtual void conclude(unsigned worker, const AccumulatedArrays& to, std::size_t first, std::size_t last) noexcept {
    static_cast<void>(worker), static_cast<void>(to), static_cast<void>(first), static_cast<void>(last);
  }
  /// Returns the reason of the first failure; empty when there was none, or no reason is known. Any thread.
  [[nodiscard]] virtual std::string failure() const { return {}; }
  /// Returns an alarm for people as text; empty: none. Any thread.
  [[nodiscard]] virtual std::string notice() const { return {}; }
};

/// The limits of a step for its passes: an object of a type of the kernel, as bytes aligned to 16.
using LimitBytes = std::vector<std::byte>;
template <typename T>
LimitBytes limit_bytes(std::span<const T> limits) {
  static_assert(std::is_trivially_copyable_v<T>);
  const auto bytes = std::as_bytes(limits);
  return {bytes.begin(), bytes.end()};
}
/// Returns the object in the bytes.
template <typename T>
T limits_in(const LimitBytes& bytes) noexcept {
  static_assert(std::is_trivially_copyable_v<T>);
  T limits;
  std::memcpy(&limits, bytes.data(), sizeof(limits));
  return limits;
}

/// A pass with limits that may change between two stacks.
class Limited {
 public:
  virtual ~Limited() = default;
  /// Takes the limits for all later work, and may leave its old ones in `limits`. The thread that works with the pass
  /// calls it. Does not allocate.
  virtual void adopt(LimitBytes& limits) noexcept = 0;
};

/// A step that only counts pixels at or above `threshold`, in its first column. It keeps images with a count from
/// `least` to `most`; its first reason is a count below, its second a count above. Any unit can do it from Tap::count.
struct CountTap {
  std::int32_t threshold = 1;
  std::uint32_t least = 0;
  std::uint32_t most = 0;
  /// Returns 0 when the image is kept, or the reason 1 or 2.
  [[nodiscard]] constexpr std::uint8_t verdict(std::uint32_t counted) const noexcept {
    if (counted < least) return 1;
    return counted > most ? 2 : 0;
  }
};

namespace cuda {
class DevicePass;  // device_pass.hpp
}
namespace opencl {
class DevicePass;  // opencl_pass.hpp
}

/// The images from which a step keeps state that changes later results. Before the step reads such an image, the unit
/// proves that it was not overwritten.
enum class Keeps : std::uint8_t { nothing, of_darks, of_images };

/// A kernel with its parameters. Constant; any number of units may use it. The classes below are abilities that only
/// some steps have; units ask for them at set-up.
class Step {
 public:
  virtual ~Step();
  [[nodiscard]] virtual const Declaration& declaration() const noexcept = 0;
  /// Returns the output format for pixels `in`, which is `in` when the step makes no pixels. Throws ConfigError when
  /// shape or pixels do not fit. Their type was checked before.
  [[nodiscard]] virtual PixelFormat fit(const Shape& shape, PixelFormat in) const = 0;
  /// Makes the pass for processor cores. Throws ResourceError when there is no memory.
  [[nodiscard]] virtual std::unique_ptr<CpuPass> on_cpu(const Setup& setup) const = 0;
  /// Makes the pass for the current device; null when the step has none or the program was built without CUDA. Throws
  /// as on_cpu() does.
  [[nodiscard]] virtual std::unique_ptr<cuda::DevicePass> on_cuda(const Setup& setup) const;
  /// Makes the pass for `device`, which outlives it; null when the step has none. Throws as on_cpu() does, and
  /// ResourceError with the message of the device's compiler.
  [[nodiscard]] virtual std::unique_ptr<opencl::DevicePass> on_opencl(const Setup& setup,
                                                                      const memory::opencl::Device& device) const;

  // The answers of the abilities below; of a step without one, the answer that says no.

  void fit_columns(std::span<const Column> before) const;                       ///< default: accepts any columns
  [[nodiscard]] std::unique_ptr<const Reshape> reshape(const Shape& in) const;  ///< default: null
  [[nodiscard]] bool offers(Tap tap) const;                           ///< default: the taps of its declaration
  [[nodiscard]] std::optional<CountTap> count_tap() const;            ///< default: none
  [[nodiscard]] std::optional<std::int32_t> mark_tap() const;         ///< default: none
  [[nodiscard]] bool learns_from_darks() const;                       ///< default: false
  [[nodiscard]] Keeps keeps() const;                                  ///< default: nothing
  [[nodiscard]] std::size_t list_capacity(const Shape& shape) const;  ///< default: 0
  [[nodiscard]] std::uint32_t table_capacity() const;                 ///< default: 0
  [[nodiscard]] std::vector<Axis> axes() const;                       ///< default: none
  [[nodiscard]] std::optional<Accumulation> accumulation(const Shape& shape, PixelFormat in) const;  ///< default: none
  [[nodiscard]] std::optional<Strip> strip(const Shape& whole, const Rows& rows) const;              ///< default: none
  [[nodiscard]] bool enqueued_each_time() const noexcept;                                            ///< default: false
  [[nodiscard]] std::optional<FpgaTables> on_fpga() const;                                           ///< default: none
  [[nodiscard]] std::optional<LimitBytes> limits(const Setup& setup) const;                          ///< default: none
  [[nodiscard]] std::shared_ptr<const Step> with(const NamedValues& values) const;  ///< default: throws
};

/// A step that reads columns of earlier steps.
class ColumnReading {
 public:
  virtual ~ColumnReading() = default;
  /// Throws ConfigError when it cannot use the columns.
  virtual void fit_columns(std::span<const Column> before) const = 0;
};

/// A step that makes pixels, and may make images of another shape.
class Reshaping {
 public:
  virtual ~Reshaping() = default;
  /// Returns the change of shape for images of shape `in`, which fits; null: they keep their shape.
  [[nodiscard]] virtual std::unique_ptr<const Reshape> reshape(const Shape& in) const = 0;
};

/// A step that, for some parameters, does not provide all taps of its declaration.
class Offering {
 public:
  virtual ~Offering() = default;
  /// Returns true when the step provides `tap` to later steps.
  [[nodiscard]] virtual bool offers(Tap tap) const = 0;
};

/// A step that is a CountTap.
class Counting {
 public:
  virtual ~Counting() = default;
  [[nodiscard]] virtual std::optional<CountTap> count_tap() const = 0;
};

/// A step whose limits may change while a unit runs it.
class Adjustable {
 public:
  virtual ~Adjustable() = default;
  /// Returns the limits of a pass with that set-up; for a counting step, its CountTap. Throws ConfigError.
  [[nodiscard]] virtual LimitBytes limits(const Setup& setup) const = 0;
  /// Makes the same step with the live parameters of `values`, which has all parameters. Throws ConfigError that names
  /// the parameter.
  [[nodiscard]] virtual std::shared_ptr<const Step> with(const NamedValues& values) const = 0;
};

/// A step that reads only marked pixels.
class Marking {
 public:
  virtual ~Marking() = default;
  /// Returns the threshold of the Tap::mark that saves the step its own pass.
  [[nodiscard]] virtual std::optional<std::int32_t> mark_tap() const = 0;
};

/// A step that keeps state from images for later ones. Sums over images (Accumulating) do not count as state.
class Learning {
 public:
  virtual ~Learning() = default;
  /// Returns true when the step reads dark images that the pipeline does not keep; they are vetoed after this step.
  /// Stacks come in order.
  [[nodiscard]] virtual bool learns_from_darks() const = 0;
  [[nodiscard]] virtual Keeps keeps() const = 0;
};

/// A step that makes lists.
class Listing {
 public:
  virtual ~Listing() = default;
  /// Returns the most entries of an image's list.
  [[nodiscard]] virtual std::size_t list_capacity(const Shape& shape) const = 0;
};

/// A step that makes rows of a table.
class Tabling {
 public:
  virtual ~Tabling() = default;
  /// Returns the most rows of an image's table.
  [[nodiscard]] virtual std::uint32_t table_capacity() const = 0;
};

/// A step that makes profiles.
class Profiling {
 public:
  virtual ~Profiling() = default;
  /// Returns the axes of the profile with their bins.
  [[nodiscard]] virtual std::vector<Axis> axes() const = 0;
};

/// A step that accumulates over images.
class Accumulating {
 public:
  virtual ~Accumulating() = default;
  /// Returns the accumulation over pixels `in`, if any; CpuPass::conclude() writes it. Images that this step vetoes or
  /// fails are not counted. Unless Accumulation::accepted is false, no later step may refuse an image that this step
  /// has added.
  [[nodiscard]] virtual std::optional<Accumulation> accumulation(const Shape& shape, PixelFormat in) const = 0;
};

/// A step that can work on strips of an image.
class Splitting {
 public:
  virtual ~Splitting() = default;
  /// Returns the step for `rows` of images of shape `whole`, which fits. Nothing: these images must stay in one piece.
  [[nodiscard]] virtual std::optional<Strip> strip(const Shape& whole, const Rows& rows) const = 0;
};

/// A step whose CUDA pass calls an outside function to enqueue each stack. That work may differ from stack to stack, so
/// it cannot be captured.
class EnqueuedEachTime {
 public:
  virtual ~EnqueuedEachTime() = default;
};

/// A step that the processing unit in hardware provides: conversion and counts.
class InHardware {
 public:
  virtual ~InHardware() = default;
  /// Returns nothing when the hardware lacks this step. Throws ConfigError when it lacks these parameters.
  [[nodiscard]] virtual std::optional<FpgaTables> on_fpga() const = 0;
};

/// A step by value, made from a kernel's Config by `step_of(const Config&)` of its folder.
class StepOf {
 public:
  template <typename Config>
  requires requires(const Config& config) { step_of(config); }
  StepOf(const Config& config) : step_(step_of(config)) {}  // NOLINT(google-explicit-constructor): a list of configs
  StepOf(std::shared_ptr<const Step> step) : step_(std::move(step)) {}  // NOLINT(google-explicit-constructor)
  const Step& operator*() const noexcept { return *step_; }
  const Step* operator->() const noexcept { return step_.get(); }
  [[nodiscard]] const std::shared_ptr<const Step>& shared() const noexcept { return step_; }

 private:
  std::shared_ptr<const Step> step_;
};

/// A kernel as the registry stores it.
class Kernel {
 public:
  virtual ~Kernel() = default;
  [[nodiscard]] virtual const Declaration& declaration() const noexcept = 0;
  /// Makes the step. `given` has passed check_given(). Throws ConfigError that names the parameter.
  [[nodiscard]] virtual std::shared_ptr<const Step> make(const NamedValues& values, const Given& given) const = 0;
};

}  // namespace rashpa::kernel
