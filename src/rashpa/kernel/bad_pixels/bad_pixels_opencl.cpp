// SPDX-License-Identifier: Apache-2.0
#include "rashpa/kernel/bad_pixels/bad_pixels_opencl.hpp"

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace rashpa::kernel::bad_pixels {
extern const std::string_view bad_pixels_cl;
}

namespace rashpa::kernel::bad_pixels::opencl {

namespace {

using memory::opencl::Device;

constexpr std::uint32_t kTile = 4096;  // pixels of a group

std::string macros_of(PixelFormat format) {
  const std::size_t bytes = pixel_bytes(format.type);
  const char* const type = bytes == 1 ? "uchar" : bytes == 2 ? "ushort" : "uint";
  return fmt::format("-D PIXEL={} -D MASKED={}u -D TILE={}", type, masked_bits(format), kTile);
}

class Pass final : public kernel::opencl::DevicePass {
 public:
  Pass(const Config& config, PixelFormat format, const Device& device)
      : pixels_(static_cast<std::uint32_t>(config.shape.pixels())),
        pixel_bytes_(static_cast<std::uint32_t>(pixel_bytes(format.type))),
        group_(device.group()),
        program_(kernel::opencl::build(device, "bad_pixels", {bad_pixels_cl}, macros_of(format))),
        mask_(program_, "mask_bad"),
        words_(device.memory_of(words_of(config), "bad pixels")) {}
  cl_int enqueue(const kernel::opencl::DeviceStack& stack, std::uint32_t /*bench*/,
                 cl_command_queue queue) const noexcept override {
    const cl_uint in_stride = stack.in_stride / pixel_bytes_;
    const cl_uint out_stride = stack.out_stride / pixel_bytes_;
    return mask_.run(queue, kernel::opencl::tiles_of(pixels_, kTile), stack.count, group_, stack.in, in_stride,
                     stack.out, out_stride, stack.books, words_.get(), pixels_);
  }

 private:
  std::uint32_t pixels_;
  std::uint32_t pixel_bytes_;
  std::uint32_t group_;
  memory::opencl::Program program_;
  memory::opencl::Kernel mask_;
  memory::opencl::Memory words_;
};

}  // namespace

std::unique_ptr<kernel::opencl::DevicePass> make_pass(const Config& config, const Setup& setup, const Device& device) {
  return std::make_unique<Pass>(config, setup.in, device);
}

}  // namespace rashpa::kernel::bad_pixels::opencl
