// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>

#include "rashpa/core/frame/results.hpp"
#include "rashpa/core/image/region.hpp"

namespace rashpa::feedback {

/// The subject of a ring's entries: a buffer of a run.
struct Described {
  std::uint32_t run = 0;
  std::string buffer;
  std::uint32_t width = 0;  ///< width of the pipeline's output images, whose pixels the columns of peaks count
  std::uint32_t height = 0;
  std::uint32_t stack = 0;
  std::uint64_t images = 0;  ///< images that are due, or the most that may come
  Slice slice{};
  Results results{};
};

/// Returns a JSON text with the names and types of all numbers of entries. Set-up only.
[[nodiscard]] std::string describe(const Described& what);

}  // namespace rashpa::feedback
