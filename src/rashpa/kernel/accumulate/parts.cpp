// SPDX-License-Identifier: Apache-2.0
#include "rashpa/kernel/accumulate/parts.hpp"

#include <algorithm>
#include <array>
#include <type_traits>

#ifdef RASHPA_HAVE_CUDA
#include "rashpa/kernel/accumulate/accumulate_cuda.hpp"
#endif

namespace rashpa::kernel::accumulate {

namespace {

constexpr std::size_t kBlock = 4096;  // pixels that are joined at a time: they stay in the caches

/// Chan's formula; sums.counted is not yet what both have.
void add_spread(Sums& sums, const std::uint32_t* counted, const double* mean, const double* squares,
                std::size_t count) noexcept {
  for (std::size_t p = 0; p < count; ++p) {
    if (counted[p] == 0) continue;
    const double own = sums.counted[p], more = counted[p];
    const double step = mean[p] - sums.real_mean[p];
    sums.real_mean[p] += step * (more / (own + more));
    sums.real_squares[p] += squares[p] + step * step * (own * more / (own + more));
  }
}

class HostJoin final : public Join {
 public:
  HostJoin(const Config& config, const Shape& shape, PixelFormat format)
      : config_(config),
        format_(format),
        pixels_(shape.pixels()),
        facts_(*step_of(config)->accumulation(shape, format)),
        block_(config, format, std::min(pixels_, kBlock)) {}
  [[nodiscard]] StepOf part() const override {
    Config config = config_;
    config.parts = true;
    return config;
  }
  void join(std::span<const AccumulatedArrays> parts, const AccumulatedArrays& to) noexcept override {
    for (std::size_t first = 0; first < pixels_; first += kBlock) {
      const std::size_t count = std::min(kBlock, pixels_ - first);
      block_.start_anew(0, count);
      for (const AccumulatedArrays& one : parts) add_parts(block_, one, first, count);
      AccumulatedArrays at{};
      for (std::size_t q = 0; q < facts_.quantities.size(); ++q) {
        at[q] = to[q] + first * bytes_of(facts_.quantities[q].type);
      }
      write(block_, arrays_of(config_, at), 0, count);
    }
  }
#ifdef RASHPA_HAVE_CUDA
  [[nodiscard]] std::unique_ptr<const kernel::cuda::PartsWriter> on_cuda() const override {
    // Means and distances from them are no plain sums.
    if (format_.type == PixelType::f32 && config_.variance) return nullptr;
    return cuda::make_writer(config_, pixels_, format_);
  }
#endif

 private:
  Config config_;
  PixelFormat format_;
  std::size_t pixels_;
  Accumulation facts_;
  Sums block_;
};

}  // namespace

std::vector<Part> parts_of(const Config& config, PixelFormat format) {
  const Sums few(config, format, 1);
  std::vector<Part> all;
  for_parts(few, [&](Part part, const auto& /*values*/) { all.push_back(part); });
  return all;
}

PartArray part_array(Part part, PixelFormat format) noexcept {
  using Type = Quantity::Type;
  switch (part) {
    case kCounted:
      return {Type::u32, Combined::added};
    case kMax:
      return {is_signed(format) ? Type::i32 : Type::u32, Combined::largest};
    case kRealMax:
      return {Type::f32, Combined::largest};
    case kRealSum:
    case kRealMean:
    case kRealSquares:
      return {Type::f64, Combined::added};
    default:
      return {Type::i64, Combined::added};
  }
}

std::vector<Quantity> part_quantities(const Config& config, PixelFormat format) {
  constexpr std::array<const char*, kParts> kNames{"counted", "sum",      "max",       "squares",      "crosses",
                                                   "tops",    "real_sum", "real_mean", "real_squares", "real_max"};
  std::vector<Quantity> all;
  for (const Part part : parts_of(config, format)) {
    all.push_back({.name = kNames[part], .type = part_array(part, format).type});
  }
  return all;
}

void write_parts(const Sums& sums, const AccumulatedArrays& to, std::size_t first, std::size_t last) noexcept {
  std::size_t next = 0;
  for_parts(sums, [&](Part /*part*/, const auto& values) {
    using Value = typename std::decay_t<decltype(values)>::value_type;
    const auto begin = values.begin();
    std::copy(begin + static_cast<std::ptrdiff_t>(first), begin + static_cast<std::ptrdiff_t>(last),
              reinterpret_cast<Value*>(to[next++]) + first);
  });
}

void add_parts(Sums& sums, const AccumulatedArrays& parts, std::size_t first, std::size_t count) noexcept {
  std::array<const std::byte*, kParts> from{};
  std::size_t next = 0;
  for_parts(sums, [&](Part part, const auto& values) { from[part] = parts[next++] + first * sizeof(values[0]); });
  const auto of = [&]<typename Value>(Part part, Value) { return reinterpret_cast<const Value*>(from[part]); };
  if (from[kRealSquares] != nullptr) {
    add_spread(sums, of(kCounted, std::uint32_t{}), of(kRealMean, double{}), of(kRealSquares, double{}), count);
  }
  const bool with_sign = is_signed(sums.format);
  for_parts(sums, [&](Part part, auto& values) {
    using Value = typename std::decay_t<decltype(values)>::value_type;
    if (part == kRealMean || part == kRealSquares) return;
    const auto* const more = of(part, Value{});
    for (std::size_t p = 0; p < count; ++p) {
      if (part_array(part, sums.format).combined == Combined::added) {
        values[p] += more[p];
      } else if (part == kMax && !with_sign) {
        values[p] =
            static_cast<Value>(std::max(static_cast<std::uint32_t>(values[p]), static_cast<std::uint32_t>(more[p])));
      } else {
        values[p] = std::max(values[p], more[p]);
      }
    }
  });
}

std::unique_ptr<Join> make_join(const Config& config, const Shape& shape, PixelFormat format) {
  return std::make_unique<HostJoin>(config, shape, format);
}

}  // namespace rashpa::kernel::accumulate
