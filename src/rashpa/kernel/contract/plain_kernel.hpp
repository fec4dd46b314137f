// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "rashpa/kernel/contract/step.hpp"

namespace rashpa::kernel {

/// A kernel made from its parameters alone: its folder has `step_of(const Config&)`. Both references outlive it.
template <class Config>
class PlainKernel final : public Kernel {
 public:
  PlainKernel(const Declaration& declaration, const Parameters<Config>& parameters)
      : declaration_(declaration), parameters_(parameters) {}
  [[nodiscard]] const Declaration& declaration() const noexcept override { return declaration_; }
  [[nodiscard]] std::shared_ptr<const Step> make(const NamedValues& values, const Given& /*given*/) const override {
    return step_of(parameters_.read(values));
  }

 private:
  const Declaration& declaration_;
  const Parameters<Config>& parameters_;
};

}  // namespace rashpa::kernel
