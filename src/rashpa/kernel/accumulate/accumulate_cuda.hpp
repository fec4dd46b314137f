// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "rashpa/kernel/accumulate/accumulate.hpp"
#include "rashpa/kernel/contract/device_pass.hpp"
#include "rashpa/kernel/contract/join.hpp"

namespace rashpa::kernel::accumulate::cuda {

/// For the current device. Throws ResourceError.
std::unique_ptr<kernel::cuda::DevicePass> make_pass(const Config& config, const Setup& setup);

/// Of parts that are integers, sums or maxima: with the variance of float32 they are more.
std::unique_ptr<const kernel::cuda::PartsWriter> make_writer(const Config& config, std::size_t pixels,
                                                             PixelFormat format);

}  // namespace rashpa::kernel::accumulate::cuda
