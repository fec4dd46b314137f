// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Steps of no real kernel, for tests of this folder's parts.
#include <cstdint>
#include <string>

#include "rashpa/kernel/contract/device_pass.hpp"
#include "rashpa/unit/steps_testing.hpp"

namespace rashpa::unit::cuda::testing {

using unit::testing::small_layout;
using unit::testing::two_steps;

/// A pass that does nothing.
class IdlePass : public kernel::cuda::DevicePass {
 public:
  int enqueue(const kernel::cuda::DeviceStack& /*stack*/, std::uint32_t /*bench*/,
              CUstream_st* /*stream*/) const noexcept override {
    return 0;
  }
  [[nodiscard]] std::string failure() const override { return "it failed"; }
  [[nodiscard]] std::string words() const override { return "idle"; }
  [[nodiscard]] std::string notice() const override { return says; }
  [[nodiscard]] bool in_turn() const override { return turns; }
  std::string says;
  bool turns = false;
};

}  // namespace rashpa::unit::cuda::testing
