#pragma once
#include <cstdint>
#include <string>

#include "rashpa/link/link.hpp"

namespace rashpa::link::verbs {

/// What only this link has; packets are described by roce::Options (`transport`, `pmtu`, `packetisation`,
/// `window_bytes`).
struct Options {
  std::string device;               ///< "mlx5_0", "rxe0"; empty: the one that has the address
  Verify verify = Verify::all;      ///< an RNIC shows no packet: the CRC32C is the only proof
  std::uint32_t send_depth = 256;   ///< writes in flight per DTP
  std::uint32_t signal_every = 16;  ///< one completion for so many writes; the event always has one
};

}  // namespace rashpa::link::verbs
