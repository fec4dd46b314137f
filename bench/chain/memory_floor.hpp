// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>

namespace rashpa::bench {

/// What is moved, as the chain moves it.
struct Moved {
  std::size_t image_bytes = 0;
  std::uint32_t parts = 0;    ///< of an image: each is copied by one thread
  std::uint32_t stack = 0;    ///< images that go to the device together
  std::uint32_t slots = 0;    ///< images of the ring
  std::uint32_t threads = 0;  ///< that copy
};

/// Bytes a second of pixels that the machine moves from memory into a ring of pinned memory, by streaming copies of so
/// many threads, and from there to the current CUDA device, while nothing else is done: no packet, no book, no kernel.
/// What is copied is larger than caches; a chain whose source lies in them may be faster. Takes about `seconds`. Throws
/// ResourceError.
double memory_floor(const Moved& moved, double seconds);

}  // namespace rashpa::bench
