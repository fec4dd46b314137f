// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Arrays that own what they are made of.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <utility>
#include <vector>

#include "rashpa/core/frame/result_types.hpp"

namespace rashpa::bindings {

using AnyArray = nanobind::ndarray<nanobind::numpy>;

/// `values` as an array of that shape which owns them; `type`: when it is not T.
template <typename T>
AnyArray array_of(std::vector<T> values, const std::vector<std::size_t>& shape,
                  nanobind::dlpack::dtype type = nanobind::dtype<T>()) {
  auto* owned = new std::vector<T>(std::move(values));
  const nanobind::capsule owner(owned, [](void* at) noexcept { delete static_cast<std::vector<T>*>(at); });
  return {owned->data(), shape.size(), shape.data(), owner, nullptr, type};
}
template <typename T>
AnyArray array_of(std::vector<T> values) {
  const std::size_t size = values.size();
  return array_of(std::move(values), {size});
}

/// Column `type` of values that `value(i)` gives.
template <typename Value>
AnyArray column_of(Column::Type type, std::size_t size, Value value) {
  return with_reader(type, [&](auto read) {
    std::vector<decltype(read(Scalar()))> values(size);
    for (std::size_t i = 0; i < size; ++i) values[i] = read(value(i));
    return array_of(std::move(values));
  });
}

}  // namespace rashpa::bindings
