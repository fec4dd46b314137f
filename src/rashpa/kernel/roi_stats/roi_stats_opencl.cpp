// SPDX-License-Identifier: Apache-2.0
#include "rashpa/kernel/roi_stats/roi_stats_opencl.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace rashpa::kernel::roi_stats {
extern const std::string_view roi_stats_cl;
}

namespace rashpa::kernel::roi_stats::opencl {

namespace {

using memory::opencl::Device;

constexpr std::uint32_t kPartPixels = 16384;

/// Some rows of a region; `struct Part` of roi_stats.cl.
struct Part {
  cl_uint first = 0;  // pixel of the image
  cl_uint width = 0;
  cl_uint rows = 0;
  cl_uint unused = 0;
};
static_assert(sizeof(Part) == 16 && sizeof(Stats) == 32);

class Pass final : public kernel::opencl::DevicePass {
 public:
  Pass(const std::vector<NamedRegion>& regions, const Setup& setup, const Device& device)
      : regions_(regions.size()),
        width_(setup.shape.width),
        pixel_bytes_(static_cast<std::uint32_t>(pixel_bytes(setup.in.type))),
        group_(device.group()),
        program_(kernel::opencl::build(device, "roi_stats", {kernel::opencl::photon_source(), roi_stats_cl},
                                       kernel::opencl::photon_macros(setup.in, photon_range(setup.in)))),
        look_(program_, "look") {
    std::vector<Part> parts;
    for (std::size_t r = 0; r < regions.size(); ++r) {
      const NamedRegion& region = regions[r];
      const std::uint32_t rows = std::max(1U, kPartPixels / region.width);
      for (std::uint32_t row = 0; row < region.height; row += rows) {
        parts.push_back({(region.y + row) * width_ + region.x, region.width, std::min(rows, region.height - row), 0});
        region_of_.push_back(r);
      }
    }
    parts_ = device.memory_of(parts, "parts of roi_stats");
    found_ = kernel::opencl::Fetched(device, setup.benches, setup.stack * parts.size() * sizeof(Stats),
                                     "statistics of roi_stats");
  }
  [[nodiscard]] Where where() const noexcept override { return Where::both; }
  cl_int enqueue(const kernel::opencl::DeviceStack& stack, std::uint32_t bench,
                 cl_command_queue queue) const noexcept override {
    return look_.run(queue, region_of_.size(), stack.count, group_, stack.in, stack.in_stride / pixel_bytes_, width_,
                     stack.books, parts_.get(), found_.device(bench));
  }
  cl_int fetch(const kernel::opencl::DeviceStack& /*stack*/, std::uint32_t bench,
               cl_command_queue queue) const noexcept override {
    return found_.fetch(bench, queue);
  }
  void settle(const kernel::opencl::HostItem& item, Finding& finding) noexcept override {
    const Stats* const found = found_.host<Stats>(item.bench) + item.image * region_of_.size();
    std::array<Stats, kMostRegions> sums{};
    for (std::size_t part = 0; part < region_of_.size(); ++part) sums[region_of_[part]].add(found[part]);
    for (std::size_t region = 0; region < regions_; ++region) roi_stats::write(sums[region], region, finding);
  }

 private:
  std::size_t regions_;
  cl_uint width_;
  std::uint32_t pixel_bytes_;
  std::uint32_t group_;
  memory::opencl::Program program_;
  memory::opencl::Kernel look_;
  std::vector<std::size_t> region_of_;  // by part
  memory::opencl::Memory parts_;
  kernel::opencl::Fetched found_;  // [image][part]
};

}  // namespace

std::unique_ptr<kernel::opencl::DevicePass> make_pass(const std::vector<NamedRegion>& regions, const Setup& setup,
                                                      const Device& device) {
  return std::make_unique<Pass>(regions, setup, device);
}

}  // namespace rashpa::kernel::roi_stats::opencl
