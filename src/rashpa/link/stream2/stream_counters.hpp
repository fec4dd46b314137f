// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "rashpa/link/counters.hpp"

namespace rashpa::link::stream2 {

/// The counters of the thread that takes messages, which `packets` counts here.
struct StreamCounters : ReceiverCounters {
  NamedCounter malformed{*this, "malformed"};            ///< messages that cannot be read, or exceed a bound
  NamedCounter bad_chunks{*this, "bad_chunks"};          ///< images whose pixels cannot be unpacked
  NamedCounter wrong_shape{*this, "wrong_shape"};        ///< images of another size or type than the run file's
  NamedCounter no_channel{*this, "no_channel"};          ///< images without the channel of a module
  NamedCounter other_series{*this, "other_series"};      ///< messages of another series than the run's
  NamedCounter no_frame{*this, "no_frame"};              ///< images of no frame of the run, or far off
  NamedCounter partial_before{*this, "partial_before"};  ///< images that the sender marks as partial; missing here
  NamedCounter dead_ports{*this, "dead_ports"};  ///< modules of ports without an image when the first was given up
  NamedCounter reconnects{*this, "reconnects"};  ///< times that a connection was lost and made again
};

}  // namespace rashpa::link::stream2
