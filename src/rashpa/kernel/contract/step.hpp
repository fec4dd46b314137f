// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The contract of kernels: a step of a pipeline is a kernel with its parameters. Units ask it once, at set-up, for an
/// object that does the work; docs/how-to/add_a_kernel.md shows how one is made.
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

/// The values of a pixel that mean that it holds no measurement.
enum class Masked : std::uint8_t {
  maximum,       ///< unsigned, as detectors deliver them
  negative,      ///< signed, as detectors deliver them
  minimum,       ///< signed, as kernels make them: small negative values are noise
  not_a_number,  ///< float32
  none,          ///< integers whose numbers all count: those of an array of which nothing else is said
};

struct PixelFormat {
  PixelType type = PixelType::u16;
  Masked masked = Masked::maximum;
  std::int64_t largest_count = kNoLargestCount;  ///< delivered: values above it are special ones of the detector
  friend bool operator==(const PixelFormat&, const PixelFormat&) = default;
};

/// Returns whether values may be below zero; reals are not asked for.
constexpr bool is_signed(PixelFormat format) noexcept {
  return format.type == PixelType::i16 || format.type == PixelType::i32;
}

/// The format that a detector delivers; `largest_count` as largest_count_of() says it of its special values.
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

/// A plain array: each number counts as it is. Of float32 that is NaN where there is none.
constexpr PixelFormat plain(PixelType type) noexcept {
  return {type, type == PixelType::f32 ? Masked::not_a_number : Masked::none};
}

/// The values of a photon image that are counts: `least` to `most`, all others are masked.
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

/// The effect of a step that changes the shape of images on everything in units of pixels. Does not change; any thread.
class Reshape {
 public:
  virtual ~Reshape() = default;
  /// The shape of the images that the step makes.
  [[nodiscard]] virtual Shape shape() const noexcept = 0;
  /// The smallest region that holds all that becomes of `region`.
  [[nodiscard]] virtual Region place(const Region& region) const = 0;
  /// The NXmx pixel_mask of the images made, from that of the images seen.
  [[nodiscard]] virtual std::vector<std::uint32_t> mask(std::span<const std::uint32_t> seen) const = 0;
};

/// The set-up of a pass.
struct Setup {
  Shape shape{};  ///< of the images that it sees
  Shape made{};   ///< of those that it makes; the same unless the step has a Reshape
  PixelFormat in{};
  std::uint32_t stack = 0;                 ///< most images at once
  std::uint32_t places = 0;                ///< images in the ring: room for data that outlive the pass
  unsigned workers = 1;                    ///< cpu: threads
  std::uint32_t benches = 1;               ///< cuda, opencl: stacks in flight, each on a bench of its own
  std::optional<std::int32_t> count_at{};  ///< Tap::count is wanted of it: pixels at or above
  std::optional<std::int32_t> mark_at{};   ///< Tap::mark is wanted of it
  bool marked = false;                     ///< Tap::mark is there for it
  bool only_learned = false;               ///< of dark images nothing is wanted but that it learns from them
  std::span<const Column> before{};        ///< of the steps before it; valid while the pass is made
};

/// Some images of a stack, as a pass sees them. Arrays of pointers, one entry an image.
struct Items {
  std::size_t first = 0;  ///< item number of entry 0
  std::size_t count = 0;
  const std::byte* const* in = nullptr;               ///< row-major, without gaps
  std::byte* const* out = nullptr;                    ///< its pixels, aligned to 64 bytes, when it makes some
  std::uint64_t* const* marks = nullptr;              ///< Tap::mark: bit p mod 64 of word p / 64; written or read
  const std::uint32_t* place = nullptr;               ///< below Setup::places
  const std::span<const PayloadSum>* sums = nullptr;  ///< of the image as it was delivered; null: nobody says them
  const std::uint8_t* dark = nullptr;                 ///< not 0: a dark image. Null: none is
};

/// The findings of a pass in one image.
struct Finding {
  Scalar* scalars = nullptr;       ///< its columns, in the order of the declaration
  const Scalar* before = nullptr;  ///< those of Setup::before
  std::uint8_t verdict = 0;        ///< 0: kept; n: its n-th reason
  bool failed = false;             ///< it could not do its work (list full): the image is errored
  SparseView list{};               ///< memory of its own, valid until the place is processed again
  TableView table{};               ///< the same
  ProfileView profile{};           ///< the same
  std::uint32_t counted = 0;       ///< Tap::count
};

/// Where the quantities of an accumulation go, each aligned to 64 bytes.
using AccumulatedArrays = std::array<std::byte*, kMostQuantities>;

/// The work of one step on processor cores. Nothing throws or allocates. Of a step that takes no pixels finish() alone
/// is called.
class CpuPass {
 public:
  enum class Grain : std::uint8_t {
    block,  ///< blocks of pixels across all images, so that what belongs to a pixel is read once a stack
    image,  ///< one image at a time
  };
  virtual ~CpuPass() = default;
  [[nodiscard]] virtual Grain grain() const noexcept { return Grain::block; }
  /// Prepares a stack with `items` images, before its first run(). One thread.
  virtual void begin(std::size_t items) noexcept = 0;
  /// Pixels [first, last) of the images seen; `first` is a multiple of 4096. Several threads at once, each with its
  /// `worker` number, for different pixels (block) or items (image: one item, all pixels).
  virtual void run(unsigned worker, const Items& items, std::size_t first, std::size_t last) noexcept = 0;
  /// Completes the finding of an item, after the last run() of the stack, once an item. Called by one thread.
  virtual void finish(std::size_t item, Finding& finding) noexcept = 0;
  /// Ends a window of a step that accumulates, after finish() of all its images: writes elements [first, last) of each
  /// quantity, `first` a multiple of 4096, and starts them anew. Several threads call it at once for different
  /// elements, each with its `worker` number. `to` holds element 0 of each quantity.
  virtual void conclude(unsigned worker, const AccumulatedArrays& to, std::size_t first, std::size_t last) noexcept {
    static_cast<void>(worker), static_cast<void>(to), static_cast<void>(first), static_cast<void>(last);
  }
  /// Returns why it could not do its work, the first reason; empty when it could, or has nothing to say. Any thread.
  [[nodiscard]] virtual std::string failure() const { return {}; }
  /// An alarm for people, in words; empty: nothing. Any thread.
  [[nodiscard]] virtual std::string notice() const { return {}; }
};

/// The limits of a step as its passes take them: an object of its kernel, byte by byte, aligned to 16.
using LimitBytes = std::vector<std::byte>;
template <typename T>
LimitBytes limit_bytes(std::span<const T> limits) {
  static_assert(std::is_trivially_copyable_v<T>);
  const auto bytes = std::as_bytes(limits);
  return {bytes.begin(), bytes.end()};
}
/// The object in them.
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
  /// Takes limits of its kernel, and may give its own in return: for all work from now on, and none before. The thread
  /// that works with the pass. Does not allocate.
  virtual void adopt(LimitBytes& limits) noexcept = 0;
};

/// A step that is nothing but a count: pixels at or above `threshold`, which is its first column; kept from `least` to
/// `most`, its first and second reason say below and above. Any unit can do it from Tap::count.
struct CountTap {
  std::int32_t threshold = 1;
  std::uint32_t least = 0;
  std::uint32_t most = 0;
  /// 0: kept; 1, 2: the reason.
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

/// The images of which a step keeps state that changes its results for later ones. The unit proves these before the
/// step has them: none was written over.
enum class Keeps : std::uint8_t { nothing, of_darks, of_images };

/// A kernel with its parameters. Does not change; used by any number of units. A step says what it does by the classes
/// below, one for each ability that only some have; units ask at set-up.
class Step {
 public:
  virtual ~Step();
  [[nodiscard]] virtual const Declaration& declaration() const noexcept = 0;
  /// Returns the output for pixels `in`: the same where it makes none. Throws ConfigError when shape or pixels do not
  /// fit; that their type is one that it takes is known before.
  [[nodiscard]] virtual PixelFormat fit(const Shape& shape, PixelFormat in) const = 0;
  /// Throws ResourceError when there is no memory.
  [[nodiscard]] virtual std::unique_ptr<CpuPass> on_cpu(const Setup& setup) const = 0;
  /// Makes the pass for the current device; null when there is none or the program was built without CUDA. Throws as
  /// on_cpu() does.
  [[nodiscard]] virtual std::unique_ptr<cuda::DevicePass> on_cuda(const Setup& setup) const;
  /// Makes the pass for the device, which outlives it; null when there is none. Throws ResourceError with the message
  /// of the device's compiler, too.
  [[nodiscard]] virtual std::unique_ptr<opencl::DevicePass> on_opencl(const Setup& setup,
                                                                      const memory::opencl::Device& device) const;

  // The answers of the abilities below; of a step without one, the answer that says no.

  void fit_columns(std::span<const Column> before) const;                       ///< nothing is asked of them
  [[nodiscard]] std::unique_ptr<const Reshape> reshape(const Shape& in) const;  ///< null
  [[nodiscard]] bool offers(Tap tap) const;                                     ///< as its declaration does
  [[nodiscard]] std::optional<CountTap> count_tap() const;                      ///< none
  [[nodiscard]] std::optional<std::int32_t> mark_tap() const;                   ///< none
  [[nodiscard]] bool learns_from_darks() const;                                 ///< false
  [[nodiscard]] Keeps keeps() const;                                            ///< nothing
  [[nodiscard]] std::size_t list_capacity(const Shape& shape) const;            ///< 0
  [[nodiscard]] std::uint32_t table_capacity() const;                           ///< 0
  [[nodiscard]] std::vector<Axis> axes() const;                                 ///< none
  [[nodiscard]] std::optional<Accumulation> accumulation(const Shape& shape, PixelFormat in) const;  ///< none
  [[nodiscard]] std::optional<Strip> strip(const Shape& whole, const Rows& rows) const;              ///< none
  [[nodiscard]] bool enqueued_each_time() const noexcept;                                            ///< false
  [[nodiscard]] std::optional<FpgaTables> on_fpga() const;                                           ///< none
  [[nodiscard]] std::optional<LimitBytes> limits(const Setup& setup) const;                          ///< none
  [[nodiscard]] std::shared_ptr<const Step> with(const NamedValues& values) const;                   ///< throws
};

/// A step that works on the columns of the steps before it.
class ColumnReading {
 public:
  virtual ~ColumnReading() = default;
  /// Throws ConfigError when it cannot work on them.
  virtual void fit_columns(std::span<const Column> before) const = 0;
};

/// A step that makes pixels, and may make images of another shape.
class Reshaping {
 public:
  virtual ~Reshaping() = default;
  /// Returns how images of shape `in`, which fits, become others; null: they keep their shape.
  [[nodiscard]] virtual std::unique_ptr<const Reshape> reshape(const Shape& in) const = 0;
};

/// A step that does not hand on, with these parameters, all taps of its declaration.
class Offering {
 public:
  virtual ~Offering() = default;
  /// Returns true when it hands `tap` to steps behind it.
  [[nodiscard]] virtual bool offers(Tap tap) const = 0;
};

/// A step that is a count.
class Counting {
 public:
  virtual ~Counting() = default;
  [[nodiscard]] virtual std::optional<CountTap> count_tap() const = 0;
};

/// A step whose limits may change while a unit works with it.
class Adjustable {
 public:
  virtual ~Adjustable() = default;
  /// Returns the limits of a pass with that set-up. A step that is a count has its CountTap. Throws ConfigError.
  [[nodiscard]] virtual LimitBytes limits(const Setup& setup) const = 0;
  /// Makes the same step with the live parameters of `values`, which has all parameters. Throws ConfigError that names
  /// the parameter.
  [[nodiscard]] virtual std::shared_ptr<const Step> with(const NamedValues& values) const = 0;
};

/// A step that looks at marked pixels alone.
class Marking {
 public:
  virtual ~Marking() = default;
  /// The threshold of Tap::mark that spares it its own pass.
  [[nodiscard]] virtual std::optional<std::int32_t> mark_tap() const = 0;
};

/// A step that keeps something of images for later ones. Sums over images (Accumulating) need no word here.
class Learning {
 public:
  virtual ~Learning() = default;
  /// Returns true when it sees dark images that the pipeline does not keep: they are vetoed behind it. Stacks come in
  /// order.
  [[nodiscard]] virtual bool learns_from_darks() const = 0;
  [[nodiscard]] virtual Keeps keeps() const = 0;
};

/// A step that makes lists.
class Listing {
 public:
  virtual ~Listing() = default;
  /// Room for entries in the list of an image.
  [[nodiscard]] virtual std::size_t list_capacity(const Shape& shape) const = 0;
};

/// A step that makes rows of a table.
class Tabling {
 public:
  virtual ~Tabling() = default;
  /// Room for rows in the table of an image.
  [[nodiscard]] virtual std::uint32_t table_capacity() const = 0;
};

/// A step that makes profiles.
class Profiling {
 public:
  virtual ~Profiling() = default;
  /// The axes of its profile with their bins.
  [[nodiscard]] virtual std::vector<Axis> axes() const = 0;
};

/// A step that adds up over images.
class Accumulating {
 public:
  virtual ~Accumulating() = default;
  /// Returns the accumulation over pixels `in`, if any: CpuPass::conclude writes that. An image that it vetoes or fails
  /// is not counted; unless Accumulation::accepted is off, no step behind it may refuse an image that it has added.
  [[nodiscard]] virtual std::optional<Accumulation> accumulation(const Shape& shape, PixelFormat in) const = 0;
};

/// A step that does not need an image in one piece.
class Splitting {
 public:
  virtual ~Splitting() = default;
  /// The same on `rows` of images of shape `whole`, which fits. Nothing: an image must be in one piece after all.
  [[nodiscard]] virtual std::optional<Strip> strip(const Shape& whole, const Rows& rows) const = 0;
};

/// A step with a pass for CUDA that asks a function from outside for each stack's work in the stream: it may differ
/// from stack to stack, so that nothing of it can be captured.
class EnqueuedEachTime {
 public:
  virtual ~EnqueuedEachTime() = default;
};

/// A step that the processing unit in hardware has: it converts and counts.
class InHardware {
 public:
  virtual ~InHardware() = default;
  /// Returns nothing when it cannot do this step. Throws ConfigError when it cannot do it with these parameters.
  [[nodiscard]] virtual std::optional<FpgaTables> on_fpga() const = 0;
};

/// A step by value, made from a kernel's Config: its folder has `step_of(const Config&)`.
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

/// A kernel, as the registry knows it.
class Kernel {
 public:
  virtual ~Kernel() = default;
  [[nodiscard]] virtual const Declaration& declaration() const noexcept = 0;
  /// `given` has passed check_given(). Throws ConfigError that names the parameter.
  [[nodiscard]] virtual std::shared_ptr<const Step> make(const NamedValues& values, const Given& given) const = 0;
};

}  // namespace rashpa::kernel
