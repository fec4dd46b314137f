// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Memory that fails: an allocation of the hand, where the product says that it may.
#include <cstdint>

namespace rashpa::simulation::memory {

/// The calling thread's `nth` allocation from now on fails, counted from 1; 0: none does.
void fail_at(std::uint64_t nth) noexcept;
/// Whether it has failed since fail_at().
[[nodiscard]] bool failed() noexcept;

/// The allocations of the world itself are no part of it while this lives.
class Spared {
 public:
  Spared() noexcept;
  ~Spared();
  Spared(const Spared&) = delete;
  Spared& operator=(const Spared&) = delete;

 private:
  std::uint64_t left_;
};

}  // namespace rashpa::simulation::memory
