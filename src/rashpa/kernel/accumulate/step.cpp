// SPDX-License-Identifier: Apache-2.0
#include <utility>
#include <vector>

#include "rashpa/kernel/accumulate/accumulate.hpp"
#ifdef RASHPA_HAVE_CUDA
#include "rashpa/kernel/accumulate/accumulate_cuda.hpp"
#endif
#include "rashpa/kernel/accumulate/parts.hpp"
#include "rashpa/kernel/contract/plain_kernel.hpp"
#ifdef RASHPA_HAVE_OPENCL
#include "rashpa/kernel/accumulate/accumulate_opencl.hpp"
#endif

namespace rashpa::kernel::accumulate {

namespace {

const Parameters<Config>& parameters() {
  static const auto declared =
      Parameters<Config>("kernel accumulate")
          .add({.name = "sum"}, &Config::sum)
          .add({.name = "mean"}, &Config::mean)
          .add({.name = "max", .doc = "largest value"}, &Config::max)
          .add({.name = "variance", .doc = "unbiased: n - 1"}, &Config::variance)
          .add({.name = "window",
                .doc = "images, a multiple of the buffer's stack; 0: the whole run",
                .least = 0,
                .most = 2147483648.0},
               &Config::window)
          .add(
              {.name = "added",
               .doc = "accepted: images that the pipeline accepts; reached: all that the kernels before it let through",
               .choices = {"accepted", "reached"}},
              &Config::images);
  return declared;
}

/// The columns with the types of the widest pixels. A Quantity has the types of the run's pixels.
std::vector<Column> possible() {
  return {{.name = "sum", .type = Column::Type::i64, .doc = "Sum of the images in which the pixel is not masked"},
          {.name = "mean", .type = Column::Type::f64, .doc = "Mean of them; NaN where there is none"},
          {.name = "max", .type = Column::Type::i64, .doc = "Largest value; the masked value where there is none"},
          {.name = "variance", .type = Column::Type::f64, .doc = "Unbiased variance; NaN of fewer than two"},
          {.name = "counted", .type = Column::Type::u32, .unit = "images", .doc = "Images in which it is not masked"}};
}

const Declaration& declared() {
  static const Declaration declaration{
      .name = "accumulate",
      .purpose = "sum, mean, maximum and variance of each pixel over the run or a window of images",
      .parameters = parameters().declared(),
      .takes = {.kind = Port::Kind::pixels, .pixels = image_types()},
      .makes = {{.kind = Port::Kind::accumulation, .columns = possible()}},
      .units = {"cpu", "cuda", "opencl"},
      .scratch_bytes = 72,
      .device = {{.bytes = 16}, {.bytes = 8, .when = "variance"}}};
  return declaration;
}

Quantity::Type max_type(PixelType pixel) noexcept {
  switch (pixel) {
    case PixelType::f32:
      return Quantity::Type::f32;
    case PixelType::i16:
    case PixelType::i32:
      return Quantity::Type::i32;
    default:
      return Quantity::Type::u32;
  }
}

class Pass final : public CpuPass {
 public:
  Pass(const Config& config, const Setup& setup) : config_(config), sums_(config, setup.in, setup.shape.pixels()) {}

  void begin(std::size_t /*items*/) noexcept override {}
  void run(unsigned /*worker*/, const Items& items, std::size_t first, std::size_t last) noexcept override {
    add(sums_, items.in, items.count, first, last);
  }
  void finish(std::size_t /*item*/, Finding& /*finding*/) noexcept override {}
  void conclude(unsigned /*worker*/, const AccumulatedArrays& to, std::size_t first,
                std::size_t last) noexcept override {
    write_window(config_, sums_, to, first, last);
    sums_.start_anew(first, last);
  }

 private:
  Config config_;
  Sums sums_;
};

class Accumulate final : public Step, public Accumulating, public Joinable {
 public:
  explicit Accumulate(const Config& config) : config_(config) { check(config); }
  [[nodiscard]] const Declaration& declaration() const noexcept override { return declared(); }
  [[nodiscard]] PixelFormat fit(const Shape& /*shape*/, PixelFormat in) const override { return in; }
  [[nodiscard]] std::optional<Accumulation> accumulation(const Shape& shape, PixelFormat in) const override {
    Accumulation made{.name = "accumulate",
                      .quantities = {},
                      .shape = {shape.height, shape.width},
                      .window = static_cast<std::uint64_t>(config_.window),
                      .accepted = config_.images == Images::accepted};
    if (config_.parts) {
      made.quantities = part_quantities(config_, in);
      return made;
    }
    const bool real = in.type == PixelType::f32;
    const bool wanted[] = {config_.sum, config_.mean, config_.max, config_.variance, true};
    const Quantity::Type types[] = {real ? Quantity::Type::f64 : Quantity::Type::i64, Quantity::Type::f64,
                                    max_type(in.type), Quantity::Type::f64, Quantity::Type::u32};
    const std::vector<Column> all = possible();
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (wanted[i]) made.quantities.push_back({all[i].name, types[i], all[i].unit, all[i].doc});
    }
    return made;
  }
  [[nodiscard]] std::unique_ptr<Join> join(const Shape& shape, PixelFormat in) const override {
    return make_join(config_, shape, in);
  }
  [[nodiscard]] std::unique_ptr<CpuPass> on_cpu(const Setup& setup) const override {
    return std::make_unique<Pass>(config_, setup);
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

std::shared_ptr<const Step> step_of(const Config& config) { return std::make_shared<Accumulate>(config); }

const Kernel& kernel() noexcept;
const Kernel& kernel() noexcept {
  static const PlainKernel kernel(declared(), parameters());
  return kernel;
}

}  // namespace rashpa::kernel::accumulate
