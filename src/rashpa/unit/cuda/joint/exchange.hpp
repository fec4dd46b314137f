// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Devices that have strips of the same images exchange their counts, and decide as one.
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "rashpa/kernel/contract/device_pass.hpp"
#include "rashpa/kernel/contract/strip.hpp"
#include "rashpa/unit/cuda/control.hpp"

namespace rashpa::unit::cuda {

/// The counts of one member for one stack: a ticket, and behind it the columns of all images, 64 bits each.
struct alignas(64) Box {
  std::uint32_t ticket = 0;  ///< of the stack that the numbers are of
};
/// Bytes from one box to the next.
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

/// Most devices of a unit.
inline constexpr std::uint32_t kMostMembers = 16;

struct Exchange {
  const Order* order = nullptr;  ///< of the device: its ticket
  std::uint8_t* work = nullptr;  ///< [stack]
  std::uint32_t stack = 0;       ///< images
  Scalar* scalars = nullptr;     ///< [stack][columns]
  std::uint32_t columns = 0;
  std::uint32_t first = 0;  ///< columns [first, end) are added up
  std::uint32_t end = 0;
  kernel::cuda::DeviceFinding* findings = nullptr;  ///< [stack]
  std::byte* boxes = nullptr;  ///< of the members, in host memory that all devices see at this address
  std::uint32_t members = 0;
  std::uint32_t self = 0;                 ///< which of them this is
  std::uint32_t* over = nullptr;          ///< an Over, in such memory
  const kernel::Bound* bounds = nullptr;  ///< of the device: of the step before
  std::uint32_t bound_count = 0;
  std::uint32_t bound_column = 0;  ///< its first column
  std::uint8_t step = 0;           ///< its number
};

/// Adds up the members' columns and says what the bounds say of the whole images. One block, so that waiting leaves
/// room; all members enqueue stacks in the order of tickets. Where the others do not come, because it is over or after
/// kLongestWaitNs, which makes it so, DeviceFinding::lost is set of all images that are worked on, and their work ends.
cudaError_t exchange(const Exchange& step, cudaStream_t stream) noexcept;

}  // namespace rashpa::unit::cuda
