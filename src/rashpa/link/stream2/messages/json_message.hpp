// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Messages of EIGER's Stream V1: JSON objects and bytes, each in a frame of its own. They are untrusted like those of
/// Stream V2, and become the same Message.
#include "rashpa/link/stream2/buffer.hpp"
#include "rashpa/link/stream2/messages/message.hpp"

namespace rashpa::link::stream2 {

/// Returns true for a message of V1: its first frame is a JSON object.
[[nodiscard]] bool is_json(const Buffer& message) noexcept;
/// Reads a message of Stream V1. Returns false when it is none, or exceeds a bound. The masks of a start message are
/// not read.
[[nodiscard]] bool read_json_message(const Buffer& message, Message& out) noexcept;

}  // namespace rashpa::link::stream2
