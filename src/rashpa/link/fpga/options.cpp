// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/fpga/options.hpp"

#include <fmt/format.h>

#include <charconv>
#include <system_error>

#include "rashpa/core/error.hpp"

namespace rashpa::link::fpga {

void check(const Options& options) {
  check_pmtu("fpga", options.pmtu);
  if (options.card.empty()) {
    throw ConfigError("fpga: card is empty; give the directory of the card's nodes, /dev or that of a simulated card");
  }
  mac_of("source_mac", options.source_mac);
  mac_of("destination_mac", options.destination_mac);
}

std::array<std::uint8_t, 6> mac_of(const char* key, const std::string& text) {
  constexpr std::size_t kStep = 3;  // two digits and a colon
  constexpr int kHexadecimal = 16;
  std::array<std::uint8_t, 6> bytes{};
  if (text.empty()) return bytes;
  bool good = text.size() == bytes.size() * kStep - 1;
  for (std::size_t i = 0; good && i < bytes.size(); ++i) {
    const char* const at = text.data() + i * kStep;
    const auto [end, code] = std::from_chars(at, at + 2, bytes[i], kHexadecimal);
    good = code == std::errc{} && end == at + 2 && (i + 1 == bytes.size() || *end == ':');
  }
  if (!good)
    throw ConfigError(fmt::format("fpga: {} '{}' is no MAC address; give one such as 02:00:00:00:00:01", key, text));
  return bytes;
}

}  // namespace rashpa::link::fpga
