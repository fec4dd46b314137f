// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>

#include "rashpa/link/words.hpp"

namespace rashpa {
template <class Config>
class Parameters;
}  // namespace rashpa

namespace rashpa::link::verbs {

/// The settings of an RNIC. Both ends of a DTP must agree on `transport`, `pmtu` and `packetisation`.
struct Options {
  Transport transport = Transport::uc;  ///< uc or rc
  std::uint32_t pmtu = 4096;            ///< payload bytes of a packet: 256, 512, 1024, 2048 or 4096
  Packetisation packetisation = Packetisation::only;
  /// payload bytes in flight for each DTP until an answer is needed, with a receiver that acknowledges bytes; 0: no
  /// limit
  std::uint64_t window_bytes = 1U << 20;
  std::string device;           ///< "mlx5_0", "rxe0"; empty: the device that has the address
  Verify verify = Verify::all;  ///< check of the payload; its CRC32C is the only proof, because an RNIC hides packets
  std::uint32_t send_depth = 256;   ///< writes in flight for each DTP
  std::uint32_t signal_every = 16;  ///< number of writes for each completion; the event always has one
};

/// Returns the options of a telegram, under the names of the run file's keys.
const Parameters<Options>& parameters();

/// Throws ConfigError when a member is invalid.
void check(const Options& options);

}  // namespace rashpa::link::verbs
