// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The detector that sends SLS datagrams, and the settings of their intake.
#include <cstdint>

namespace rashpa {
template <class Config>
class Parameters;
}  // namespace rashpa

namespace rashpa::link::sls {

/// The supported detectors, by the type in their headers.
enum class Detector : std::uint8_t { jungfrau, eiger, moench };
/// The ports that send their rows in reverse order. `detector`: as the detector does by default, which for EIGER means
/// ports with an even row in their header, and for the others none. `even`, `odd`: by that row.
enum class Flip : std::uint8_t { detector, none, even, odd, all };
/// The half of a byte that has the first of its two 4-bit pixels. Sources disagree on it.
enum class Nibbles : std::uint8_t { low_first, high_first };
/// The receiver's way to datagrams: UDP sockets, or AF_XDP before the kernel's own stack.
enum class EngineKind : std::uint8_t { socket, xdp };

/// The detector's settings that change its datagrams, on which both ends of a run must agree; then the receiver's own
/// settings.
struct Options {
  Detector detector = Detector::jungfrau;
  /// for jungfrau and moench: UDP ports of a module, 1 or 2; EIGER has two for each half module
  std::uint32_t interfaces = 1;
  std::uint32_t bits = 16;  ///< for EIGER: bits of a pixel, 4, 8, 12, 16 or 32; 4 arrive as bytes, 12 stay packed
  /// speed of the detector's network, 10 or 1: decides the size of EIGER's packets and the sender's pace
  std::uint32_t gigabits = 10;
  std::uint32_t read_rows = 0;  ///< rows of a module (EIGER: of a half module), as `readnrows`; 0: all
  Flip flip = Flip::detector;
  Nibbles nibbles = Nibbles::low_first;
  std::uint64_t first_frame = 0;             ///< number of the run's first frame; 0: that of the first frame that comes
  std::uint32_t socket_buffer = 100U << 20;  ///< bytes requested from the kernel for each port
  bool gro = true;                           ///< take merged datagrams from the kernel (UDP_GRO)
  EngineKind engine = EngineKind::socket;    ///< of the receiver
};

/// Returns the options of a telegram, under the names of the run file's keys.
const Parameters<Options>& parameters();

/// Throws ConfigError when members contradict each other.
void check(const Options& options);

}  // namespace rashpa::link::sls
