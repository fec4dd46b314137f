// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#include "rashpa/link/words.hpp"

namespace rashpa {
template <class Config>
class Parameters;
}  // namespace rashpa

namespace rashpa::link::pcie {

/// Describes which engine moves the bytes of a sender. `cpu`: the DTP's own thread. `cuda`: a GPU that holds the
/// frames.
enum class EngineKind : std::uint8_t { cpu, cuda };

/// The chosen options of this link.
struct Options {
  Verify verify = Verify::all;          ///< nobody sees the lines on their way: the CRC32C is the only proof
  EngineKind engine = EngineKind::cpu;  ///< sender
  std::uint32_t engine_device = 0;      ///< sender, engine cuda: number of the GPU
};

/// The options of a telegram, by the names of the run file's keys.
const Parameters<Options>& parameters();

}  // namespace rashpa::link::pcie
