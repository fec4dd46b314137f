// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The kernel of a gather. It only enqueues, on the current device.
#include <driver_types.h>

#include <cstddef>
#include <cstdint>

#include "rashpa/memory/gather/gather_engine.hpp"

namespace rashpa::memory::cuda {

/// A list of runs, and the words by which its end is known.
struct GatherList {
  const GatherRun* runs = nullptr;  ///< in host memory that the device reads
  std::uint32_t count = 0;
  std::byte* images = nullptr;
  std::uint32_t* blocks = nullptr;  ///< on the device: blocks that have ended; 0 before and behind each list
  std::uint64_t* ended = nullptr;   ///< in host memory: gets `number` when all bytes are in their places
  std::uint64_t number = 0;
};
cudaError_t gather(const GatherList& list, cudaStream_t stream) noexcept;

}  // namespace rashpa::memory::cuda
