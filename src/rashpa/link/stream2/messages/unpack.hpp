// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "rashpa/core/image/placement.hpp"
#include "rashpa/link/stream2/messages/message.hpp"

namespace rashpa::link::stream2 {

/// Memory that one thread unpacks with; it grows to the size of the largest image.
struct Scratch {
  std::vector<std::byte> lines;
};

/// Unpacks an untrusted image to where `placement` has its lines: `to` is the address of line 0. The image has the size
/// of the lines, or nothing is written. False: the bytes are damaged, and the lines then hold anything.
[[nodiscard]] bool unpack(const Packed& packed, const Placement& placement, std::byte* to, Scratch& scratch) noexcept;

}  // namespace rashpa::link::stream2
