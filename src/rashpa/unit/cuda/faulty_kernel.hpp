// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A kernel for tests that faults at an image whose first pixel is `poison`.
#include <cstdint>

#include "rashpa/kernel/contract/device_pass.hpp"

namespace rashpa::unit::cuda {

int enqueue_fault(const kernel::cuda::DeviceStack& stack, std::uint16_t poison, CUstream_st* stream) noexcept;

}  // namespace rashpa::unit::cuda
