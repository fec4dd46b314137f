// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <vector>

#include "rashpa/kernel/contract/plain_kernel.hpp"
#include "rashpa/kernel/total_counts/total_counts.hpp"
#ifdef RASHPA_HAVE_CUDA
#include "rashpa/kernel/total_counts/total_counts_cuda.hpp"
#endif
#ifdef RASHPA_HAVE_OPENCL
#include "rashpa/kernel/total_counts/total_counts_opencl.hpp"
#endif

namespace rashpa::kernel::total_counts {

namespace {

const Parameters<Config>& parameters() {
  static const auto declared =
      Parameters<Config>("kernel total_counts")
          .add({.name = "min_counts",
                .doc = "sum of all photons; 0: no minimum, sums below zero are kept, too",
                .least = 0,
                .most = 1e15,
                .not_above = "max_counts",
                .live = true},
               &Config::min_counts)
          .add({.name = "max_counts", .doc = "sum of all photons", .least = 0, .most = 1e15, .live = true},
               &Config::max_counts)
          .add({.name = "max_masked",
                .doc = "fraction of the pixels that may be masked",
                .least = 0,
                .most = 1,
                .live = true},
               &Config::max_masked);
  return declared;
}

const Declaration& declared() {
  static const Declaration declaration{
      .name = "total_counts",
      .purpose = "keeps an image when min_counts <= sum of its photons <= max_counts and not too much of it is masked",
      .parameters = parameters().declared(),
      .takes = {.kind = Port::Kind::pixels, .pixels = photon_types()},
      .makes = {{.kind = Port::Kind::scalars,
                 .columns =
                     {{.name = "total_counts",
                       .type = Column::Type::i64,
                       .unit = "photons",
                       .doc = "Sum over the pixels that are not masked"},
                      {.name = "masked_in_total", .unit = "pixels", .doc = "Masked pixels, which the sum leaves out"}}},
                {.kind = Port::Kind::verdict,
                 .reasons = {"too_few_counts", "too_many_counts", "too_many_masked"},
                 .limits = {"min_counts"}}},
      .strips = true,
      .units = {"cpu", "cuda", "opencl"}};
  return declaration;
}

class Pass final : public CpuPass, public Limited {
 public:
  Pass(const Config& config, const Setup& setup)
      : limits_(limits_of(config, setup.shape.pixels())),
        format_(setup.in),
        stack_(setup.stack),
        totals_(std::size_t{setup.workers} * setup.stack) {}

  void begin(std::size_t /*items*/) noexcept override { std::fill(totals_.begin(), totals_.end(), Totals{}); }
  void run(unsigned worker, const Items& items, std::size_t first, std::size_t last) noexcept override {
    const std::size_t offset = first * pixel_bytes(format_.type);
    for (std::size_t i = 0; i < items.count; ++i) {
      add(totals_[std::size_t{worker} * stack_ + items.first + i], total(items.in[i] + offset, format_, last - first));
    }
  }
  void finish(std::size_t item, Finding& finding) noexcept override {
    Totals sum;
    for (std::size_t at = item; at < totals_.size(); at += stack_) add(sum, totals_[at]);
    finding.scalars[0] = Scalar::of_integer(sum.counts);
    finding.scalars[1] = Scalar::of_count(sum.masked);
    finding.verdict = limits_.verdict(sum);
  }
  void adopt(LimitBytes& limits) noexcept override { limits_ = limits_in<Limits>(limits); }

 private:
  static void add(Totals& to, const Totals& more) noexcept {
    to.counts += more.counts;
    to.masked += more.masked;
  }
  Limits limits_;
  PixelFormat format_;
  std::uint32_t stack_;
  std::vector<Totals> totals_;  // [worker][item]
};

class TotalCounts final : public Step, public Adjustable, public Splitting {
 public:
  explicit TotalCounts(const Config& config) : config_(config) { check(config); }
  [[nodiscard]] const Declaration& declaration() const noexcept override { return declared(); }
  [[nodiscard]] PixelFormat fit(const Shape& /*shape*/, PixelFormat in) const override { return in; }
  [[nodiscard]] std::optional<Strip> strip(const Shape& whole, const Rows& /*rows*/) const override {
    constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
    constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
    const Limits limits = limits_of(config_, whole.pixels());
    return Strip{step_of(Config{.min_counts = kLeast, .max_counts = kMost}),
                 {{1, 0, limits.masked, 0, 3}, {0, limits.least, limits.most, 1, 2}}};
  }
  [[nodiscard]] std::unique_ptr<CpuPass> on_cpu(const Setup& setup) const override {
    return std::make_unique<Pass>(config_, setup);
  }
  [[nodiscard]] LimitBytes limits(const Setup& setup) const override {
    const Limits limits = limits_of(config_, setup.shape.pixels());
    return limit_bytes(std::span(&limits, 1));
  }
  [[nodiscard]] std::shared_ptr<const Step> with(const NamedValues& values) const override {
    return step_of(parameters().read(values));
  }
#ifdef RASHPA_HAVE_OPENCL
  [[nodiscard]] std::unique_ptr<kernel::opencl::DevicePass> on_opencl(
      const Setup& setup, const memory::opencl::Device& device) const override {
    return opencl::make_pass(config_, setup, device);
  }
#endif
#ifdef RASHPA_HAVE_CUDA
  [[nodiscard]] std::unique_ptr<kernel::cuda::DevicePass> on_cuda(const Setup& setup) const override {
    return cuda::make_pass(setup);
  }
#endif

 private:
  Config config_;
};

}  // namespace

std::shared_ptr<const Step> step_of(const Config& config) { return std::make_shared<TotalCounts>(config); }

const Kernel& kernel() noexcept;
const Kernel& kernel() noexcept {
  static const PlainKernel kernel(declared(), parameters());
  return kernel;
}

}  // namespace rashpa::kernel::total_counts
