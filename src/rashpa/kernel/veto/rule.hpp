// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A condition on numbers of an image, compiled from text before the run.
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "rashpa/core/frame/results.hpp"

namespace rashpa::kernel::veto {

/// The longest text of a rule in characters; kMostDepth is its deepest nesting.
inline constexpr std::size_t kMostText = 1000;
inline constexpr std::size_t kMostDepth = 32;

/// The stack size that suffices for any rule. Each level of depth keeps at most one number for each of `or`, `and`, a
/// comparison, a sum and a product.
inline constexpr std::size_t kMostStack = 5 * (kMostDepth + 2);

/// One operation on a stack of numbers; a condition is 0 or 1.
struct Operation {
  enum class Code : std::uint8_t {
    constant,
    count,    ///< push a column of u32 or u64
    integer,  ///< push a column of i64
    real,     ///< push a column of f64
    negate,
    opposite,  ///< logical not
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
    both,    ///< logical and
    either,  ///< logical or
    end,     ///< end of the operations
  };
  Code code = Code::constant;
  std::uint32_t column = 0;
  double value = 0;
};

/// A compiled rule. Constant; any thread.
class Rule {
 public:
  /// Compiles the rule. `columns` are those that it may name. Throws ConfigError with the position of the error and a
  /// remedy.
  Rule(std::string_view text, std::span<const Column> columns);
  /// Checks the text alone, without columns. Throws as the constructor.
  static void check(std::string_view text);
  /// Returns true when the rule holds for an image. `numbers` has one number for each column.
  [[nodiscard]] bool holds(const Scalar* numbers) const noexcept;
  /// Returns the operations; the last one is `end`.
  [[nodiscard]] const std::vector<Operation>& operations() const noexcept { return operations_; }

 private:
  std::vector<Operation> operations_;  // with an end; needs kMostStack numbers at most
};

/// Returns true when the operations up to `end` hold for an image; on devices, too.
constexpr bool holds(const Operation* operations, const Scalar* numbers) noexcept {
  using Code = Operation::Code;
  std::array<double, kMostStack> stack;  // NOLINT(cppcoreguidelines-pro-type-member-init): filled as it grows
  std::size_t top = 0;
  for (std::size_t at = 0; operations[at].code != Code::end; ++at) {
    const Operation& one = operations[at];
    switch (one.code) {
      case Code::constant:
        stack[top++] = one.value;
        continue;
      case Code::count:
        stack[top++] = static_cast<double>(numbers[one.column].count());
        continue;
      case Code::integer:
        stack[top++] = static_cast<double>(numbers[one.column].integer());
        continue;
      case Code::real:
        stack[top++] = numbers[one.column].real();
        continue;
      case Code::negate:
        stack[top - 1] = -stack[top - 1];
        continue;
      case Code::opposite:
        stack[top - 1] = stack[top - 1] == 0 ? 1 : 0;
        continue;
      default:
        break;
    }
    const double right = stack[--top];
    double& left = stack[top - 1];
    bool found = false;
    switch (one.code) {
      case Code::add:
        left += right;
        continue;
      case Code::subtract:
        left -= right;
        continue;
      case Code::multiply:
        left *= right;
        continue;
      case Code::divide:
        left /= right;
        continue;
      case Code::less:
        found = left < right;
        break;
      case Code::at_most:
        found = left <= right;
        break;
      case Code::more:
        found = left > right;
        break;
      case Code::at_least:
        found = left >= right;
        break;
      case Code::equal:
        found = left == right;
        break;
      case Code::differs:
        found = left != right;
        break;
      case Code::both:
        found = left != 0 && right != 0;
        break;
      default:
        found = left != 0 || right != 0;
        break;
    }
    left = found ? 1 : 0;
  }
  return stack[0] != 0;
}

}  // namespace rashpa::kernel::veto
