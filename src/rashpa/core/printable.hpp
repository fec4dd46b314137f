// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>

namespace rashpa {

/// Returns text of a file or a peer for a message: at most 200 characters, with bytes that are no printable ASCII as
/// \xNN.
std::string printable(std::string_view text);

}  // namespace rashpa
