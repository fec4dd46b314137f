// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Arrays that are handed to Python with their memory.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

namespace rashpa::bindings {

/// One byte per image, from a table of enumerators.
template <typename Enum>
nanobind::ndarray<nanobind::numpy, std::uint8_t, nanobind::ndim<1>> byte_table(const std::vector<Enum>& states) {
  auto bytes = std::make_unique<std::uint8_t[]>(states.size());
  for (std::size_t i = 0; i < states.size(); ++i) bytes[i] = static_cast<std::uint8_t>(states[i]);
  std::uint8_t* data = bytes.release();
  const nanobind::capsule owner(data, [](void* memory) noexcept { delete[] static_cast<std::uint8_t*>(memory); });
  return {data, {states.size()}, owner};
}

/// Eight bytes per image, in the machine's order.
inline nanobind::ndarray<nanobind::numpy, std::uint64_t, nanobind::ndim<1>> number_table(
    const std::vector<std::uint64_t>& numbers) {
  auto copy = std::make_unique<std::uint64_t[]>(numbers.size());
  std::copy(numbers.begin(), numbers.end(), copy.get());
  std::uint64_t* data = copy.release();
  const nanobind::capsule owner(data, [](void* memory) noexcept { delete[] static_cast<std::uint64_t*>(memory); });
  return {data, {numbers.size()}, owner};
}

}  // namespace rashpa::bindings
