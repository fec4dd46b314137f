// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#include "rashpa/core/results.hpp"

namespace rashpa::sink {

/// Calls `work` with the function that reads a Scalar as the type says; what that gives is the type in a file:
/// with_reader(type, [](auto read) { using T = decltype(read(Scalar())); … }).
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

}  // namespace rashpa::sink
