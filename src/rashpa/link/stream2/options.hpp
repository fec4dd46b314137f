// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The detector that sends a stream, and how its messages are taken.
#include <cstdint>
#include <string>

namespace rashpa {
template <class Config>
class Parameters;
}  // namespace rashpa

namespace rashpa::link::stream2 {

/// The sender's socket. `push`: each message goes to one of its clients; `pub`: to all of them.
enum class Pattern : std::uint8_t { push, pub };
/// Describes how the emulator packs pixels. A receiver unpacks every packing that a detector uses.
enum class Packing : std::uint8_t { bslz4, none };

struct Options {
  std::string address;  ///< of the detector's stream, "tcp://ADDRESS:PORT"; empty: the emulator of the run
  Pattern pattern = Pattern::push;
  std::uint32_t connections = 1;  ///< to the detector, which deals its messages among them
  std::uint32_t late = 16;        ///< images by which one may come behind a later one, a quarter of the slots at most
  Packing packing = Packing::bslz4;  ///< emulator
};

/// The options of a telegram, by the names of the run file's keys.
const Parameters<Options>& parameters();

/// The parts of tcp://ADDRESS:PORT.
struct Place {
  std::string host;
  std::string port;
};
/// Throws ConfigError.
Place place_of(const std::string& address);

/// Throws ConfigError when members do not fit each other.
void check(const Options& options);

}  // namespace rashpa::link::stream2
