// SPDX-License-Identifier: Apache-2.0
#include "rashpa/wire/random_numbers.hpp"

#include <random>

#include "rashpa/wire/headers.hpp"

namespace rashpa::wire {

std::uint32_t random_below(std::uint32_t end) { return std::random_device{}() % end; }

std::uint32_t random_psn() { return random_below(kPsnMask + 1); }

std::uint32_t random_qpn() { return kFirstQpn + random_below(1U << 23U); }

std::uint32_t random_key() { return std::random_device{}(); }

}  // namespace rashpa::wire
