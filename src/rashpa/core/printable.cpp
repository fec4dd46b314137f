// SPDX-License-Identifier: Apache-2.0
#include "rashpa/core/printable.hpp"

#include <fmt/core.h>

namespace rashpa {

std::string printable(std::string_view text) {
  constexpr std::size_t kLongest = 200;
  std::string out;
  for (const char character : text) {
    if (out.size() >= kLongest) return out + "…";
    if (character >= ' ' && character <= '~') {
      out += character;
    } else {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(character));
    }
  }
  return out;
}

}  // namespace rashpa
