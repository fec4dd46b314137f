// SPDX-License-Identifier: Apache-2.0
#include "rashpa/kernel/contract/step.hpp"

#include "rashpa/kernel/contract/device_pass.hpp"
#include "rashpa/kernel/contract/opencl_pass.hpp"

namespace rashpa::kernel {

Step::~Step() = default;

std::unique_ptr<const Reshape> Step::reshape(const Shape& /*in*/) const { return nullptr; }

std::unique_ptr<cuda::DevicePass> Step::on_cuda(const Setup& /*setup*/) const { return nullptr; }

std::unique_ptr<opencl::DevicePass> Step::on_opencl(const Setup& /*setup*/,
                                                    const memory::opencl::Device& /*device*/) const {
  return nullptr;
}

}  // namespace rashpa::kernel
