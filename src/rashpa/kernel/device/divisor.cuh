// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Division by a number that is known in advance. Devices have no instruction for integer division.
#include <cstdint>

namespace rashpa::kernel {

class Divisor {
 public:
  Divisor() = default;
  explicit Divisor(std::uint32_t by) noexcept
      : by_(by), inverse_(by <= 1 ? ~0U : static_cast<std::uint32_t>((std::uint64_t{1} << 32U) / by)) {}
  /// Returns the quotient and writes the remainder to `rest`.
  __device__ __forceinline__ std::uint32_t operator()(std::uint32_t value, std::uint32_t& rest) const {
    auto found = static_cast<std::uint32_t>(std::uint64_t{value} * inverse_ >> 32U);  // at most one too small
    rest = value - found * by_;
    if (rest >= by_) {
      rest -= by_;
      found += 1;
    }
    return found;
  }

 private:
  std::uint32_t by_ = 1;
  std::uint32_t inverse_ = ~0U;
};

}  // namespace rashpa::kernel
