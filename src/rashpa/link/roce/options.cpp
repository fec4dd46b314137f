#include "rashpa/link/roce/options.hpp"

#include <fmt/format.h>

#include <bit>
#include <numeric>

#include "rashpa/core/error.hpp"

namespace rashpa::link::roce {

void check(const Options& options) {
  if (!std::has_single_bit(options.pmtu) || options.pmtu < 256 || options.pmtu > 4096) {
    throw ConfigError(fmt::format("roce: pmtu {} is not allowed; use 256, 512, 1024, 2048 or 4096", options.pmtu));
  }
}

std::uint32_t line_map_unit(const Placement& placement, const Options& options) noexcept {
  const bool merged = options.packetisation == Packetisation::first_middle_last && placement.contiguous();
  if (!merged && placement.line_bytes <= options.pmtu) return placement.line_bytes;
  return std::gcd(placement.line_bytes, options.pmtu);
}

}  // namespace rashpa::link::roce
