// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/sls/options.hpp"

#include <fmt/format.h>

#include "rashpa/core/error.hpp"
#include "rashpa/core/parameter.hpp"
#include "rashpa/link/sls/port_shape.hpp"

namespace rashpa::link::sls {

const Parameters<Options>& parameters() {
  static const auto declared =
      Parameters<Options>("link sls")
          .add({.name = "detector",
                .doc = "the kind of detector that sends",
                .choices = {"jungfrau", "eiger", "moench"}},
               &Options::detector)
          .add({.name = "interfaces",
                .doc = "jungfrau and moench: UDP ports of a module; EIGER has two for a half module, whatever is here",
                .allowed = {1, 2}},
               &Options::interfaces)
          .add({.name = "bits",
                .doc = "eiger: bits of a pixel (dr); 4 arrive as uint8, 12 stay packed for the kernel unpack",
                .allowed = {4, 8, 12, 16, 32}},
               &Options::bits)
          .add({.name = "gigabits",
                .doc = "of the detector's network: EIGER's packets are 4096 bytes at 10 (tengiga 1), 1024 at 1",
                .allowed = {1, 10}},
               &Options::gigabits)
          .add({.name = "read_rows",
                .doc = "rows that a module (EIGER: a half) reads out, as readnrows; 0: all",
                .least = 0,
                .most = 512},
               &Options::read_rows)
          .add({.name = "flip",
                .doc = "ports that send their last row first: as the detector does (EIGER: an even row in the header; "
                       "others none), or by that row",
                .choices = {"detector", "none", "even", "odd", "all"}},
               &Options::flip)
          .add({.name = "nibbles",
                .doc = "4 bits: which half of a byte is its first pixel; sources disagree",
                .choices = {"low_first", "high_first"}},
               &Options::nibbles)
          .add({.name = "first_frame",
                .doc = "the detector's number (nextframenumber) of frame 0; 0: the first one that comes",
                .least = 0,
                .most = 281474976710655},
               &Options::first_frame)
          .add({.name = "socket_buffer",
                .doc = "bytes asked of the kernel for each UDP port (xdp: and queue of the interface)",
                .least = 4096,
                .most = 2147483648},
               &Options::socket_buffer)
          .add({.name = "gro", .doc = "receiver: take merged datagrams from the kernel"}, &Options::gro)
          .add({.name = "engine",
                .doc = "receiver: UDP sockets, or AF_XDP, which needs IPv4, root and Linux 6.6",
                .choices = {"socket", "xdp"}},
               &Options::engine);
  return declared;
}

void check(const Options& options) {
  const Module module = module_of(options);
  const auto refuse = [&](std::uint32_t step) {
    throw ConfigError(fmt::format("sls: read_rows {} is not possible; use 0 for all, or multiples of {} up to {}",
                                  options.read_rows, step, module.rows));
  };
  if (options.read_rows == 0) return;
  if (options.read_rows > module.rows) refuse(module.row_step);
  if (options.read_rows % module.row_step != 0) refuse(module.row_step);
}

}  // namespace rashpa::link::sls
