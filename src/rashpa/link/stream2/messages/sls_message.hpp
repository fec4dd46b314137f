// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Messages of slsReceivers (slsDetectorPackage, rx_zmqstream): a JSON header and the pixels of one port, each in a
/// frame of its own. They are untrusted, as those of Stream V2, and become the same Message.
#include "rashpa/link/stream2/buffer.hpp"
#include "rashpa/link/stream2/messages/message.hpp"

namespace rashpa::link::stream2 {

/// Reads a message of an slsReceiver. Returns false when it is none, has another version than 4 or 5, or exceeds a
/// bound. Message::image becomes the detector's frame number. Message::module numbers the ports down each column of the
/// detector, as slsDetectorPackage does.
[[nodiscard]] bool read_sls_message(const Buffer& message, Message& out) noexcept;

}  // namespace rashpa::link::stream2
