// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Images of RASHPA buffers in memory of a device, where the processor cannot read them (link/pcie/cuda/cuda_images.hpp
/// is a GPU's; tests use host memory).
#include <cstdint>
#include <string>

#include "rashpa/core/image/pixel_type.hpp"
#include "rashpa/memory/address_translation.hpp"

namespace rashpa::memory {

/// Lines of an image that did not arrive.
struct LostPart {
  std::uint64_t first = 0;  ///< offset of the first line in the memory
  std::uint64_t pitch = 0;  ///< bytes from one line to the next
  std::uint32_t line_bytes = 0;
  std::uint32_t lines = 0;
  PixelType type = PixelType::u16;
};

/// The memory of images on a device, taken at set-up and freed by the destructor. Links and units that use it are
/// destroyed before.
class DeviceImages {
 public:
  virtual ~DeviceImages() = default;
  [[nodiscard]] virtual const DmaBlock& block() const noexcept = 0;
  /// Returns where the memory is, as text for the log and the report.
  [[nodiscard]] virtual const std::string& how() const noexcept = 0;
  /// Makes all writes of other devices that the host knows of visible to later work of this device. Called once for
  /// each stack, before the unit gets it, by the thread that calls fill(). A device that orders such writes by itself
  /// does nothing here.
  virtual void order_writes() noexcept = 0;
  /// Returns true where a program that already runs on the device sees lines before a word that the same device wrote
  /// behind them, without order_writes(). Constant.
  [[nodiscard]] virtual bool shows_words() const noexcept = 0;
  /// Begins to fill these lines with the type's lost value (core/image/lost_value.hpp). One thread at a time calls it
  /// and settle().
  virtual void fill(const LostPart& part) noexcept = 0;
  /// Orders all begun fills before any later work of the device. A failed device does nothing, which the unit on it
  /// detects.
  virtual void settle() noexcept = 0;
  /// Returns true while these lines have the lost value; false also when the device has failed. It waits for the
  /// device, and may allocate. Any thread.
  [[nodiscard]] virtual bool holds_lost(const LostPart& part) noexcept = 0;
};

}  // namespace rashpa::memory
