// SPDX-License-Identifier: Apache-2.0
#include "rashpa/kernel/bad_pixels/bad_pixels.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <span>

#include "rashpa/core/error.hpp"
#include "rashpa/kernel/photons/photons.hpp"
#ifdef RASHPA_HAVE_CUDA
#include "rashpa/kernel/bad_pixels/bad_pixels_cuda.hpp"
#endif
#ifdef RASHPA_HAVE_OPENCL
#include "rashpa/kernel/bad_pixels/bad_pixels_opencl.hpp"
#endif

namespace rashpa::kernel::bad_pixels {

namespace {

const Declaration& declared() {
  static const Declaration declaration{.name = "bad_pixels",
                                       .purpose = "puts pixels that are bad in every image at the masked value",
                                       .takes = {.kind = Port::Kind::pixels, .pixels = image_types()},
                                       .makes = {{.kind = Port::Kind::pixels, .pixels = image_types()}},
                                       .strips = true,
                                       .units = {"cpu", "cuda", "opencl"}};
  return declaration;
}

class Pass final : public CpuPass {
 public:
  Pass(const Config& config, PixelFormat format)
      : bad_(config.bad), bytes_(pixel_bytes(format.type)), masked_(masked_bits(format)) {}
  void begin(std::size_t /*items*/) noexcept override {}
  void run(unsigned /*worker*/, const Items& items, std::size_t first, std::size_t last) noexcept override {
    const auto begin = std::lower_bound(bad_.begin(), bad_.end(), first);
    const auto end = std::lower_bound(begin, bad_.end(), last);
    for (std::size_t i = 0; i < items.count; ++i) {
      std::memcpy(items.out[i] + first * bytes_, items.in[i] + first * bytes_, (last - first) * bytes_);
      // little-endian: the low bytes come first
      for (auto pixel = begin; pixel != end; ++pixel) std::memcpy(items.out[i] + *pixel * bytes_, &masked_, bytes_);
    }
  }
  void finish(std::size_t /*item*/, Finding& /*finding*/) noexcept override {}

 private:
  std::vector<std::uint32_t> bad_;
  std::size_t bytes_;
  std::uint32_t masked_;
};

class BadPixels final : public Step, public Splitting {
 public:
  explicit BadPixels(const Config& config) : config_(config) { check(config); }
  [[nodiscard]] const Declaration& declaration() const noexcept override { return declared(); }
  [[nodiscard]] PixelFormat fit(const Shape& shape, PixelFormat in) const override {
    if (shape != config_.shape) {
      throw ConfigError(fmt::format(
          "kernel bad_pixels: its mask has {} × {} pixels, and the images have {} × {}; give a mask of their size",
          config_.shape.width, config_.shape.height, shape.width, shape.height));
    }
    static_cast<void>(masked_bits(in));
    return in;
  }
  [[nodiscard]] std::optional<Strip> strip(const Shape& whole, const Rows& rows) const override {
    const std::size_t first = std::size_t{rows.first} * whole.width;
    Config part{.shape = {whole.width, rows.count}};
    for (const std::uint32_t pixel : config_.bad) {
      if (pixel >= first && pixel - first < part.shape.pixels()) {
        part.bad.push_back(static_cast<std::uint32_t>(pixel - first));
      }
    }
    return Strip{step_of(part)};
  }
  [[nodiscard]] std::unique_ptr<CpuPass> on_cpu(const Setup& setup) const override {
    return std::make_unique<Pass>(config_, setup.in);
  }
#ifdef RASHPA_HAVE_OPENCL
  [[nodiscard]] std::unique_ptr<kernel::opencl::DevicePass> on_opencl(
      const Setup& setup, const memory::opencl::Device& device) const override {
    return opencl::make_pass(config_, setup, device);
  }
#endif
#ifdef RASHPA_HAVE_CUDA
  [[nodiscard]] std::unique_ptr<kernel::cuda::DevicePass> on_cuda(const Setup& setup) const override {
    return cuda::make_pass(config_, setup);
  }
#endif

 private:
  Config config_;
};

}  // namespace

void check(const Config& config) {
  for (std::size_t i = 0; i < config.bad.size(); ++i) {
    if (config.bad[i] < config.shape.pixels() && (i == 0 || config.bad[i] > config.bad[i - 1])) continue;
    throw ConfigError(
        fmt::format("kernel bad_pixels: pixel {} lies outside of {} × {} pixels, or not behind the one before; give "
                    "pixels in rising order",
                    config.bad[i], config.shape.width, config.shape.height));
  }
}

std::uint32_t masked_bits(PixelFormat format) {
  constexpr std::uint32_t kNotANumber = 0x7FC00000;
  if (format.masked == Masked::none) {
    throw ConfigError(
        "kernel bad_pixels: every value of these pixels counts, so that none says bad; set detector.masked");
  }
  if (format.type == PixelType::f32) return kNotANumber;
  return with_type(format.type, []<typename T>(T) -> std::uint32_t {
    constexpr bool kSigned = std::numeric_limits<T>::is_signed;
    return static_cast<std::make_unsigned_t<T>>(kSigned ? std::numeric_limits<T>::min()
                                                        : std::numeric_limits<T>::max());
  });
}

std::vector<std::uint32_t> words_of(const Config& config) {
  std::vector<std::uint32_t> words((config.shape.pixels() + 31) / 32);
  for (const std::uint32_t pixel : config.bad) words[pixel / 32] |= std::uint32_t{1} << (pixel % 32);
  return words;
}

std::shared_ptr<const Step> step_of(const Config& config) { return std::make_shared<BadPixels>(config); }

}  // namespace rashpa::kernel::bad_pixels
