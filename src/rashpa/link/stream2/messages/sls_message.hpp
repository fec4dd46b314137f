// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Messages of slsReceivers (slsDetectorPackage, rx_zmqstream): a header in JSON and the pixels of one port, each a
/// frame of its own. They are not trusted, as those of Stream V2, and become the same Message.
#include "rashpa/link/stream2/buffer.hpp"
#include "rashpa/link/stream2/messages/message.hpp"

namespace rashpa::link::stream2 {

/// Reads it. False: it is none, is of another version than 4 or 5, or breaks a bound. `image` is then the detector's
/// number, and `module` counts ports down each column of the detector, as slsDetectorPackage does.
[[nodiscard]] bool read_sls_message(const Buffer& message, Message& out) noexcept;

}  // namespace rashpa::link::stream2
