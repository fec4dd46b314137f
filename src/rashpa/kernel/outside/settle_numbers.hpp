// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstdint>

#include "rashpa/core/frame/stack.hpp"
#include "rashpa/kernel/outside/stack_step.hpp"

namespace rashpa::kernel::outside {

/// The findings of a stack, in device memory.
struct NumbersOfStack {
  std::array<DeviceNumbers, kMostColumns> columns{};
  std::array<Column::Type, kMostColumns> types{};
  std::uint32_t count = 0;
  DeviceNumbers verdicts{};
  std::uint32_t reasons = 0;
};

/// Enqueues the writing of numbers and verdicts of the processed images to the unit's memory.
int settle_numbers(const cuda::DeviceStack& stack, const NumbersOfStack& numbers, CUstream_st* stream) noexcept;
/// Enqueues the failure of all images that are processed.
int fail_stack(const cuda::DeviceStack& stack, CUstream_st* stream) noexcept;

}  // namespace rashpa::kernel::outside
