// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "rashpa/core/frame/stack.hpp"
#include "rashpa/memory/team.hpp"

namespace rashpa::receiver {

/// Checks whether slots that a unit has read still have the bytes that the link compared (docs/explanations/links.md).
/// It uses as many threads as the link did for that, the caller's included. The constructor takes all memory.
class SlotComparison final {
 public:
  /// Prepares for stacks of `stack` images with `dtps` parts each. With `threads` 1 only the caller works.
  SlotComparison(std::uint32_t stack, std::size_t dtps, unsigned threads);
  /// Returns 1 for each image of the stack whose pixels have changed; valid until the next call. Images that the unit
  /// has not read are left to the sinks that read them.
  [[nodiscard]] std::span<const std::uint8_t> changed(const Stack& stack) noexcept;

 private:
  struct Part {
    const std::byte* pixels = nullptr;
    const PayloadSum* sum = nullptr;
    std::uint8_t* changed = nullptr;
  };
  static void compare(const Part& part) noexcept;

  std::vector<std::uint8_t> changed_;
  std::vector<Part> parts_;
  std::unique_ptr<memory::Team> team_;  // of those besides the caller; last: ends before the members that it reads
};

}  // namespace rashpa::receiver
