// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A kernel at the head of a stack's work that waits for the last words of all DTPs, or for the host.
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "rashpa/core/frame/last_word.hpp"
#include "rashpa/unit/cuda/control.hpp"
#include "rashpa/unit/cuda/word/begun.hpp"

namespace rashpa::unit::cuda {

/// A device that waits ends its wait when the host's thread has given no sign for so long.
inline constexpr std::uint64_t kAloneNs = 30'000'000'000;

/// The parameters of the kernel. The order in device memory asks for all images of the stack; that of the host replaces
/// it when the host triggers the stack. Host memory is pinned.
struct Watch {
  Order* order = nullptr;              ///< in device memory
  const std::byte* by_host = nullptr;  ///< the host's order
  std::uint32_t order_bytes = 0;       ///< with limits, a multiple of 16
  std::uint32_t stack = 0;             ///< images of a full stack
  const Control* control = nullptr;    ///< in host memory
  Start* start = nullptr;              ///< in host memory
  const LastWord* words = nullptr;     ///< in device memory
  std::uint32_t dtps = 0;
  std::uint32_t* over = nullptr;  ///< in device memory: not 0 once a wait has ended for want of a host
};

/// Enqueues the wait. Work behind it sees the lines and records that its source wrote before the words.
cudaError_t watch(const Watch& watch, cudaStream_t stream) noexcept;

}  // namespace rashpa::unit::cuda
