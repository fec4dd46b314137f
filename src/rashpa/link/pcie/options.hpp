#pragma once
#include <cstdint>

#include "rashpa/link/words.hpp"

namespace rashpa::link::pcie {

/// Which engine moves the bytes of a sender. `cpu`: the DTP's own thread.
enum class EngineKind : std::uint8_t { cpu };

/// What is chosen of this link.
struct Options {
  Verify verify = Verify::all;          ///< nobody sees the lines on their way: the CRC32C is the only proof
  EngineKind engine = EngineKind::cpu;  ///< sender
};

}  // namespace rashpa::link::pcie
