// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>

namespace rashpa {

/// Text of a file or a peer, for a message: bytes that are no printable ASCII stand as \xNN; at most 200 characters of
/// it.
std::string printable(std::string_view text);

}  // namespace rashpa
