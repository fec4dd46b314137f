// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "rashpa/core/image/placement.hpp"
#include "rashpa/link/stream2/messages/message.hpp"

namespace rashpa::link::stream2 {

/// The memory with which one thread unpacks; it grows to the size of the largest image.
struct Scratch {
  std::vector<std::byte> lines;
};

/// Unpacks an untrusted image to the lines of `placement`; `to` is the address of line 0. Writes nothing unless the
/// image has the size of the lines. Returns false when the bytes are damaged; the lines are then undefined.
[[nodiscard]] bool unpack(const Packed& packed, const Placement& placement, std::byte* to, Scratch& scratch) noexcept;

}  // namespace rashpa::link::stream2
