#pragma once
#include "rashpa/link/words.hpp"

namespace rashpa::link::pcie {

/// What is chosen of this link.
struct Options {
  Verify verify = Verify::all;  ///< nobody sees the lines on their way: the CRC32C is the only proof
};

}  // namespace rashpa::link::pcie
