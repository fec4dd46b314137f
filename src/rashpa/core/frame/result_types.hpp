// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The C++ types of results.
#include <cstdint>

#include "rashpa/core/frame/results.hpp"

namespace rashpa {

/// Calls `work` with the function that reads a Scalar as `type` requires. That function returns the type that files
/// use: with_reader(type, [](auto read) { using T = decltype(read(Scalar())); … }).
template <typename Work>
auto with_reader(Column::Type type, Work work) {
  switch (type) {
    case Column::Type::u32:
      return work([](Scalar one) { return static_cast<std::uint32_t>(one.count()); });
    case Column::Type::u64:
      return work([](Scalar one) { return one.count(); });
    case Column::Type::i64:
      return work([](Scalar one) { return one.integer(); });
    case Column::Type::f64:
      break;
  }
  return work([](Scalar one) { return one.real(); });
}

/// Calls `work` with a value of the type of a quantity: with_type(type, []<typename T>(T) { … }).
template <typename Work>
auto with_type(Quantity::Type type, Work work) {
  switch (type) {
    case Quantity::Type::u32:
      return work(std::uint32_t{});
    case Quantity::Type::i32:
      return work(std::int32_t{});
    case Quantity::Type::i64:
      return work(std::int64_t{});
    case Quantity::Type::f32:
      return work(float{});
    case Quantity::Type::f64:
      break;
  }
  return work(double{});
}

}  // namespace rashpa
