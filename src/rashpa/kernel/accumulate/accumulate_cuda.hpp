// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "rashpa/kernel/accumulate/accumulate.hpp"
#include "rashpa/kernel/contract/device_pass.hpp"
#include "rashpa/kernel/contract/join.hpp"

namespace rashpa::kernel::accumulate::cuda {

/// Makes the pass on the current device. Throws ResourceError.
std::unique_ptr<kernel::cuda::DevicePass> make_pass(const Config& config, const Setup& setup);

/// Makes a writer of parts that are integers, sums or maxima. The variance of float32 needs other parts.
std::unique_ptr<const kernel::cuda::PartsWriter> make_writer(const Config& config, std::size_t pixels,
                                                             PixelFormat format);

}  // namespace rashpa::kernel::accumulate::cuda
