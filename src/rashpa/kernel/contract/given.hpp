// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The set-up inputs of a kernel besides its parameters: calibration maps, and arrays from the files that its
/// parameters name (a geometry, a mask). A kernel declares them; the control plane reads the files, makes the arrays
/// and provides them by name. Constant once made; any thread may read it.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "rashpa/kernel/contract/calibration_maps.hpp"

namespace rashpa::kernel {

/// The number type of a given array, in the machine's little-endian form.
enum class Number : std::uint8_t { u8, u16, u32, u64, i32, i64, f32, f64 };

std::string_view name_of(Number number) noexcept;  ///< "uint8" … "float64"
std::size_t bytes_of(Number number) noexcept;

/// An array that a kernel needs, as it declares it.
struct Input {
  enum class Shape : std::uint8_t {
    image,   ///< [height][width], one value for each pixel
    values,  ///< any number of values
  };
  std::string name;
  Number type = Number::u16;
  Shape shape = Shape::image;
  bool needed = true;
  std::string doc{};
};

/// An owned array, row-major.
class GivenArray {
 public:
  GivenArray() = default;
  /// Copies `bytes`, whose number must fit `type` and `shape`.
  GivenArray(Number type, std::vector<std::size_t> shape, std::span<const std::byte> bytes);
  /// Copies plain numbers, for tests and benchmarks.
  template <typename T>
  static GivenArray of(const std::vector<T>& values, std::vector<std::size_t> shape = {}) {
    if (shape.empty()) shape = {values.size()};
    return {number_of<T>(), std::move(shape), std::as_bytes(std::span(values))};
  }
  template <typename T>
  static constexpr Number number_of() noexcept {
    if constexpr (std::is_same_v<T, std::uint8_t>) return Number::u8;
    if constexpr (std::is_same_v<T, std::uint16_t>) return Number::u16;
    if constexpr (std::is_same_v<T, std::uint32_t>) return Number::u32;
    if constexpr (std::is_same_v<T, std::uint64_t>) return Number::u64;
    if constexpr (std::is_same_v<T, std::int32_t>) return Number::i32;
    if constexpr (std::is_same_v<T, std::int64_t>) return Number::i64;
    if constexpr (std::is_same_v<T, float>) return Number::f32;
    return Number::f64;
  }

  [[nodiscard]] Number type() const noexcept { return type_; }
  [[nodiscard]] const std::vector<std::size_t>& shape() const noexcept { return shape_; }
  [[nodiscard]] std::size_t size() const noexcept { return bytes_.size() / bytes_of(type_); }
  /// Returns the numbers of the array; empty when they have another type.
  template <typename T>
  [[nodiscard]] std::span<const T> as() const noexcept {
    if (number_of<T>() != type_) return {};
    return {reinterpret_cast<const T*>(bytes_.data()), size()};
  }

 private:
  Number type_ = Number::u16;
  std::vector<std::size_t> shape_{};
  std::vector<std::byte> bytes_{};
};

using GivenArrays = std::map<std::string, GivenArray, std::less<>>;

struct Given {
  std::shared_ptr<const CalibrationMaps> calibration{};
  std::shared_ptr<const GivenArrays> arrays{};

  /// Returns the array with that name, or null.
  [[nodiscard]] const GivenArray* array(std::string_view name) const noexcept;
};

/// Throws ConfigError that names the kernel and the array when an array is missing, is not declared, or has a wrong
/// type, number of dimensions or shape. All image arrays must have one shape.
void check_given(std::string_view kernel, const std::vector<Input>& inputs, const Given& given);

}  // namespace rashpa::kernel
