// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A condition on numbers of an image, compiled from text before the run.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "rashpa/core/results.hpp"

namespace rashpa::kernel::veto {

/// Longest text, and deepest nesting, of a rule.
inline constexpr std::size_t kMostText = 1000;
inline constexpr std::size_t kMostDepth = 32;

/// One operation on a stack of numbers; a condition is 0 or 1.
struct Operation {
  enum class Code : std::uint8_t {
    constant,
    count,    ///< a column of u32 or u64
    integer,  ///< a column of i64
    real,     ///< a column of f64
    negate,
    opposite,  ///< not
    add,
    subtract,
    multiply,
    divide,
    less,
    at_most,
    more,
    at_least,
    equal,
    differs,
    both,    ///< and
    either,  ///< or
  };
  Code code = Code::constant;
  std::uint32_t column = 0;
  double value = 0;
};

/// Does not change; any thread.
class Rule {
 public:
  /// `columns`: what it may name. Throws ConfigError that says where it is wrong and what would be right.
  Rule(std::string_view text, std::span<const Column> columns);
  /// The same without columns: what can be said of the text alone.
  static void check(std::string_view text);
  /// `numbers`: by column.
  [[nodiscard]] bool holds(const Scalar* numbers) const noexcept;
  [[nodiscard]] const std::vector<Operation>& operations() const noexcept { return operations_; }

 private:
  std::vector<Operation> operations_;  // needs kMostStack numbers at most
};

/// Room that the operations of any rule need. Each level of depth holds back one number for `or`, `and`, a comparison,
/// a sum and a product.
inline constexpr std::size_t kMostStack = 5 * (kMostDepth + 2);

}  // namespace rashpa::kernel::veto
