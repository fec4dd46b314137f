#include "rashpa/link/roce/options.hpp"

#include <numeric>

#include "rashpa/core/error.hpp"
#include "rashpa/wire/headers.hpp"

namespace rashpa::link::roce {

void check(const Options& options) {
  check_pmtu("roce", options.pmtu);
  if (options.transport == Transport::ud && options.packetisation != Packetisation::only) {
    throw ConfigError("roce: a UD message is one packet; use packetisation only with transport ud");
  }
}

std::uint32_t packet_payload(const Options& options) noexcept {
  constexpr std::uint32_t kAligned = 64;
  static_assert(wire::LineHeader::kBytes < kAligned, "what is rounded away must hold the line header");
  return options.transport == Transport::ud ? options.pmtu - kAligned : options.pmtu;
}

std::uint32_t line_map_unit(const Placement& placement, const Options& options) noexcept {
  const bool merged = options.packetisation == Packetisation::first_middle_last && placement.contiguous();
  const std::uint32_t payload = packet_payload(options);
  if (!merged && placement.line_bytes <= payload) return placement.line_bytes;
  return std::gcd(placement.line_bytes, payload);
}

}  // namespace rashpa::link::roce
