// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What the two processes of a benchmark tell each other, byte for byte: both are the same program.
#include <unistd.h>

#include <cstddef>

#include "rashpa/core/error.hpp"

namespace rashpa::bench {

/// Throws ResourceError when the other process is gone.
inline void give(int file, const void* data, std::size_t bytes) {
  if (::write(file, data, bytes) != static_cast<ssize_t>(bytes))
    throw ResourceError("bench: the other process is gone");
}

/// The same.
inline void take(int file, void* data, std::size_t bytes) {
  auto* at = static_cast<std::byte*>(data);
  while (bytes > 0) {
    const ssize_t part = ::read(file, at, bytes);
    if (part <= 0) throw ResourceError("bench: the other process is gone");
    at += part;
    bytes -= static_cast<std::size_t>(part);
  }
}

}  // namespace rashpa::bench
