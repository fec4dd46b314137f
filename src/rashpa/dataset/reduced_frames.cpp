// SPDX-License-Identifier: Apache-2.0
#include "rashpa/dataset/reduced_frames.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <type_traits>
#include <vector>

#include "rashpa/core/error.hpp"
#include "rashpa/dataset/turned_frames.hpp"

namespace rashpa::dataset {

namespace {

/// A type that holds the sum of the pixels of any bin: at most 64 of them.
template <typename T>
using Sum = std::conditional_t<std::is_floating_point_v<T>, double,
                               std::conditional_t<sizeof(T) <= 2, std::int32_t, std::int64_t>>;

template <typename T>
constexpr Sum<T> bounded(std::int64_t value) noexcept {
  using Limits = std::numeric_limits<T>;
  if (value < static_cast<std::int64_t>(Limits::min())) return static_cast<Sum<T>>(Limits::min());
  return static_cast<Sum<T>>(std::min(value, static_cast<std::int64_t>(Limits::max())));
}

/// The counts of a pixel type, in the type of sums.
template <typename T>
struct Counts {
  explicit Counts(const Reduction& reduction) noexcept
      : least(bounded<T>(reduction.least)),
        most(bounded<T>(reduction.most)),
        saturated(bounded<T>(reduction.saturated)) {}
  Sum<T> least, most, saturated;
  [[nodiscard]] bool has(T pixel) const noexcept { return pixel >= least && pixel <= most; }
  [[nodiscard]] T limited(Sum<T> value) const noexcept {
    return static_cast<T>(value < least ? least : value > most ? saturated : value);
  }
  [[nodiscard]] bool full(T pixel) const noexcept { return static_cast<Sum<T>>(pixel) == saturated; }
};

template <>
struct Counts<float> {
  explicit Counts(const Reduction& /*reduction*/) noexcept {}
  [[nodiscard]] static bool has(float pixel) noexcept { return !std::isnan(pixel); }
  [[nodiscard]] static float limited(double value) noexcept { return static_cast<float>(value); }
  [[nodiscard]] static bool full(float /*pixel*/) noexcept { return false; }
};

/// Calls `call` with a value of the pixel type.
template <typename Call>
decltype(auto) for_type(PixelType pixel, Call call) {
  switch (pixel) {
    case PixelType::u8:
      return call(std::uint8_t{});
    case PixelType::u16:
      return call(std::uint16_t{});
    case PixelType::u32:
      return call(std::uint32_t{});
    case PixelType::i16:
      return call(std::int16_t{});
    case PixelType::i32:
      return call(std::int32_t{});
    case PixelType::f32:
      break;
  }
  return call(float{});
}

template <typename T>
void subtract(const Counts<T>& counts, const T* offset, T* pixels, std::size_t size) noexcept {
  for (std::size_t i = 0; i < size; ++i) {
    const T pixel = pixels[i];
    const T made = counts.limited(static_cast<Sum<T>>(pixel) - static_cast<Sum<T>>(offset[i]));
    pixels[i] = counts.has(pixel) ? made : pixel;
  }
}

template <typename T>
void zero_below(const Counts<T>& counts, double threshold, T* pixels, std::size_t size) noexcept {
  if constexpr (std::is_floating_point_v<T>) {
    for (std::size_t i = 0; i < size; ++i) pixels[i] = static_cast<double>(pixels[i]) < threshold ? 0 : pixels[i];
  } else {
    const auto first = bounded<T>(static_cast<std::int64_t>(
        std::min(std::ceil(threshold), static_cast<double>(std::numeric_limits<std::int32_t>::max()) * 2 + 1)));
    for (std::size_t i = 0; i < size; ++i) {
      const T pixel = pixels[i];
      pixels[i] = counts.has(pixel) && pixel < first ? T{0} : pixel;
    }
  }
}

/// Returns sum / count, rounded to the nearest, halves away from zero.
template <typename Integer>
Integer rounded_mean(Integer sum, Integer count) noexcept {
  return sum >= 0 ? (2 * sum + count) / (2 * count) : -((count - 2 * sum) / (2 * count));
}

template <typename T>
class Bins {
 public:
  Bins(std::uint32_t width, std::uint32_t height, const Reduction& reduction)
      : width_(width), height_(height), reduction_(reduction), counts_(reduction), sums_(width), have_(width) {}

  void bin(const T* pixels, T* bins) noexcept {
    for (std::uint32_t top = 0; top < height_; top += reduction_.bin_y) {
      const T* lines = pixels + std::size_t{top} * width_;
      add_lines(lines);
      for (std::uint32_t left = 0; left < width_; left += reduction_.bin_x) *bins++ = value(lines, left);
    }
  }

 private:
  void add_lines(const T* lines) noexcept {
    std::fill(sums_.begin(), sums_.end(), Sum<T>{});
    std::fill(have_.begin(), have_.end(), 0);
    for (std::uint32_t y = 0; y < reduction_.bin_y; ++y) {
      const T* line = lines + std::size_t{y} * width_;
      for (std::uint32_t x = 0; x < width_; ++x) {
        const bool has = counts_.has(line[x]);
        sums_[x] += has ? static_cast<Sum<T>>(line[x]) : Sum<T>{};
        have_[x] += has ? 1 : 0;
      }
    }
  }

  T value(const T* lines, std::uint32_t left) noexcept {
    Sum<T> sum{};
    std::int32_t have = 0;
    for (std::uint32_t x = left; x < left + reduction_.bin_x; ++x) sum += sums_[x], have += have_[x];
    const auto all = static_cast<std::int32_t>(reduction_.bin_x * reduction_.bin_y);
    if (have < all) {
      if (const std::optional<T> mark = mark_of(lines, left, have)) return *mark;
    }
    if (reduction_.bin_by == BinValue::sum) return counts_.limited(sum);
    if constexpr (std::is_floating_point_v<T>) {
      return static_cast<T>(sum / have);
    } else {
      return static_cast<T>(rounded_mean<Sum<T>>(sum, have));
    }
  }

  /// Returns the mark of a bin in which not every pixel has a count; none when it has a value nevertheless.
  std::optional<T> mark_of(const T* lines, std::uint32_t left, std::int32_t have) const noexcept {
    std::optional<T> lasting, full;
    for (std::uint32_t y = 0; y < reduction_.bin_y; ++y) {
      for (std::uint32_t x = left; x < left + reduction_.bin_x; ++x) {
        const T pixel = lines[std::size_t{y} * width_ + x];
        if (counts_.has(pixel)) continue;
        std::optional<T>& mark = counts_.full(pixel) ? full : lasting;
        if (!mark) mark = pixel;
      }
    }
    if (reduction_.bin_by == BinValue::mean && have > 0) return full;
    return lasting ? lasting : full;
  }

  std::uint32_t width_, height_;
  Reduction reduction_;
  Counts<T> counts_;
  std::vector<Sum<T>> sums_;        // by column, of the lines of a row of bins
  std::vector<std::int32_t> have_;  // … and the pixels among them that have a count
};

}  // namespace

void subtract_offset(PixelType pixel, const Reduction& reduction, std::span<const std::byte> offset,
                     std::span<std::byte> pixels) noexcept {
  for_type(pixel, [&](auto type) {
    using T = decltype(type);
    subtract(Counts<T>(reduction), reinterpret_cast<const T*>(offset.data()), reinterpret_cast<T*>(pixels.data()),
             pixels.size() / sizeof(T));
  });
}

void zero_below_threshold(PixelType pixel, const Reduction& reduction, std::span<std::byte> pixels) noexcept {
  for_type(pixel, [&](auto type) {
    using T = decltype(type);
    zero_below(Counts<T>(reduction), reduction.threshold, reinterpret_cast<T*>(pixels.data()),
               pixels.size() / sizeof(T));
  });
}

class Binning::Work {
 public:
  virtual ~Work() = default;
  virtual void bin(const std::byte* pixels, std::byte* bins) noexcept = 0;
};

namespace {

template <typename T, typename Base>
class TypedWork final : public Base {
 public:
  TypedWork(ModuleShape shape, const Reduction& reduction) : bins_(shape.width, shape.height, reduction) {}
  void bin(const std::byte* pixels, std::byte* bins) noexcept override {
    bins_.bin(reinterpret_cast<const T*>(pixels), reinterpret_cast<T*>(bins));
  }

 private:
  Bins<T> bins_;
};

/// Copies a region out of a frame.
void cut(const std::byte* frame, const ModuleShape& shape, const Region& region, std::byte* to) noexcept {
  const std::size_t line = std::size_t{region.width} * pixel_bytes(shape.pixel);
  for (std::uint32_t y = 0; y < region.height; ++y) {
    const std::byte* from = frame + (region.y + y) * shape.pitch_bytes() + region.x * pixel_bytes(shape.pixel);
    std::memcpy(to + y * line, from, line);
  }
}

void check(const ModuleShape& shape, const Region& region, const Reduction& reduction) {
  const auto fits = [](std::uint32_t bin, std::uint32_t side) {
    return bin >= 1 && bin <= kLargestBin && side % bin == 0;
  };
  if (!fits(reduction.bin_x, region.width) || !fits(reduction.bin_y, region.height)) {
    throw ConfigError(
        fmt::format("reduction: bins of {} x {} pixels do not divide the region of {} x {} pixels; give bins of 1 to "
                    "{} pixels that divide its sides",
                    reduction.bin_x, reduction.bin_y, region.width, region.height, kLargestBin));
  }
  if (reduction.offset != nullptr && reduction.offset->size() != shape.frame_bytes()) {
    throw ConfigError(fmt::format("reduction: the offset has {} bytes, and a frame {}; give an image of the module",
                                  reduction.offset->size(), shape.frame_bytes()));
  }
}

}  // namespace

Binning::Binning(ModuleShape shape, const Reduction& reduction) {
  for_type(shape.pixel,
           [&](auto type) { work_ = std::make_unique<TypedWork<decltype(type), Work>>(shape, reduction); });
}
Binning::~Binning() = default;

void Binning::bin(std::span<const std::byte> pixels, std::span<std::byte> bins) noexcept {
  work_->bin(pixels.data(), bins.data());
}

std::unique_ptr<const MemoryDataset> reduced_frames(const Dataset& frames, std::uint32_t module, Orientation way,
                                                    const Region& region, const Reduction& reduction) {
  const ModuleShape read_out = frames.shape(), turned = turned_shape(read_out, way);
  check(read_out, region, reduction);
  const ModuleShape taken{region.width, region.height, read_out.pixel};
  const ModuleShape made{region.width / reduction.bin_x, region.height / reduction.bin_y, read_out.pixel};
  auto all = std::make_unique<MemoryDataset>(made, 1, frames.frames());
  std::vector<std::byte> upright(way.upright() ? 0 : read_out.frame_bytes()), pixels(taken.frame_bytes());
  const auto take = [&](const std::byte* from, std::span<std::byte> to) {
    if (!way.upright()) turn_frame(read_out, way, from, upright);
    cut(way.upright() ? from : upright.data(), turned, region, to.data());
  };
  std::vector<std::byte> offset;
  if (reduction.offset != nullptr) {
    offset.resize(pixels.size());
    take(reduction.offset->data(), offset);
  }
  Binning binning(taken, reduction);
  for (std::uint64_t frame = 0; frame < frames.frames(); ++frame) {
    const std::span<std::byte> to = all->writable(0, frame);
    const std::span<std::byte> work = reduction.bins() ? std::span(pixels) : to;
    take(frames.frame(module, frame), work);
    if (!offset.empty()) subtract_offset(taken.pixel, reduction, offset, work);
    if (reduction.threshold != 0) zero_below_threshold(taken.pixel, reduction, work);
    if (reduction.bins()) binning.bin(work, to);
    all->set_flags(frame, frames.flags(frame));
  }
  return all;
}

}  // namespace rashpa::dataset
