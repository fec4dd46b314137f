// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <vector>

#include "rashpa/kernel/bragg_count/bragg_count.hpp"
#include "rashpa/kernel/contract/by_item.hpp"
#include "rashpa/kernel/contract/plain_kernel.hpp"
#include "rashpa/kernel/photons/photons.hpp"
#ifdef RASHPA_HAVE_CUDA
#include "rashpa/kernel/bragg_count/bragg_count_cuda.hpp"
#endif
#ifdef RASHPA_HAVE_OPENCL
#include "rashpa/kernel/bragg_count/bragg_count_opencl.hpp"
#endif

namespace rashpa::kernel::bragg_count {

namespace {

const Parameters<Config>& parameters() {
  static const auto declared =
      Parameters<Config>("kernel bragg_count")
          .add({.name = "threshold", .doc = "photons", .least = 1, .most = 2147483647, .pixel_value = true},
               &Config::threshold, Need::needed)
          .add({.name = "min_pixels", .least = 0, .most = 4294967295, .not_above = "max_pixels", .live = true},
               &Config::min_pixels, Need::needed)
          .add({.name = "max_pixels", .least = 0, .most = 4294967295, .live = true}, &Config::max_pixels);
  return declared;
}

const Declaration& declared() {
  static const Declaration declaration{
      .name = "bragg_count",
      .purpose = "keeps an image when min_pixels <= pixels at or above threshold <= max_pixels",
      .parameters = parameters().declared(),
      .takes = {.kind = Port::Kind::pixels, .pixels = photon_types()},
      .makes =
          {{.kind = Port::Kind::scalars,
            .columns = {{.name = "bright_pixels", .unit = "pixels", .doc = "Pixels at or above the veto's threshold"}}},
           {.kind = Port::Kind::verdict, .reasons = {"too_few", "too_many"}, .limits = {"min_pixels"}}},
      .strips = true,
      .units = {"cpu", "cuda", "opencl", "fpga"},
      .rides = {Tap::count}};
  return declaration;
}

class Pass final : public CpuPass, public Limited, public ByItem {
 public:
  Pass(const Config& config, CountTap tap, const Setup& setup)
      : threshold_(config.threshold),
        tap_(tap),
        format_(setup.in),
        stack_(setup.stack),
        bright_(std::size_t{setup.workers} * setup.stack) {}

  void begin(std::size_t /*items*/) noexcept override { std::fill(bright_.begin(), bright_.end(), 0); }
  void run(unsigned worker, const Items& items, std::size_t first, std::size_t last) noexcept override {
    std::uint32_t* bright = bright_.data() + std::size_t{worker} * stack_ + items.first;
    const std::size_t offset = first * pixel_bytes(format_.type);
    for (std::size_t i = 0; i < items.count; ++i) {
      bright[i] += count(items.in[i] + offset, format_, last - first, threshold_);
    }
  }
  void finish(std::size_t item, Finding& finding) noexcept override {
    std::uint32_t sum = 0;
    for (std::size_t at = item; at < bright_.size(); at += stack_) sum += bright_[at];
    finding.scalars[0] = Scalar::of_count(sum);
    finding.verdict = tap_.verdict(sum);
  }
  void adopt(LimitBytes& limits) noexcept override { tap_ = limits_in<CountTap>(limits); }

 private:
  std::int32_t threshold_;
  CountTap tap_;
  PixelFormat format_;
  std::uint32_t stack_;
  std::vector<std::uint32_t> bright_;  // [worker][item]
};

class BraggCount final : public Step, public Adjustable, public Counting, public Splitting {
 public:
  explicit BraggCount(const Config& config) : config_(config) { check(config); }
  [[nodiscard]] const Declaration& declaration() const noexcept override { return declared(); }
  [[nodiscard]] PixelFormat fit(const Shape& /*shape*/, PixelFormat in) const override {
    check_threshold("bragg_count", in, config_.threshold);
    return in;
  }
  [[nodiscard]] std::optional<CountTap> count_tap() const override {
    return CountTap{config_.threshold, config_.min_pixels, config_.max_pixels};
  }
  [[nodiscard]] std::optional<Strip> strip(const Shape& /*whole*/, const Rows& /*rows*/) const override {
    return Strip{step_of(Config{.threshold = config_.threshold}), {{0, config_.min_pixels, config_.max_pixels, 1, 2}}};
  }
  [[nodiscard]] std::unique_ptr<CpuPass> on_cpu(const Setup& setup) const override {
    return std::make_unique<Pass>(config_, *count_tap(), setup);
  }
  [[nodiscard]] LimitBytes limits(const Setup& /*setup*/) const override {
    const CountTap tap = *count_tap();
    return limit_bytes(std::span(&tap, 1));
  }
  [[nodiscard]] std::shared_ptr<const Step> with(const NamedValues& values) const override {
    return step_of(parameters().read(values));
  }
#ifdef RASHPA_HAVE_OPENCL
  [[nodiscard]] std::unique_ptr<kernel::opencl::DevicePass> on_opencl(
      const Setup& setup, const memory::opencl::Device& device) const override {
    return opencl::make_pass(*count_tap(), setup, device);
  }
#endif
#ifdef RASHPA_HAVE_CUDA
  [[nodiscard]] std::unique_ptr<kernel::cuda::DevicePass> on_cuda(const Setup& setup) const override {
    return cuda::make_pass(config_.threshold, setup);
  }
#endif

 private:
  Config config_;
};

}  // namespace

std::shared_ptr<const Step> step_of(const Config& config) { return std::make_shared<BraggCount>(config); }

const Kernel& kernel() noexcept;
const Kernel& kernel() noexcept {
  static const PlainKernel kernel(declared(), parameters());
  return kernel;
}

}  // namespace rashpa::kernel::bragg_count
