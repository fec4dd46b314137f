// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A kernel that stays on the device, polls the trigger word in host memory and runs the whole pipeline of a stack: no
/// launch lies between the trigger and the first result. For stacks that it reads over the bus itself.
#include <cstddef>
#include <cstdint>
#include <string>

#include "rashpa/unit/steps.hpp"

namespace rashpa::unit::cuda {

/// The most images of a stack, whose work flags must fit into one word.
inline constexpr std::uint32_t kResidentImages = 32;
/// The most steps after the conversion.
inline constexpr std::uint32_t kResidentSteps = 8;
/// The most DTPs, and the most records of a stack, whose last words the kernel watches.
inline constexpr std::uint32_t kResidentDtps = 8;
inline constexpr std::uint32_t kResidentRecords = 32;
/// The stack size in bytes up to which the resident kernel pays; larger stacks gain more from the copy engine than they
/// lose by a launch.
inline constexpr std::size_t kResidentPaysBytes = std::size_t{1} << 20;

/// The times, in clock cycles of a multiprocessor, at which the stages of a stack begin. A thread of the first working
/// block takes them: trigger taken; its own pixels converted; those of all blocks; decided; everything stored.
struct ResidentClocks {
  long long taken = 0, read = 0, counted = 0, decided = 0, stored = 0;
};

/// The variants of the resident kernel, for measurements. The defaults were the fastest.
struct ResidentOptions {
  std::uint32_t watchers = 8;
  std::uint32_t word_watchers = 0;   ///< warps that look for last words; with watchers up to kWatchers
  bool even = true;                  ///< polling threads read at even intervals
  bool one_block = true;             ///< for small images: polling threads and all work in one block
  bool tells_first = false;          ///< the decision has its own ticket, before pixels and lists
  ResidentClocks* clocks = nullptr;  ///< in pinned memory
};

/// Returns why the resident kernel cannot run such a pipeline; empty when it can.
std::string resident_refusal(const Steps& steps, const Layout& layout);

}  // namespace rashpa::unit::cuda
