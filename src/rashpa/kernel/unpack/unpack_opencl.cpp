// SPDX-License-Identifier: Apache-2.0
#include "rashpa/kernel/unpack/unpack_opencl.hpp"

#include <fmt/format.h>

#include <string_view>

namespace rashpa::kernel::unpack {
extern const std::string_view unpack_cl;
}

namespace rashpa::kernel::unpack::opencl {

namespace {

using memory::opencl::Device;

std::string macros_of(const Config& config) {
  const std::size_t bytes = pixel_bytes(type_of(config.bits));
  const char* const type = bytes == 1 ? "uchar" : bytes == 2 ? "ushort" : "uint";
  const char* const masked = bytes == 1 ? "0xFF" : bytes == 2 ? "0xFFFF" : "0xFFFFFFFFu";
  return fmt::format("-D BITS={} -D PIXEL={} -D MASKED={}", count_of(config.bits), type, masked);
}

class Pass final : public kernel::opencl::DevicePass {
 public:
  Pass(const Config& config, const Device& device)
      : config_(config),
        group_(device.group()),
        program_(kernel::opencl::build(device, "unpack", {unpack_cl}, macros_of(config))),
        unpack_(program_, "unpack_lines"),
        fill_(program_, "fill_gaps") {}
  cl_int enqueue(const kernel::opencl::DeviceStack& stack, std::uint32_t /*bench*/,
                 cl_command_queue queue) const noexcept override {
    const Shape packed = config_.packed();
    const Shape made = config_.made();
    const cl_uint of_module = config_.module_width / 8;
    const auto made_stride = static_cast<cl_uint>(stack.out_stride / pixel_bytes(type_of(config_.bits)));
    const cl_int code = unpack_.run(queue, packed.height, stack.count, group_, stack.in, stack.in_stride, stack.out,
                                    made_stride, stack.books, of_module * config_.modules_across, of_module,
                                    config_.module_height, made.width, config_.gap_x, config_.gap_y);
    const bool gaps = config_.gap_x * (config_.modules_across - 1) + config_.gap_y * (config_.modules_down - 1) != 0;
    if (code != CL_SUCCESS || !gaps) return code;
    return fill_.run(queue, made.height, stack.count, group_, stack.out, made_stride, stack.books, made.width,
                     config_.module_width, config_.module_height, config_.gap_x, config_.gap_y);
  }

 private:
  Config config_;
  std::uint32_t group_;
  memory::opencl::Program program_;
  memory::opencl::Kernel unpack_, fill_;
};

}  // namespace

std::unique_ptr<kernel::opencl::DevicePass> make_pass(const Config& config, const Setup& /*setup*/,
                                                      const Device& device) {
  return std::make_unique<Pass>(config, device);
}

}  // namespace rashpa::kernel::unpack::opencl
