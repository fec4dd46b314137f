// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A kernel that stays on the device, polls the trigger word in host memory and runs the whole pipeline of a stack by
/// itself: no launch between the trigger and the first result. For stacks that it reads over the bus itself.
#include <cstddef>
#include <cstdint>
#include <string>

#include "rashpa/unit/steps.hpp"

namespace rashpa::unit::cuda {

/// Images of a stack: their work flags travel in one word.
inline constexpr std::uint32_t kResidentImages = 32;
/// Steps behind the conversion.
inline constexpr std::uint32_t kResidentSteps = 8;
/// Stacks above it gain more from the copy engine than they lose by a launch.
inline constexpr std::size_t kResidentPaysBytes = std::size_t{1} << 20;

/// The times at which the stages of a stack begin, in clock cycles of a multiprocessor, by a thread of the first block
/// that works: the trigger taken; its own pixels read and converted; those of all blocks; decided; everything stored.
struct ResidentClocks {
  long long taken = 0, read = 0, counted = 0, decided = 0, stored = 0;
};

/// Describes how the resident kernel works; for measurements. The defaults were the best.
struct ResidentOptions {
  std::uint32_t watchers = 8;
  bool even = true;                  ///< watchers ask at even distances
  bool one_block = true;             ///< small images: watchers and all work in one block
  bool tells_first = false;          ///< the decision has a ticket of its own, in front of pixels and lists
  ResidentClocks* clocks = nullptr;  ///< in pinned memory
};

/// Returns why the resident kernel cannot run such a pipeline; empty when it can.
std::string resident_refusal(const Steps& steps, const Layout& layout);

}  // namespace rashpa::unit::cuda
