// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/stream2/options.hpp"

#include <fmt/format.h>

#include <charconv>
#include <string_view>

#include "rashpa/core/error.hpp"
#include "rashpa/core/parameter.hpp"

namespace rashpa::link::stream2 {

const Parameters<Options>& parameters() {
  static const auto declared =
      Parameters<Options>("link stream2")
          .add({.name = "dialect",
                .doc = "receiver: messages of DECTRIS detectors (Stream V2 and V1), or of slsReceivers (rx_zmqstream)",
                .choices = {"dectris", "sls"}},
               &Options::dialect)
          .add({.name = "address",
                .doc = "receiver: tcp://ADDRESS:PORT of the detector's stream; needed with [detector.control]"},
               &Options::address)
          .add({.name = "pattern",
                .doc = "how the detector sends: push to one of its clients, or pub to all, as slsReceivers always do",
                .choices = {"push", "pub"}},
               &Options::pattern)
          .add({.name = "connections",
                .doc = "receiver: to a detector that pushes, which deals its messages among them; of dialect sls one "
                       "to each port, from the address's port on",
                .least = 1,
                .most = 128},
               &Options::connections)
          .add({.name = "first_frame",
                .doc = "dialect sls: the detector's number (nextframenumber) of frame 0; 0: the first one that comes",
                .least = 0,
                .most = 281474976710655},
               &Options::first_frame)
          .add({.name = "late",
                .doc = "receiver: images by which one may come behind a later one; a quarter of the slots at most",
                .least = 0,
                .most = 4096},
               &Options::late)
          .add({.name = "packing", .doc = "emulator: how it packs pixels", .choices = {"bslz4", "none"}},
               &Options::packing);
  return declared;
}

Place place_of(const std::string& address) {
  constexpr std::string_view kScheme = "tcp://";
  const std::string_view all = address;
  const std::size_t colon = all.rfind(':');
  unsigned port = 0;
  if (all.starts_with(kScheme) && colon > kScheme.size() && colon != std::string_view::npos) {
    const std::string_view digits = all.substr(colon + 1);
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), port);
    if (read.ec != std::errc() || read.ptr != digits.data() + digits.size()) port = 0;
  }
  std::string_view host = port == 0 ? std::string_view() : all.substr(kScheme.size(), colon - kScheme.size());
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  if (host.empty() || port > 65535) {
    throw ConfigError(fmt::format("stream2: address {:?} is none; use tcp://ADDRESS:PORT of the detector", address));
  }
  return {std::string(host), std::to_string(port)};
}

std::vector<Place> places_of(const Options& options) {
  const Place first = place_of(options.address);
  unsigned port = 0;
  std::from_chars(first.port.data(), first.port.data() + first.port.size(), port);
  const bool one_each = options.dialect == Dialect::sls;
  if (one_each && port + options.connections - 1 > 65535) {
    throw ConfigError(fmt::format("stream2: {} connections from port {} on, beyond port 65535; use fewer",
                                  options.connections, port));
  }
  std::vector<Place> places(options.connections, first);
  for (std::uint32_t c = 0; one_each && c < options.connections; ++c) places[c].port = std::to_string(port + c);
  return places;
}

void check(const Options& options) {
  if (!options.address.empty()) places_of(options);
  if (options.dialect == Dialect::dectris && options.pattern == Pattern::pub && options.connections != 1) {
    throw ConfigError(fmt::format(
        "stream2: {} connections to a sender with pattern pub, which would each get all; use 1", options.connections));
  }
}

}  // namespace rashpa::link::stream2
