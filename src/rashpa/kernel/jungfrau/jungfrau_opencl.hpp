// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Converts JUNGFRAU raw words to photons or keV on OpenCL devices.
#include <memory>

#include "rashpa/kernel/contract/opencl_pass.hpp"
#include "rashpa/kernel/jungfrau/assembly/assembly.hpp"
#include "rashpa/kernel/jungfrau/jungfrau.hpp"

namespace rashpa::kernel::jungfrau::opencl {

/// Makes the pass. `assembly` is that of the output images, read here and not kept; null: images keep their shape.
std::unique_ptr<kernel::opencl::DevicePass> make_pass(const Config& config, const Assembly* assembly, const Taps& taps,
                                                      const Setup& setup, const memory::opencl::Device& device);

}  // namespace rashpa::kernel::jungfrau::opencl
