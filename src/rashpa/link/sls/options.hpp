// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The detector that sends SLS datagrams, and how its packets are taken.
#include <cstdint>

namespace rashpa {
template <class Config>
class Parameters;
}  // namespace rashpa

namespace rashpa::link::sls {

/// The detectors that are understood, by their header's type.
enum class Detector : std::uint8_t { jungfrau, eiger, moench };
/// The ports that send their rows from the last one to the first. `detector`: as the detector does by itself, EIGER
/// those with an even row in their header, the others none. `even`, `odd`: by that row.
enum class Flip : std::uint8_t { detector, none, even, odd, all };
/// Describes which half of a byte is the first of its two pixels of 4 bits. Sources disagree.
enum class Nibbles : std::uint8_t { low_first, high_first };

/// The detector's settings that change its datagrams, on which both ends of a run must agree; then the receiver's own.
struct Options {
  Detector detector = Detector::jungfrau;
  std::uint32_t interfaces = 1;  ///< jungfrau, moench: UDP ports of a module, 1 or 2; EIGER has two for a half module
  std::uint32_t bits = 16;       ///< EIGER: bits of a pixel, 4, 8, 12, 16 or 32; 4 arrive as bytes, 12 stay packed
  std::uint32_t gigabits = 10;   ///< of the detector's network, 10 or 1: the size of EIGER's packets, the sender's pace
  std::uint32_t read_rows = 0;   ///< of a module (EIGER: of a half), as `readnrows`; 0: all
  Flip flip = Flip::detector;
  Nibbles nibbles = Nibbles::low_first;
  std::uint64_t first_frame = 0;             ///< number of the run's first frame; 0: the first one that comes
  std::uint32_t socket_buffer = 100U << 20;  ///< bytes asked of the kernel for each port
  bool gro = true;                           ///< take merged datagrams from the kernel (UDP_GRO)
};

/// The options of a telegram, by the names of the run file's keys.
const Parameters<Options>& parameters();

/// Throws ConfigError when members do not fit each other.
void check(const Options& options);

}  // namespace rashpa::link::sls
