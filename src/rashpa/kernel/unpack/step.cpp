// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "rashpa/core/error.hpp"
#include "rashpa/kernel/contract/plain_kernel.hpp"
#include "rashpa/kernel/unpack/unpack.hpp"
#ifdef RASHPA_HAVE_CUDA
#include "rashpa/kernel/unpack/unpack_cuda.hpp"
#endif
#ifdef RASHPA_HAVE_OPENCL
#include "rashpa/kernel/unpack/unpack_opencl.hpp"
#endif

namespace rashpa::kernel::unpack {

namespace {

constexpr std::uint32_t kGap = 1;  // NXmx pixel_mask, bit 0

const Parameters<Config>& parameters() {
  static const auto declared =
      Parameters<Config>("kernel unpack")
          .add({.name = "bits", .doc = "bits of a counter", .choices = {"1", "6", "12", "24"}}, &Config::bits,
               Need::needed)
          .add({.name = "module_width", .doc = "pixels, a multiple of 8", .least = 8, .most = 65536},
               &Config::module_width)
          .add({.name = "module_height", .doc = "pixels", .least = 1, .most = 65536}, &Config::module_height)
          .add({.name = "modules_across", .least = 1, .most = 64}, &Config::modules_across)
          .add({.name = "modules_down", .least = 1, .most = 64}, &Config::modules_down)
          .add({.name = "gap_x", .doc = "pixels between modules beside each other", .least = 0, .most = 4096},
               &Config::gap_x)
          .add({.name = "gap_y", .doc = "rows between modules below each other", .least = 0, .most = 4096},
               &Config::gap_y);
  return declared;
}

const Declaration& declared() {
  static const Declaration declaration{
      .name = "unpack",
      .purpose = "packed counters of 1, 6, 12 or 24 bits to pixels, modules in their places",
      .parameters = parameters().declared(),
      .takes = {.kind = Port::Kind::pixels, .pixels = {PixelType::u8}},
      .makes = {{.kind = Port::Kind::pixels,
                 .pixels = {PixelType::u8, PixelType::u8, PixelType::u16, PixelType::u32},
                 .by = "bits"}},
      .delivered = true,
      .units = {"cpu", "cuda", "opencl"}};
  return declaration;
}

/// Maps bytes of packed lines to pixels with gaps.
class Places final : public Reshape {
 public:
  explicit Places(const Config& config) : config_(config) {}
  [[nodiscard]] Shape shape() const noexcept override { return config_.made(); }
  [[nodiscard]] Region place(const Region& region) const override {
    const std::uint32_t left = column(region.x), right = column(region.x + region.width - 1, true);
    const std::uint32_t top = row(region.y), bottom = row(region.y + region.height - 1);
    return {left, top, right - left + 1, bottom - top + 1};
  }
  [[nodiscard]] std::vector<std::uint32_t> mask(std::span<const std::uint32_t> seen) const override {
    const Shape packed = config_.packed(), made = config_.made();
    std::vector<std::uint32_t> out(made.pixels(), kGap);
    const std::uint32_t bits = count_of(config_.bits);
    for (std::uint32_t y = 0; y < packed.height; ++y) {
      for (std::uint32_t x = 0; x < config_.module_width * config_.modules_across; ++x) {
        const std::uint32_t module = x / config_.module_width, within = x % config_.module_width;
        std::uint32_t found = 0;  // of all bytes that hold bits of it
        for (std::uint32_t byte = within * bits / 8; byte <= (within * bits + bits - 1) / 8; ++byte) {
          if (!seen.empty())
            found |= seen[std::size_t{y} * packed.width + std::size_t{module} * config_.line_bytes() + byte];
        }
        out[std::size_t{row(y)} * made.width + x + std::size_t{module} * config_.gap_x] = found;
      }
    }
    return out;
  }

 private:
  /// Returns the column of the first, or last, pixel that has bits in this byte of a line.
  [[nodiscard]] std::uint32_t column(std::uint32_t byte, bool last = false) const noexcept {
    const std::uint32_t module = byte / config_.line_bytes(), within = byte % config_.line_bytes();
    const std::uint32_t bit = within * 8 + (last ? 7 : 0);
    return module * (config_.module_width + config_.gap_x) + bit / count_of(config_.bits);
  }
  [[nodiscard]] std::uint32_t row(std::uint32_t line) const noexcept {
    return line + line / config_.module_height * config_.gap_y;
  }
  Config config_;
};

class Pass final : public CpuPass {
 public:
  explicit Pass(const Config& config) : config_(config) {}
  void begin(std::size_t /*items*/) noexcept override {}
  /// Lines of which the first byte lies in the block.
  void run(unsigned /*worker*/, const Items& items, std::size_t first, std::size_t last) noexcept override {
    const std::size_t width = config_.packed().width;
    const std::size_t from = (first + width - 1) / width, to = (last + width - 1) / width;
    for (std::size_t i = 0; i < items.count; ++i) unpack_lines(config_, items.in[i], items.out[i], from, to);
  }
  void finish(std::size_t /*item*/, Finding& /*finding*/) noexcept override {}

 private:
  Config config_;
};

class Unpack final : public Step, public Reshaping {
 public:
  explicit Unpack(const Config& config) : config_(config) { check(config); }
  [[nodiscard]] const Declaration& declaration() const noexcept override { return declared(); }
  [[nodiscard]] PixelFormat fit(const Shape& shape, PixelFormat /*in*/) const override {
    const Shape packed = config_.packed();
    if (shape.width != packed.width || shape.height != packed.height) {
      throw ConfigError(
          fmt::format("kernel unpack: {} × {} modules of {} × {} pixels are {} × {} bytes of {} bits a pixel, the "
                      "buffer's image has "
                      "{} × {}; change modules_across, modules_down, module_width, module_height or bits",
                      config_.modules_across, config_.modules_down, config_.module_width, config_.module_height,
                      packed.width, packed.height, count_of(config_.bits), shape.width, shape.height));
    }
    const std::int64_t most = (std::int64_t{1} << count_of(config_.bits)) - 1;
    return {type_of(config_.bits), Masked::maximum, most};
  }
  [[nodiscard]] std::unique_ptr<const Reshape> reshape(const Shape& /*in*/) const override {
    return std::make_unique<Places>(config_);
  }
  [[nodiscard]] std::unique_ptr<CpuPass> on_cpu(const Setup& /*setup*/) const override {
    return std::make_unique<Pass>(config_);
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

std::shared_ptr<const Step> step_of(const Config& config) { return std::make_shared<Unpack>(config); }

const Kernel& kernel() noexcept;
const Kernel& kernel() noexcept {
  static const PlainKernel kernel(declared(), parameters());
  return kernel;
}

}  // namespace rashpa::kernel::unpack
