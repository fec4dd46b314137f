// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

namespace rashpa {

/// Runs `words`, which only writes a message to people and may allocate. Without memory the message is dropped, and the
/// caller continues.
template <typename Words>
void tell(Words words) noexcept {
  try {
    words();
  } catch (...) {  // unsaid
    return;
  }
}

/// Returns the text that `words` makes; empty when there is no memory for it.
template <typename Words>
std::string text_or_nothing(Words words) noexcept {
  std::string text;
  tell([&] { text = words(); });
  return text;
}

}  // namespace rashpa
