// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Big-endian access to numbers in the headers of chunks.
#include <cstddef>
#include <cstdint>

namespace rashpa::kernel::bitshuffle_lz4 {

inline void put_big_endian(std::byte* out, std::uint64_t value, std::size_t bytes) noexcept {
  for (std::size_t i = 0; i < bytes; ++i) out[i] = static_cast<std::byte>(value >> (8 * (bytes - 1 - i)));
}

inline std::uint64_t get_big_endian(const std::byte* in, std::size_t bytes) noexcept {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes; ++i) value = value << 8 | std::to_integer<std::uint64_t>(in[i]);
  return value;
}

}  // namespace rashpa::kernel::bitshuffle_lz4
