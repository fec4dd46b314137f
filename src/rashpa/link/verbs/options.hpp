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

/// Describes how an RNIC is used. Both ends of a DTP must agree on `transport`, `pmtu` and `packetisation`.
struct Options {
  Transport transport = Transport::uc;  ///< uc or rc
  std::uint32_t pmtu = 4096;            ///< 256, 512, 1024, 2048 or 4096 payload bytes a packet
  Packetisation packetisation = Packetisation::only;
  std::uint64_t window_bytes = 1U << 20;  ///< payload in flight per DTP before news is needed, towards a receiver that
                                          ///< acknowledges bytes; 0: no window
  std::string device;                     ///< "mlx5_0", "rxe0"; empty: the one that has the address
  Verify verify = Verify::all;            ///< an RNIC shows no packet: the CRC32C is the only proof
  std::uint32_t send_depth = 256;         ///< writes in flight per DTP
  std::uint32_t signal_every = 16;        ///< number of writes for each completion; the event always has one
};

/// The options of a telegram, by the names of the run file's keys.
const Parameters<Options>& parameters();

/// Throws ConfigError when a member is not allowed.
void check(const Options& options);

}  // namespace rashpa::link::verbs
