// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/words.hpp"

#include <fmt/format.h>

#include <bit>

#include "rashpa/core/error.hpp"

namespace rashpa::link {

void check_pmtu(std::string_view link, std::uint32_t pmtu) {
  if (std::has_single_bit(pmtu) && pmtu >= 256 && pmtu <= 4096) return;
  throw ConfigError(fmt::format("{}: pmtu {} is not allowed; use 256, 512, 1024, 2048 or 4096", link, pmtu));
}

void check_one_key(std::string_view link, const Endpoint& destination) {
  if (destination.key_of_records() == destination.rkey) return;
  throw ConfigError(fmt::format(
      "{}: the receiver's lines and records have two keys, and this sender knows one; set receiver.memory = "
      "\"huge\", or send by link roce or verbs",
      link));
}

}  // namespace rashpa::link
