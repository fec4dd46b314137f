// SPDX-License-Identifier: Apache-2.0
#include "rashpa/kernel/bitshuffle_lz4/bitshuffle.hpp"

#include <algorithm>

namespace rashpa::kernel::bitshuffle_lz4 {

void shuffle_reference(const std::byte* in, std::byte* out, std::size_t elements, std::size_t element_bytes) noexcept {
  std::fill_n(out, elements * element_bytes, std::byte{0});
  for (std::size_t i = 0; i < elements; ++i) {
    for (std::size_t b = 0; b < element_bytes * 8; ++b) {
      const bool set = std::to_integer<unsigned>(in[i * element_bytes + b / 8] >> (b % 8) & std::byte{1}) != 0;
      if (set) out[b * (elements / 8) + i / 8] |= std::byte{1} << (i % 8);
    }
  }
}

void unshuffle_reference(const std::byte* in, std::byte* out, std::size_t elements,
                         std::size_t element_bytes) noexcept {
  std::fill_n(out, elements * element_bytes, std::byte{0});
  for (std::size_t i = 0; i < elements; ++i) {
    for (std::size_t b = 0; b < element_bytes * 8; ++b) {
      const bool set = std::to_integer<unsigned>(in[b * (elements / 8) + i / 8] >> (i % 8) & std::byte{1}) != 0;
      if (set) out[i * element_bytes + b / 8] |= std::byte{1} << (b % 8);
    }
  }
}

}  // namespace rashpa::kernel::bitshuffle_lz4
