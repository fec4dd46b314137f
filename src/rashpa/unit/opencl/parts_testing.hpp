// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The first OpenCL device of the machine, and steps of no real kernel, for tests of this folder's parts.
#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "rashpa/kernel/contract/opencl_pass.hpp"
#include "rashpa/memory/opencl/device.hpp"
#include "rashpa/unit/opencl/opencl_unit.hpp"
#include "rashpa/unit/steps_testing.hpp"

namespace rashpa::unit::opencl::testing {

/// A test that is skipped, with the reason, on a machine without OpenCL.
class OnDevice : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const Available found = available(); !found.usable) GTEST_SKIP() << found.what;
    device.emplace(memory::opencl::devices()[0]);
    queue = device->queue();
  }
  /// Waits until all enqueued work is done.
  void finish() { memory::opencl::check(memory::opencl::api().finish(queue.get()), "test"); }
  /// Returns the first `count` values of device memory.
  template <typename T>
  std::vector<T> read(cl_mem memory, std::size_t count) {
    std::vector<T> values(count);
    memory::opencl::check(memory::opencl::api().read_buffer(queue.get(), memory, CL_TRUE, 0, count * sizeof(T),
                                                            values.data(), 0, nullptr, nullptr),
                          "test");
    return values;
  }

  std::optional<memory::opencl::Device> device;
  memory::opencl::Queue queue;
};

using unit::testing::small_layout;
using unit::testing::two_steps;

/// A pass that records its calls and does nothing.
class RecordingPass : public kernel::opencl::DevicePass {
 public:
  explicit RecordingPass(Where where) : where_(where) {}
  [[nodiscard]] Where where() const noexcept override { return where_; }
  cl_int enqueue(const kernel::opencl::DeviceStack& /*stack*/, std::uint32_t /*bench*/,
                 cl_command_queue /*queue*/) const noexcept override {
    ++enqueued;
    return CL_SUCCESS;
  }
  cl_int fetch(const kernel::opencl::DeviceStack& /*stack*/, std::uint32_t /*bench*/,
               cl_command_queue /*queue*/) const noexcept override {
    ++fetched;
    return CL_SUCCESS;
  }
  [[nodiscard]] std::string failure() const override { return "it failed"; }
  [[nodiscard]] std::string notice() const override { return says; }
  mutable int enqueued = 0, fetched = 0;
  std::string says;

 private:
  Where where_;
};

}  // namespace rashpa::unit::opencl::testing
