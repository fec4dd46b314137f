// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Steps by code from outside the program that process whole stacks in the memory of a CUDA device. Python functions
/// become steps in this way.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "rashpa/kernel/contract/device_pass.hpp"
#include "rashpa/kernel/contract/step.hpp"

namespace rashpa::kernel::outside {

/// An array on the device with a number for each image of a stack.
struct DeviceNumbers {
  enum class Type : std::uint8_t { i8, u8, i16, u16, i32, u32, i64, u64, f32, f64 };
  const std::byte* data = nullptr;
  std::ptrdiff_t stride = 0;  ///< bytes
  Type type = Type::f64;
};

/// The findings of a function in the images of a stack.
struct StackFindings {
  std::vector<DeviceNumbers> columns{};  ///< columns in the order of the declaration
  DeviceNumbers verdicts{};              ///< integers, 0: kept; n: its n-th reason; without data, all images are kept
};

/// A function that was not compiled with the program. The thread that submits stacks calls it for one stack after
/// another; a call may take any time.
class StackFunction {
 public:
  virtual ~StackFunction() = default;
  /// Enqueues its work on all images, unwanted ones included. The arrays of `found` stay valid until the next call for
  /// the same bench. Returns false when it failed, with the reason in `why`.
  virtual bool look(const cuda::DeviceStack& stack, std::uint32_t bench, CUstream_st* stream, StackFindings& found,
                    std::string& why) noexcept = 0;
};

/// Makes the function of a unit. Throws ConfigError when shape or pixels do not suit it, and ResourceError.
using MakeStackFunction = std::function<std::unique_ptr<StackFunction>(const Setup& setup)>;

/// Makes a step for unit cuda, run by launches. Values that do not fit an integer column, and undeclared verdicts, make
/// an image errored. Throws as check_outside(), and when the step makes tables or profiles.
std::shared_ptr<const Step> stack_step(Declaration declaration, MakeStackFunction make);

}  // namespace rashpa::kernel::outside
