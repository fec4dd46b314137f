// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "rashpa/kernel/contract/step.hpp"
#include "rashpa/kernel/rings/pixel_geometry.hpp"

namespace rashpa::kernel::sigma_clip {

/// A kernel made from its parameters and the geometry that they name: its folder has `step_of(const Config&)`. The
/// arguments of its constructor outlive it.
template <class Settings>
class GeometryKernel final : public Kernel {
 public:
  /// Registers the parts. `owner` is the prefix of messages, such as "kernel sparsify".
  GeometryKernel(const Declaration& declaration, const Parameters<Settings>& parameters, const char* owner)
      : declaration_(declaration), parameters_(parameters), owner_(owner) {}
  [[nodiscard]] const Declaration& declaration() const noexcept override { return declaration_; }
  [[nodiscard]] std::shared_ptr<const Step> make(const NamedValues& values, const Given& given) const override {
    Settings settings = parameters_.read(values);
    settings.geometry_read = geometry_of(given, owner_, settings.poni, settings.geometry);
    return step_of(settings);
  }

 private:
  const Declaration& declaration_;
  const Parameters<Settings>& parameters_;
  const char* owner_;
};

}  // namespace rashpa::kernel::sigma_clip
