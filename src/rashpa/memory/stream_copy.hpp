// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Copies into destination memory that is read much later: past the caches where the processor can, so that cache lines
/// are not read before they are overwritten, and the caches keep their content.
#include <cstddef>
#include <cstdint>
#include <span>

namespace rashpa::memory {

/// Copies `from` to `to`; short runs go the ordinary way. Streaming stores become visible in any order: stream_fence()
/// comes before whatever says that the bytes are there.
void stream_copy(std::byte* to, std::span<const std::byte> from) noexcept;

/// The same; returns the CRC32C of the bytes, chained as core's crc32c(). Block by block: the checksum takes a block
/// into the first cache, from where it is copied, so that memory is read once.
std::uint32_t stream_copy_crc32c(std::byte* to, std::span<const std::byte> from, std::uint32_t crc) noexcept;

/// All copies of this thread become visible before its later stores.
void stream_fence() noexcept;

}  // namespace rashpa::memory
