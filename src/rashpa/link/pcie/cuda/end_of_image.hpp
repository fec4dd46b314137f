// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <driver_types.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "rashpa/core/frame/frame_record.hpp"

namespace rashpa::link::pcie {

/// The writes after an image's lines, in this order, at addresses of the device. Null: left out.
struct EndOfImage {
  std::array<unsigned char, FrameRecord::kBytes> bytes{};
  unsigned char* record = nullptr;
  std::uint32_t* lock = nullptr;
  std::uint32_t immediate = 0;
  std::uint64_t* reached = nullptr;
  std::uint64_t number = 0;
};

/// Enqueues the writes behind the copies in the stream. A thread that sees the lock word sees the record and all lines;
/// one that sees the number sees the lock word.
cudaError_t enqueue(const EndOfImage& end, cudaStream_t stream) noexcept;

}  // namespace rashpa::link::pcie
