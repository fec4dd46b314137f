// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Messages of EIGER's Stream V1: JSON objects and bytes, each a frame of its own. They are not trusted, as those of
/// Stream V2, and become the same Message.
#include "rashpa/link/stream2/buffer.hpp"
#include "rashpa/link/stream2/messages/message.hpp"

namespace rashpa::link::stream2 {

/// Returns true when a message is one of V1: its first frame is an object of JSON.
[[nodiscard]] bool is_json(const Buffer& message) noexcept;
/// Reads it. False: it is none, or breaks a bound. Masks of a start are left where they are.
[[nodiscard]] bool read_json_message(const Buffer& message, Message& out) noexcept;

}  // namespace rashpa::link::stream2
