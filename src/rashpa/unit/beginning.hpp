// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>

#include "rashpa/core/frame/stack.hpp"

namespace rashpa::unit {

/// A unit that can process the first pixels of images before their stack is there.
class Beginning {
 public:
  virtual ~Beginning() = default;
  /// Processes pixels of image `image` of the stack that will be submitted next, which are there up to pixel `end`; one
  /// behind the last means all. Returns false when it cannot do so now: call it again later. A stack that then has a
  /// lost or dark image is processed anew, so that results are always those of submit(). The thread of submit().
  virtual bool begin_early(Stack& stack, std::uint32_t image, std::size_t end) noexcept = 0;
};

}  // namespace rashpa::unit
