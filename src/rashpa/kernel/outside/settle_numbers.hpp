// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstdint>

#include "rashpa/core/frame/stack.hpp"
#include "rashpa/kernel/outside/stack_step.hpp"

namespace rashpa::kernel::outside {

/// The findings of a stack for the device.
struct NumbersOfStack {
  std::array<DeviceNumbers, kMostColumns> columns{};
  std::array<Column::Type, kMostColumns> types{};
  std::uint32_t count = 0;
  DeviceNumbers verdicts{};
  std::uint32_t reasons = 0;
};

/// Puts numbers and verdicts of the images that are worked on where the unit has them.
int settle_numbers(const cuda::DeviceStack& stack, const NumbersOfStack& numbers, CUstream_st* stream) noexcept;
/// All images that are worked on have failed.
int fail_stack(const cuda::DeviceStack& stack, CUstream_st* stream) noexcept;

}  // namespace rashpa::kernel::outside
