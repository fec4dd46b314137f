// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The exchange of counts between devices with strips of the same images, so that they decide alike.
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "rashpa/kernel/contract/device_pass.hpp"
#include "rashpa/kernel/contract/strip.hpp"
#include "rashpa/unit/cuda/control.hpp"

namespace rashpa::unit::cuda {

/// The counts of one member for one stack: a ticket, followed by the columns of all images, 64 bits each.
struct alignas(64) Box {
  std::uint32_t ticket = 0;  ///< ticket of the stack of these numbers
};
/// Returns the bytes from one box to the next.
constexpr std::size_t box_bytes(std::size_t numbers) noexcept {
  return sizeof(Box) + (numbers * sizeof(std::uint64_t) + sizeof(Box) - 1) / sizeof(Box) * sizeof(Box);
}

/// The reason why members no longer wait for one another; once set, it stays.
enum class Over : std::uint32_t {
  no = 0,
  ended = 1,   ///< a host has ended it: the unit stops, or a device has failed
  silent = 2,  ///< a member has waited for kLongestWaitNs
};
inline constexpr std::uint64_t kLongestWaitNs = 10'000'000'000;

/// The most devices of a unit.
inline constexpr std::uint32_t kMostMembers = 16;

struct Exchange {
  const Order* order = nullptr;  ///< in device memory, with its ticket
  std::uint8_t* work = nullptr;  ///< [stack]
  std::uint32_t stack = 0;       ///< images of a stack
  Scalar* scalars = nullptr;     ///< [stack][columns]
  std::uint32_t columns = 0;
  std::uint32_t first = 0;  ///< columns [first, end) are summed
  std::uint32_t end = 0;
  kernel::cuda::DeviceFinding* findings = nullptr;  ///< [stack]
  std::byte* boxes = nullptr;  ///< boxes of the members, in host memory at one address for all devices
  std::uint32_t members = 0;
  std::uint32_t self = 0;                 ///< number of this member
  std::uint32_t* over = nullptr;          ///< an Over, in host memory at one address for all devices
  const kernel::Bound* bounds = nullptr;  ///< in device memory, of the step before
  std::uint32_t bound_count = 0;
  std::uint32_t bound_column = 0;  ///< first column of that step
  std::uint8_t step = 0;           ///< number of that step
};

/// Enqueues the sum of the members' columns and the decision by the bounds for whole images. It uses one block of
/// threads, so that waiting leaves room on the device. All members enqueue stacks in the order of tickets. When other
/// members do not come, because Over is set, or is set here after kLongestWaitNs, DeviceFinding::lost is set for all
/// processed images, and their work ends.
cudaError_t exchange(const Exchange& step, cudaStream_t stream) noexcept;

}  // namespace rashpa::unit::cuda
