// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The common part of peak finders on OpenCL devices. The device computes rings and marks; the host makes peaks of the
/// marked pixels, image by image, with the function of unit cpu.
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "rashpa/kernel/peaks/peaks_pass.hpp"
#include "rashpa/kernel/rings/rings_opencl.hpp"

namespace rashpa::kernel::peaks {

/// A pass that calls `look(finder, seen, format, peaks)` to find peaks in the device's marks. `lookup.rings()`, or
/// `lookup` itself, has the rings.
template <typename Finder, typename Config, typename Lookup, typename Look>
class OpenclPass final : public opencl::MarkedRings {
 public:
  OpenclPass(const Declaration& declaration, const Config& config, const Setup& setup, Lookup lookup,
             const RingMethod& method, Look look, const memory::opencl::Device& device)
      : MarkedRings(declaration.name, rings(lookup), method, setup, device),
        format_(setup.in),
        lookup_(std::move(lookup)),
        look_(look),
        finder_(config, setup.shape, lookup_),
        peaks_(config.max_peaks),
        rows_(declaration, config.max_peaks, setup.places) {}
  OpenclPass(const OpenclPass&) = delete;
  OpenclPass& operator=(const OpenclPass&) = delete;

  void settle(const opencl::HostItem& item, Finding& finding) noexcept override {
    const Seen found = seen(item);
    const std::size_t count = look_(finder_, found, format_, peaks_);
    rows_.finish(rows_.keep(item.place, peaks_, count, empty_rings(rings(lookup_), found.limits)), finding);
  }
  [[nodiscard]] std::string failure() const override { return rows_.failure(); }

 private:
  static const Rings& rings(const Lookup& lookup) noexcept {
    if constexpr (std::is_same_v<Lookup, Rings>) {
      return lookup;
    } else {
      return lookup.rings();
    }
  }
  PixelFormat format_;
  Lookup lookup_;
  Look look_;
  Finder finder_;
  std::vector<Peak> peaks_;
  Rows rows_;
};

}  // namespace rashpa::kernel::peaks
