// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <vector>

#include "rashpa/core/error.hpp"
#include "rashpa/kernel/contract/plain_kernel.hpp"
#include "rashpa/kernel/roi_stats/roi_stats.hpp"
#ifdef RASHPA_HAVE_CUDA
#include "rashpa/kernel/roi_stats/roi_stats_cuda.hpp"
#endif
#ifdef RASHPA_HAVE_OPENCL
#include "rashpa/kernel/roi_stats/roi_stats_opencl.hpp"
#endif

namespace rashpa::kernel::roi_stats {

namespace {

const Parameters<Config>& parameters() {
  static const auto declared =
      Parameters<Config>("kernel roi_stats")
          .add({.name = "regions", .doc = "name=x,y,width,height of the image, 8 at most, with ; between them"},
               &Config::regions, Need::needed);
  return declared;
}

/// `name` is put before each column.
std::vector<Column> columns_of(const std::string& name) {
  return {{.name = name + "_sum",
           .type = Column::Type::i64,
           .unit = "counts",
           .doc = "Sum over the pixels that are not masked"},
          {.name = name + "_mean",
           .type = Column::Type::f64,
           .unit = "counts",
           .doc = "Mean of them; NaN where there is none"},
          {.name = name + "_min", .type = Column::Type::i64, .unit = "counts", .doc = "Least of them"},
          {.name = name + "_max", .type = Column::Type::i64, .unit = "counts", .doc = "Largest of them"},
          {.name = name + "_pixels", .unit = "pixels", .doc = "Pixels that are not masked"}};
}

/// Returns the declaration that all steps share, with these columns.
Declaration declaration_with(std::vector<Column> columns, std::string per) {
  return {.name = "roi_stats",
          .purpose = "sum, mean, least and largest value of named rectangles",
          .parameters = parameters().declared(),
          .takes = {.kind = Port::Kind::pixels, .pixels = photon_types()},
          .makes = {{.kind = Port::Kind::scalars, .per = std::move(per), .columns = std::move(columns)}},
          .units = {"cpu", "cuda", "opencl"}};
}

/// One set of columns for each region that `regions` names.
const Declaration& declared() {
  static const Declaration declaration = declaration_with(columns_of("{}"), "regions");
  return declaration;
}

class Pass final : public CpuPass {
 public:
  Pass(const std::vector<NamedRegion>& regions, const Setup& setup)
      : regions_(regions),
        format_(setup.in),
        width_(setup.shape.width),
        stack_(setup.stack),
        workers_(setup.workers),
        found_(std::size_t{setup.workers} * setup.stack * regions.size()) {}

  void begin(std::size_t /*items*/) noexcept override { std::fill(found_.begin(), found_.end(), Stats{}); }
  void run(unsigned worker, const Items& items, std::size_t first, std::size_t last) noexcept override {
    const std::size_t bytes = pixel_bytes(format_.type);
    for (std::size_t r = 0; r < regions_.size(); ++r) {
      const NamedRegion& region = regions_[r];
      const std::size_t from = std::max<std::size_t>(region.y, first / width_);
      const std::size_t to = std::min<std::size_t>(std::size_t{region.y} + region.height, (last + width_ - 1) / width_);
      for (std::size_t i = 0; i < items.count; ++i) {
        Stats& sum = found_[(std::size_t{worker} * stack_ + items.first + i) * regions_.size() + r];
        for (std::size_t row = from; row < to; ++row) {
          const std::size_t begin = std::max(first, row * width_ + region.x);
          const std::size_t end = std::min(last, row * width_ + region.x + region.width);
          if (begin < end) sum.add(stats(items.in[i] + begin * bytes, format_, end - begin));
        }
      }
    }
  }
  void finish(std::size_t item, Finding& finding) noexcept override {
    for (std::size_t r = 0; r < regions_.size(); ++r) {
      Stats sum;
      for (unsigned worker = 0; worker < workers_; ++worker) {
        sum.add(found_[(std::size_t{worker} * stack_ + item) * regions_.size() + r]);
      }
      write(sum, r, finding);
    }
  }

 private:
  std::vector<NamedRegion> regions_;
  PixelFormat format_;
  std::size_t width_;
  std::uint32_t stack_;
  unsigned workers_;
  std::vector<Stats> found_;  // [worker][item][region]
};

class RoiStats final : public Step {
 public:
  explicit RoiStats(const Config& config) : regions_(parse(config.regions)) {
    std::vector<Column> columns;
    for (const NamedRegion& region : regions_) {
      for (Column& column : columns_of(region.name)) columns.push_back(std::move(column));
    }
    declaration_ = declaration_with(std::move(columns), "");
  }
  [[nodiscard]] const Declaration& declaration() const noexcept override { return declaration_; }
  [[nodiscard]] PixelFormat fit(const Shape& shape, PixelFormat in) const override {
    for (const NamedRegion& one : regions_) {
      if (std::uint64_t{one.x} + one.width <= shape.width && std::uint64_t{one.y} + one.height <= shape.height)
        continue;
      throw ConfigError(
          fmt::format("kernel roi_stats: regions: {}={},{},{},{} reaches beyond the image of {} × {} pixels; make it "
                      "smaller, or move it",
                      one.name, one.x, one.y, one.width, one.height, shape.width, shape.height));
    }
    return in;
  }
  [[nodiscard]] std::unique_ptr<CpuPass> on_cpu(const Setup& setup) const override {
    return std::make_unique<Pass>(regions_, setup);
  }
#ifdef RASHPA_HAVE_OPENCL
  [[nodiscard]] std::unique_ptr<kernel::opencl::DevicePass> on_opencl(
      const Setup& setup, const memory::opencl::Device& device) const override {
    return opencl::make_pass(regions_, setup, device);
  }
#endif
#ifdef RASHPA_HAVE_CUDA
  [[nodiscard]] std::unique_ptr<kernel::cuda::DevicePass> on_cuda(const Setup& setup) const override {
    return cuda::make_pass(regions_, setup);
  }
#endif

 private:
  std::vector<NamedRegion> regions_;
  Declaration declaration_;
};

}  // namespace

std::shared_ptr<const Step> step_of(const Config& config) { return std::make_shared<RoiStats>(config); }

const Kernel& kernel() noexcept;
const Kernel& kernel() noexcept {
  static const PlainKernel kernel(declared(), parameters());
  return kernel;
}

}  // namespace rashpa::kernel::roi_stats
