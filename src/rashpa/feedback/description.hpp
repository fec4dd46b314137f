// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>

#include "rashpa/core/frame/results.hpp"
#include "rashpa/core/image/region.hpp"

namespace rashpa::feedback {

/// The subject of entries: a buffer of a run.
struct Described {
  std::uint32_t run = 0;
  std::string buffer;
  std::uint32_t width = 0;  ///< of the images that come out of the pipeline: columns of peaks count its pixels
  std::uint32_t height = 0;
  std::uint32_t stack = 0;
  std::uint64_t images = 0;  ///< images that are due, or the most that may come
  Slice slice{};
  Results results{};
};

/// Returns the names and types of everything that entries hold by number, as JSON. Set-up only.
[[nodiscard]] std::string describe(const Described& what);

}  // namespace rashpa::feedback
