// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Copies into destination memory that is read much later. They bypass the caches where the processor can: destination
/// lines are not read first, and the caches keep their content.
#include <cstddef>
#include <cstdint>
#include <span>

namespace rashpa::memory {

/// Copies `from` to `to`; short runs use ordinary stores. Streaming stores become visible in any order, so call
/// stream_fence() before you announce the bytes.
void stream_copy(std::byte* to, std::span<const std::byte> from) noexcept;

/// Copies as stream_copy() and returns the CRC32C of the bytes, chained as core's crc32c(). It works block by block:
/// the checksum loads a block into the first-level cache, from which it is copied, so memory is read once.
std::uint32_t stream_copy_crc32c(std::byte* to, std::span<const std::byte> from, std::uint32_t crc) noexcept;

/// Makes all copies of this thread visible before its later stores.
void stream_fence() noexcept;

}  // namespace rashpa::memory
