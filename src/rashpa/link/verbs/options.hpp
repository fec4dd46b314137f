#pragma once
#include <cstdint>
#include <string>

namespace rashpa::link::verbs {

/// The queue pairs' transport. `uc`: what RASHPA uses, a lost packet is lost. `rc`: the link repairs losses itself;
/// both ends must be RNICs.
enum class Transport : std::uint8_t { uc, rc };

/// Which images' CRC32C a receiver compares with the record's: an RNIC shows no packet, so that this is the only proof.
/// `sampled`: one image in 16; the others are complete without proof.
enum class Verify : std::uint8_t { all, sampled, off };

/// What only this link has; packets are described by roce::Options (`pmtu`, `packetisation`, `window_bytes`).
struct Options {
  std::string device;  ///< "mlx5_0", "rxe0"; empty: the one that has the address
  Transport transport = Transport::uc;
  Verify verify = Verify::all;
  std::uint32_t send_depth = 256;   ///< writes in flight per DTP
  std::uint32_t signal_every = 16;  ///< one completion for so many writes; the event always has one
};

}  // namespace rashpa::link::verbs
