// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#include "rashpa/link/words.hpp"

namespace rashpa {
template <class Config>
class Parameters;
}  // namespace rashpa

namespace rashpa::link::pcie {

/// The engine that moves the bytes of a sender. `cpu`: the DTP's own thread. `cuda`: a GPU that holds the frames.
enum class EngineKind : std::uint8_t { cpu, cuda };

/// The options of this link.
struct Options {
  /// check of the payload; its CRC32C is the only proof, as no link thread sees the lines in flight
  Verify verify = Verify::all;
  EngineKind engine = EngineKind::cpu;  ///< for senders
  std::uint32_t engine_device = 0;      ///< for senders with engine cuda: number of the GPU
};

/// Returns the options of a telegram, under the names of the run file's keys.
const Parameters<Options>& parameters();

}  // namespace rashpa::link::pcie
