// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Where the fields of rtl/package/rashpa_pkg.sv's packed structs lie in a port.
#include <cstdint>

namespace rashpa::rtl {

struct Field {
  unsigned from, bits;
};

template <class Words>
std::uint64_t get(const Words& words, Field field) {
  std::uint64_t value = 0;
  for (unsigned b = 0; b < field.bits; ++b) {
    const unsigned at = field.from + b;
    value |= std::uint64_t{(words[at / 32] >> (at % 32)) & 1U} << b;
  }
  return value;
}

template <class Words>
void set(Words& words, Field field, std::uint64_t value) {
  for (unsigned b = 0; b < field.bits; ++b) {
    const unsigned at = field.from + b;
    words[at / 32] = (words[at / 32] & ~(1U << (at % 32))) | (static_cast<std::uint32_t>(value >> b & 1U) << (at % 32));
  }
}

namespace descriptor {  // descriptor_t
inline constexpr Field factor{0, 32}, slot{32, 32}, index{64, 64}, immediate{128, 32}, bytes{160, 32},
    destination{192, 64}, source{256, 48}, last_of_run{304, 1}, begins_image{305, 1}, complete_record{306, 1},
    event_record{307, 1}, dtp{308, 4};
}  // namespace descriptor

namespace packet {  // packet_t
inline constexpr Field factor{0, 32}, slot{32, 32}, index{64, 64}, immediate{128, 32}, length{160, 32},
    destination{192, 64}, beats{256, 7}, bytes{263, 13}, lead{276, 6}, last_of_run{282, 1}, ends_descriptor{283, 1},
    begins_image{284, 1}, complete_record{285, 1}, kind{286, 3}, dtp{289, 4};
}  // namespace packet

/// packet_kind_e.
enum class Kind : std::uint8_t { only, first, middle, last, event };

}  // namespace rashpa::rtl
