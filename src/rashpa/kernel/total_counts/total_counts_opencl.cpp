// SPDX-License-Identifier: Apache-2.0
#include "rashpa/kernel/total_counts/total_counts_opencl.hpp"

#include <fmt/format.h>

#include <vector>

#include "rashpa/kernel/photons/photons.hpp"

namespace rashpa::kernel::total_counts {
extern const std::string_view total_counts_cl;
}

namespace rashpa::kernel::total_counts::opencl {

namespace {

using memory::opencl::Device;

// Eight lanes of 16 bits: 16384 pixels of a work item, 2048 of a lane, stay far below 2^31.
constexpr std::uint32_t kTile = 16384;

std::string macros_of(const Setup& setup) {
  const bool small = pixel_bytes(setup.in.type) <= 2;
  return kernel::opencl::photon_macros(setup.in, photon_range(setup.in)) +
         fmt::format(" -D TILE={} -D SUM={}", kTile, small ? "int" : "long");
}

class Pass final : public kernel::opencl::DevicePass, public Limited {
 public:
  Pass(const Config& config, const Setup& setup, const Device& device)
      : limits_(limits_of(config, setup.shape.pixels())),
        pixels_(static_cast<std::uint32_t>(setup.shape.pixels())),
        tiles_(kernel::opencl::tiles_of(pixels_, kTile)),
        pixel_bytes_(static_cast<std::uint32_t>(pixel_bytes(setup.in.type))),
        group_(device.group()),
        program_(kernel::opencl::build(device, "total_counts", {kernel::opencl::photon_source(), total_counts_cl},
                                       macros_of(setup))),
        sum_(program_, "sum_tiles"),
        settle_(program_, "settle_sums") {
    const std::size_t tiles = std::size_t{setup.stack} * tiles_;
    for (std::uint32_t bench = 0; bench < setup.benches; ++bench) {
      sums_.push_back(device.memory(tiles * sizeof(cl_long), "sums of tiles"));
      masked_.push_back(device.memory(tiles * sizeof(cl_uint), "masked pixels of tiles"));
    }
  }
  cl_int enqueue(const kernel::opencl::DeviceStack& stack, std::uint32_t bench,
                 cl_command_queue queue) const noexcept override {
    const cl_mem sums = sums_[bench].get();
    const cl_mem masked = masked_[bench].get();
    const cl_uint stride = stack.in_stride / pixel_bytes_;
    const cl_int code =
        sum_.run(queue, tiles_, stack.count, group_, stack.in, stride, pixels_, stack.books, sums, masked);
    if (code != CL_SUCCESS) return code;
    return settle_.run(queue, stack.count, 1, group_, stack.books, sums, masked, tiles_, stack.step, stack.first_column,
                       cl_long{limits_.least}, cl_long{limits_.most}, limits_.masked);
  }
  void adopt(LimitBytes& limits) noexcept override { limits_ = limits_in<Limits>(limits); }

 private:
  Limits limits_;
  cl_uint pixels_;
  std::uint32_t tiles_;
  std::uint32_t pixel_bytes_;
  std::uint32_t group_;
  memory::opencl::Program program_;
  memory::opencl::Kernel sum_, settle_;
  std::vector<memory::opencl::Memory> sums_, masked_;  // by bench, [image][tile]
};

}  // namespace

std::unique_ptr<kernel::opencl::DevicePass> make_pass(const Config& config, const Setup& setup, const Device& device) {
  return std::make_unique<Pass>(config, setup, device);
}

}  // namespace rashpa::kernel::total_counts::opencl
