// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Test chunks with the blocks of pack_runs(), made in a plain way.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "rashpa/kernel/bitshuffle_lz4/bitshuffle.hpp"
#include "rashpa/kernel/bitshuffle_lz4/bitshuffle_lz4.hpp"
#include "rashpa/kernel/bitshuffle_lz4/lz4_runs.hpp"

namespace rashpa::kernel::bitshuffle_lz4 {

inline std::vector<std::byte> chunk_of_runs(std::span<const std::byte> in, std::size_t element_bytes) {
  std::vector<std::byte> chunk;
  const auto put = [&](std::uint64_t value, unsigned bytes) {
    for (unsigned b = bytes; b > 0; --b) chunk.push_back(static_cast<std::byte>(value >> (8 * (b - 1))));
  };
  put(in.size(), 8);
  put(kTargetBlockBytes, 4);
  const std::size_t group = 8 * std::max<std::size_t>(element_bytes, 1);
  const std::size_t shuffled = in.size() / group * group;
  std::vector<std::byte> planes(kTargetBlockBytes);
  std::vector<std::byte> packed(2 * kTargetBlockBytes);
  for (std::size_t at = 0; at < shuffled; at += kTargetBlockBytes) {
    const std::size_t bytes = std::min(kTargetBlockBytes, shuffled - at);
    shuffle_reference(in.data() + at, planes.data(), bytes / element_bytes, element_bytes);
    const std::size_t size = pack_runs(planes.data(), bytes, packed.data());
    put(size, 4);
    chunk.insert(chunk.end(), packed.begin(), packed.begin() + static_cast<std::ptrdiff_t>(size));
  }
  chunk.insert(chunk.end(), in.begin() + static_cast<std::ptrdiff_t>(shuffled), in.end());
  return chunk;
}

}  // namespace rashpa::kernel::bitshuffle_lz4
