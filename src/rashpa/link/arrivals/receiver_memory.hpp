// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <concepts>
#include <cstddef>
#include <span>
#include <string_view>
#include <utility>

#include "rashpa/memory/address_translation.hpp"

namespace rashpa::link {

/// The memory that a receiver's link writes into. Lines may lie in an accelerator's memory; records always lie in the
/// host's, because the link's thread reads them. Offsets of a placement count from the first byte of the block that
/// they belong to; usually both are one block. The maker of the memory keeps it alive longer than the link.
struct ReceiverMemory {
  ReceiverMemory() = default;
  /// Lines and records in one block of host memory, which every link takes.
  template <std::convertible_to<std::span<std::byte>> Region>
  ReceiverMemory(Region&& region) : records(std::forward<Region>(region)) {  // NOLINT: the plain form of this
    lines.data = records.data();
    lines.bytes = records.size();
  }
  ReceiverMemory(const memory::DmaBlock& pixels, std::span<std::byte> host) : lines(pixels), records(host) {}

  [[nodiscard]] bool one_block() const noexcept {
    return !lines.accelerator && lines.data == records.data() && lines.bytes == records.size();
  }

  memory::DmaBlock lines;
  std::span<std::byte> records;
};

/// The one block of host memory, for links that know no other: throws ConfigError that begins with `link` and says
/// what to choose when the memory is not of that kind.
std::span<std::byte> host_block(std::string_view link, const ReceiverMemory& memory);

}  // namespace rashpa::link
