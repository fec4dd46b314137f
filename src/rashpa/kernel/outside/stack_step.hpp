// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Steps of code from outside the program that work on whole stacks where they lie, in the memory of a CUDA device.
/// Python functions are made from it.
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

/// The findings in the images of a stack.
struct StackFindings {
  std::vector<DeviceNumbers> columns{};  ///< in the order of the declaration
  DeviceNumbers verdicts{};              ///< whole numbers, 0: kept; n: its n-th reason. No data: all are kept
};

/// Code that was not compiled with the program. Called by the thread that submits stacks, for one after the other; a
/// call has no bound in time.
class StackFunction {
 public:
  virtual ~StackFunction() = default;
  /// Puts its work on all images into the stream, unwanted ones included. The arrays of `found` stay as they are until
  /// the function is called for the same bench again. False: it failed, and `why` says why.
  virtual bool look(const cuda::DeviceStack& stack, std::uint32_t bench, CUstream_st* stream, StackFindings& found,
                    std::string& why) noexcept = 0;
};

/// Throws ConfigError when shape or pixels do not suit it, ResourceError.
using MakeStackFunction = std::function<std::unique_ptr<StackFunction>(const Setup& setup)>;

/// A step for unit cuda, started by launches. Values that do not fit an integer column, and verdicts that are none of
/// its reasons, make an image errored. Throws as check_outside(), and when it makes tables or profiles.
std::shared_ptr<const Step> stack_step(Declaration declaration, MakeStackFunction make);

}  // namespace rashpa::kernel::outside
