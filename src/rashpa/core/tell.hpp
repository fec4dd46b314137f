// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

namespace rashpa {

/// Runs what only says something to people: words take memory. Where there is none they stay unsaid, and the work that
/// they are about goes on.
template <typename Words>
void tell(Words words) noexcept {
  try {
    words();
  } catch (...) {  // unsaid
    return;
  }
}

/// The text that a call makes; empty where there is no memory for it.
template <typename Words>
std::string text_or_nothing(Words words) noexcept {
  std::string text;
  tell([&] { text = words(); });
  return text;
}

}  // namespace rashpa
