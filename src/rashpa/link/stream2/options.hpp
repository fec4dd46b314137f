// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The detector that sends a stream, and the settings of its intake.
#include <cstdint>
#include <string>
#include <vector>

namespace rashpa {
template <class Config>
class Parameters;
}  // namespace rashpa

namespace rashpa::link::stream2 {

/// The kind of the sender's socket. `push`: each message goes to one client; `pub`: to all clients.
enum class Pattern : std::uint8_t { push, pub };
/// The kind of the messages: those of DECTRIS detectors (Stream V2 and V1), or those of slsReceivers
/// (slsDetectorPackage), which have one socket for each port.
enum class Dialect : std::uint8_t { dectris, sls };
/// The packing of the emulator's pixels. A receiver unpacks all packings that detectors use.
enum class Packing : std::uint8_t { bslz4, none };

struct Options {
  Dialect dialect = Dialect::dectris;
  std::string address;  ///< of the detector's stream, "tcp://ADDRESS:PORT"; empty: the emulator of the run
  Pattern pattern = Pattern::push;
  /// number of connections to the detector, which distributes its messages among them; for sls, one for each port
  std::uint32_t connections = 1;
  std::uint64_t first_frame = 0;  ///< for sls: number of the run's first frame; 0: that of the first image that comes
  std::uint32_t late = 16;  ///< most images by which an image may come out of order; at most a quarter of the slots
  Packing packing = Packing::bslz4;  ///< for the emulator
};

/// Returns the options of a telegram, under the names of the run file's keys.
const Parameters<Options>& parameters();

/// The parts of an address tcp://ADDRESS:PORT.
struct Place {
  std::string host;
  std::string port;
};
/// Splits an address. Throws ConfigError when it has another form.
Place place_of(const std::string& address);
/// Returns the places of a detector's sockets, one for each connection. Throws ConfigError.
std::vector<Place> places_of(const Options& options);

/// Throws ConfigError when members contradict each other.
void check(const Options& options);

}  // namespace rashpa::link::stream2
