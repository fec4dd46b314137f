// SPDX-License-Identifier: Apache-2.0
#include "rashpa/kernel/accumulate/accumulate_opencl.hpp"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "rashpa/kernel/accumulate/parts.hpp"

namespace rashpa::kernel::accumulate {
extern const std::string_view accumulate_cl;
}

namespace rashpa::kernel::accumulate::opencl {

namespace {

using memory::opencl::api;
using memory::opencl::Device;
using memory::opencl::Memory;

constexpr std::uint32_t kTile = 4096;

std::string macros_of(const Config& config, PixelFormat format) {
  const bool real = format.type == PixelType::f32;
  const std::string pixels = real ? "" : kernel::opencl::photon_macros(format, photon_range(format));
  return fmt::format("{} -D REAL={:d} -D MAXIMUM={:d} -D SQUARES={:d} -D BIG={:d} -D TILE={}", pixels, real, config.max,
                     config.variance, pixel_bytes(format.type) == 4, kTile);
}

std::vector<std::string_view> source_of(PixelFormat format) {
  if (format.type == PixelType::f32) return {accumulate_cl};
  return {kernel::opencl::photon_source(), accumulate_cl};
}

class Pass final : public kernel::opencl::DevicePass, public kernel::opencl::DeviceAdding {
 public:
  Pass(const Config& config, const Setup& setup, const Device& device)
      : config_(config),
        format_(setup.in),
        pixels_(static_cast<std::uint32_t>(setup.shape.pixels())),
        tiles_(kernel::opencl::tiles_of(pixels_, kTile)),
        group_(device.group()),
        program_(kernel::opencl::build(device, "accumulate", source_of(setup.in), macros_of(config, setup.in))),
        add_(program_, "add") {
    // A copy of the host for each stack in flight, as windows may end with each.
    for (std::uint32_t bench = 0; bench < setup.benches; ++bench) host_.emplace_back(config, format_, pixels_);
    for_parts(host_.front(), [&](Part part, auto& values) {
      device_[part] = device.memory_of(values, "what accumulate has added up");
    });
  }
  cl_int enqueue(const kernel::opencl::DeviceStack& stack, std::uint32_t /*bench*/,
                 cl_command_queue queue) const noexcept override {
    const auto stride = static_cast<cl_uint>(stack.in_stride / pixel_bytes(format_.type));
    // Where nothing is wanted, some memory all the same: the function has the argument.
    const auto part = [&](Part which) {
      const cl_mem memory = device_[which].get();
      return memory == nullptr ? device_[kCounted].get() : memory;
    };
    if (format_.type == PixelType::f32) {
      return add_.run(queue, tiles_, 1, group_, stack.in, stride, pixels_, stack.books, stack.count, part(kCounted),
                      part(kRealSum), part(kRealMax), part(kRealMean), part(kRealSquares));
    }
    return add_.run(queue, tiles_, 1, group_, stack.in, stride, pixels_, stack.books, stack.count, part(kCounted),
                    part(kSum), part(kMax), part(kSquares), part(kCrosses), part(kTops));
  }
  cl_int conclude(std::uint32_t bench, cl_command_queue queue) noexcept override {
    cl_int code = CL_SUCCESS;
    for_parts(host_[bench], [&](Part part, auto& values) {
      const std::size_t bytes = values.size() * sizeof(values[0]);
      const cl_mem memory = device_[part].get();
      if (code == CL_SUCCESS) {
        code = api().read_buffer(queue, memory, CL_FALSE, 0, bytes, values.data(), 0, nullptr, nullptr);
      }
      if (code == CL_SUCCESS) code = start_anew(queue, part, bytes);
    });
    return code;
  }
  void write(std::uint32_t bench, const AccumulatedArrays& to) noexcept override {
    write_window(config_, host_[bench], to, 0, pixels_);
  }

 private:
  cl_int start_anew(cl_command_queue queue, Part part, std::size_t bytes) const noexcept {
    const auto fill = [&](auto value) {
      return api().fill_buffer(queue, device_[part].get(), &value, sizeof(value), 0, bytes, 0, nullptr, nullptr);
    };
    if (part == kMax) return fill(lowest(format_));
    if (part == kRealMax) return fill(-std::numeric_limits<float>::infinity());
    return fill(cl_uint{0});
  }
  Config config_;
  PixelFormat format_;
  cl_uint pixels_;
  std::uint32_t tiles_;
  std::uint32_t group_;
  memory::opencl::Program program_;
  memory::opencl::Kernel add_;
  std::array<Memory, kParts> device_{};
  std::vector<Sums> host_;  // by bench
};

}  // namespace

std::unique_ptr<kernel::opencl::DevicePass> make_pass(const Config& config, const Setup& setup, const Device& device) {
  if (setup.in.type == PixelType::f32) kernel::opencl::need_doubles(device, "accumulate of float32");
  return std::make_unique<Pass>(config, setup, device);
}

}  // namespace rashpa::kernel::accumulate::opencl
