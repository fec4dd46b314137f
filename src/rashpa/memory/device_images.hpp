// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Images of RASHPA buffers that lie in memory of a device, where the processor sees none of their bytes
/// (link/pcie/cuda/cuda_images.hpp is a GPU's; tests have host memory in its place).
#include <cstdint>
#include <string>

#include "rashpa/core/image/pixel_type.hpp"
#include "rashpa/memory/address_translation.hpp"

namespace rashpa::memory {

/// Lines of an image that did not arrive.
struct LostPart {
  std::uint64_t first = 0;  ///< offset of the first one in the memory
  std::uint64_t pitch = 0;  ///< bytes from one to the next
  std::uint32_t line_bytes = 0;
  std::uint32_t lines = 0;
  PixelType type = PixelType::u16;
};

/// Taken at set-up, given back by its destructor; links and units that use it go before.
class DeviceImages {
 public:
  virtual ~DeviceImages() = default;
  [[nodiscard]] virtual const DmaBlock& block() const noexcept = 0;
  /// Returns where it is, in words: for the log and the report.
  [[nodiscard]] virtual const std::string& how() const noexcept = 0;
  /// Begins to write the type's lost value (core/image/lost_value.hpp) over these lines. One thread at a time, as
  /// settle().
  virtual void fill(const LostPart& part) noexcept = 0;
  /// Waits until all that was begun is there for whatever the device is told from now on. A device that has failed
  /// does nothing; the unit that works there finds that out.
  virtual void settle() noexcept = 0;
  /// Returns true while these lines have the lost value. It waits for the device, and may allocate; false when the
  /// device has failed. Any thread.
  [[nodiscard]] virtual bool holds_lost(const LostPart& part) noexcept = 0;
};

}  // namespace rashpa::memory
