// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime_api.h>

#include <cmath>

#include "rashpa/kernel/outside/settle_numbers.hpp"

namespace rashpa::kernel::outside {

namespace {

using cuda::DeviceStack;
constexpr unsigned kThreads = 128;

/// A number as it was found.
struct Number {
  bool real;
  bool fits = true;
  double as_real = 0;
  std::int64_t as_integer = 0;  // below 2^63
  std::uint64_t as_count = 0;   // at least 0
};

template <typename T>
__device__ T value_of(const DeviceNumbers& numbers, std::uint32_t image) {
  return *reinterpret_cast<const T*>(numbers.data + image * numbers.stride);
}

__device__ Number signed_number(std::int64_t value) {
  return {false, value >= 0, static_cast<double>(value), value, static_cast<std::uint64_t>(value)};
}
__device__ Number count_number(std::uint64_t value) {
  return {false, true, static_cast<double>(value), static_cast<std::int64_t>(value), value};
}
__device__ Number real_number(double value) { return {true, false, value, 0, 0}; }

/// `fits`: it is a count.
__device__ Number number_of(const DeviceNumbers& numbers, std::uint32_t image) {
  using Type = DeviceNumbers::Type;
  switch (numbers.type) {
    case Type::i8:
      return signed_number(value_of<std::int8_t>(numbers, image));
    case Type::u8:
      return count_number(value_of<std::uint8_t>(numbers, image));
    case Type::i16:
      return signed_number(value_of<std::int16_t>(numbers, image));
    case Type::u16:
      return count_number(value_of<std::uint16_t>(numbers, image));
    case Type::i32:
      return signed_number(value_of<std::int32_t>(numbers, image));
    case Type::u32:
      return count_number(value_of<std::uint32_t>(numbers, image));
    case Type::i64:
      return signed_number(value_of<std::int64_t>(numbers, image));
    case Type::u64:
      return count_number(value_of<std::uint64_t>(numbers, image));
    case Type::f32:
      return real_number(value_of<float>(numbers, image));
    case Type::f64:
      break;
  }
  return real_number(value_of<double>(numbers, image));
}

/// Returns false when it does not fit the column.
__device__ bool put(const Number& number, Column::Type type, Scalar& scalar) {
  if (type == Column::Type::f64) {
    scalar = Scalar::of_real(number.as_real);
    return true;
  }
  if (number.real) return false;
  if (type == Column::Type::i64) {
    scalar = Scalar::of_integer(number.as_integer);
    return !number.fits || number.as_count >> 63U == 0;
  }
  scalar = Scalar::of_count(number.as_count);
  return number.fits && (type == Column::Type::u64 || number.as_count >> 32U == 0);
}

__device__ void fail(const DeviceStack& stack, std::uint32_t image) {
  stack.findings[image].failed = stack.step + 1;
  stack.work[image] = 0;
}

__global__ void settle(const DeviceStack stack, const NumbersOfStack numbers) {
  for (std::uint32_t image = threadIdx.x; image < stack.count; image += kThreads) {
    if (stack.work[image] == 0) continue;
    bool good = true;
    for (std::uint32_t c = 0; c < numbers.count; ++c) {
      Scalar& scalar = stack.scalars[image * stack.scalars_stride + c];
      good = put(number_of(numbers.columns[c], image), numbers.types[c], scalar) && good;
    }
    std::uint64_t verdict = 0;
    if (good && numbers.verdicts.data != nullptr) {
      const Number number = number_of(numbers.verdicts, image);
      verdict = number.as_count;
      good = !number.real && number.fits && verdict <= numbers.reasons;
    }
    if (!good) {
      fail(stack, image);
    } else if (verdict != 0) {
      stack.findings[image].verdict = static_cast<std::uint8_t>(verdict);
      stack.findings[image].step = stack.step;
      stack.work[image] = 0;
    }
  }
}

__global__ void fail_all(const DeviceStack stack) {
  for (std::uint32_t image = threadIdx.x; image < stack.count; image += kThreads) {
    if (stack.work[image] != 0) fail(stack, image);
  }
}

}  // namespace

int settle_numbers(const cuda::DeviceStack& stack, const NumbersOfStack& numbers, CUstream_st* stream) noexcept {
  settle<<<1, kThreads, 0, stream>>>(stack, numbers);
  return cudaGetLastError();
}

int fail_stack(const cuda::DeviceStack& stack, CUstream_st* stream) noexcept {
  fail_all<<<1, kThreads, 0, stream>>>(stack);
  return cudaGetLastError();
}

}  // namespace rashpa::kernel::outside
