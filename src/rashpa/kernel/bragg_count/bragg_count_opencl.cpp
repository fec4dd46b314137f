// SPDX-License-Identifier: Apache-2.0
#include "rashpa/kernel/bragg_count/bragg_count_opencl.hpp"

#include <fmt/format.h>

#include <vector>

#include "rashpa/kernel/photons/photons.hpp"

namespace rashpa::kernel::bragg_count {
extern const std::string_view bragg_count_cl;
}

namespace rashpa::kernel::bragg_count::opencl {

namespace {

using memory::opencl::Device;

constexpr std::uint32_t kTile = 16384;

class Pass final : public kernel::opencl::DevicePass, public Limited {
 public:
  Pass(const CountTap& tap, const Setup& setup, const Device& device)
      : pixels_(static_cast<std::uint32_t>(setup.shape.pixels())),
        tiles_(kernel::opencl::tiles_of(pixels_, kTile)),
        pixel_bytes_(static_cast<std::uint32_t>(pixel_bytes(setup.in.type))),
        group_(device.group()),
        program_(
            kernel::opencl::build(device, "bragg_count", {kernel::opencl::photon_source(), bragg_count_cl},
                                  kernel::opencl::photon_macros(setup.in, from_threshold(setup.in, tap.threshold)) +
                                      fmt::format(" -D TILE={}", kTile))),
        count_(program_, "count_tiles"),
        settle_(device, tap) {
    for (std::uint32_t bench = 0; bench < setup.benches; ++bench) {
      tile_counts_.push_back(device.memory(std::size_t{setup.stack} * tiles_ * sizeof(cl_uint), "counts of tiles"));
    }
  }
  cl_int enqueue(const kernel::opencl::DeviceStack& stack, std::uint32_t bench,
                 cl_command_queue queue) const noexcept override {
    const cl_mem tile_counts = tile_counts_[bench].get();
    const cl_uint stride = stack.in_stride / pixel_bytes_;
    const cl_int code =
        count_.run(queue, tiles_, stack.count, group_, stack.in, stride, pixels_, stack.books, tile_counts);
    return code != CL_SUCCESS ? code : settle_.enqueue(stack, tile_counts, tiles_, queue);
  }
  void adopt(LimitBytes& limits) noexcept override { settle_.adopt(limits); }

 private:
  cl_uint pixels_;
  std::uint32_t tiles_;
  std::uint32_t pixel_bytes_;
  std::uint32_t group_;
  memory::opencl::Program program_;
  memory::opencl::Kernel count_;
  kernel::opencl::SettleCounts settle_;
  std::vector<memory::opencl::Memory> tile_counts_;  // by bench, [image][tile]
};

}  // namespace

std::unique_ptr<kernel::opencl::DevicePass> make_pass(const CountTap& tap, const Setup& setup, const Device& device) {
  return std::make_unique<Pass>(tap, setup, device);
}

}  // namespace rashpa::kernel::bragg_count::opencl
