// SPDX-License-Identifier: Apache-2.0
#include "rashpa/kernel/contract/given.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "rashpa/core/error.hpp"

namespace rashpa::kernel {

std::string_view name_of(Number number) noexcept {
  constexpr std::string_view names[] = {"uint8", "uint16", "uint32", "uint64", "int32", "int64", "float32", "float64"};
  return names[static_cast<std::size_t>(number)];
}

std::size_t bytes_of(Number number) noexcept {
  constexpr std::size_t bytes[] = {1, 2, 4, 8, 4, 8, 4, 8};
  return bytes[static_cast<std::size_t>(number)];
}

GivenArray::GivenArray(Number type, std::vector<std::size_t> shape, std::span<const std::byte> bytes)
    : type_(type), shape_(std::move(shape)), bytes_(bytes.begin(), bytes.end()) {
  const std::size_t size = std::accumulate(shape_.begin(), shape_.end(), std::size_t{1}, std::multiplies<>());
  if (size * bytes_of(type_) != bytes_.size()) {
    throw ConfigError(fmt::format("array: its {} bytes are not {} numbers of {}; give as many as its shape says",
                                  bytes_.size(), size, name_of(type_)));
  }
}

const GivenArray* Given::array(std::string_view name) const noexcept {
  if (arrays == nullptr) return nullptr;
  const auto found = arrays->find(name);
  return found == arrays->end() ? nullptr : &found->second;
}

void check_given(std::string_view kernel, const std::vector<Input>& inputs, const Given& given) {
  const auto refuse = [&](std::string_view name, const std::string& why) {
    throw ConfigError(fmt::format("kernel {}: array {}: {}", kernel, name, why));
  };
  const std::vector<std::size_t>* image = nullptr;
  for (const Input& input : inputs) {
    const GivenArray* array = given.array(input.name);
    if (array == nullptr) {
      if (input.needed) refuse(input.name, "it is needed and not there; give it");
      continue;
    }
    if (array->type() != input.type) {
      refuse(input.name, fmt::format("it is of {}; convert it to {}", name_of(array->type()), name_of(input.type)));
    }
    const std::size_t dimensions = input.shape == Input::Shape::image ? 2 : 1;
    if (array->shape().size() != dimensions) {
      refuse(input.name, fmt::format("it has {} dimensions; give {}", array->shape().size(), dimensions));
    }
    if (input.shape != Input::Shape::image) continue;
    if (image != nullptr && array->shape() != *image) {
      refuse(input.name, fmt::format("it has {}, and another one {} rows and columns; give both the same size",
                                     array->shape(), *image));
    }
    image = &array->shape();
  }
  if (given.arrays == nullptr) return;
  for (const auto& [name, array] : *given.arrays) {
    const auto declared = [&](const Input& input) { return input.name == name; };
    if (std::none_of(inputs.begin(), inputs.end(), declared)) refuse(name, "the kernel does not take it; leave it out");
  }
}

}  // namespace rashpa::kernel
