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

/// The pages of large memory that an RNIC reads or writes. `pinned` locks them all at registration. `on_demand` lets
/// the RNIC ask for each page when it needs it, and again after the kernel has moved it.
enum class Paging : std::uint8_t { pinned, on_demand };

/// The side that moves the pixels. `write`: the source writes them into the receiver's memory. `read`: the source
/// offers them, and the receiver reads them from the source's memory.
enum class Operation : std::uint8_t { write, read };

/// The settings of an RNIC. Both ends of a DTP must agree on `transport`, `pmtu`, `packetisation` and `operation`.
struct Options {
  Transport transport = Transport::uc;  ///< uc or rc
  std::uint32_t pmtu = 4096;            ///< payload bytes of a packet: 256, 512, 1024, 2048 or 4096
  Packetisation packetisation = Packetisation::only;
  /// payload bytes in flight for each DTP until an answer is needed, with a receiver that acknowledges bytes; 0: no
  /// limit
  std::uint64_t window_bytes = 1U << 20;
  std::string device;           ///< "mlx5_0", "rxe0"; empty: the device that has the address
  Verify verify = Verify::all;  ///< check of the payload; its CRC32C is the only proof, because an RNIC hides packets
  Paging paging = Paging::pinned;
  Operation operation = Operation::write;
  std::uint32_t send_depth = 256;   ///< writes in flight for each DTP
  std::uint32_t signal_every = 16;  ///< number of writes for each completion; the event always has one
};

/// Returns the options of a telegram, under the names of the run file's keys.
const Parameters<Options>& parameters();

/// Throws ConfigError when a member is invalid.
void check(const Options& options);
/// Does the same for an end with this flow.
void check(const Options& options, Flow flow);

}  // namespace rashpa::link::verbs
