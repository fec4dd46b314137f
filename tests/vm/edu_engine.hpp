// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The DMA engine of QEMU's teaching device "edu" (vendor 1234, device 11e8), driven through vfio-pci: it copies
/// between its own 4 KiB of memory and device addresses that the IOMMU translates. Each transfer takes the device 100
/// ms.
#include <cstdint>
#include <mutex>
#include <span>
#include <string>

#include "rashpa/memory/vfio_mapping.hpp"

namespace rashpa::vm {

class EduEngine {
 public:
  /// The largest transfer; QEMU 7.2 refuses the whole 4096 bytes of device memory.
  static constexpr std::uint32_t kLargest = 4092;

  /// `address`: "0000:00:04.0". Throws ResourceError when it is not an edu device.
  explicit EduEngine(const std::string& address);

  [[nodiscard]] memory::VfioDevice& device() noexcept { return device_; }
  /// Copies `bytes` from a device address into device memory at 0, then pieces of it out again. One at a time, any
  /// thread while it holds lock(). Throws ResourceError when the device does not finish within ten seconds.
  void load(std::uint64_t from, std::uint32_t bytes);
  void store(std::uint32_t at, std::uint64_t to, std::uint32_t bytes);
  [[nodiscard]] std::unique_lock<std::mutex> lock() { return std::unique_lock(mutex_); }
  /// Transfers so far; with lock() held.
  [[nodiscard]] std::uint64_t transfers() const noexcept { return transfers_; }

 private:
  void transfer(std::uint64_t source, std::uint64_t destination, std::uint32_t bytes, std::uint32_t command);

  memory::VfioDevice device_;
  std::span<volatile std::byte> registers_;
  std::mutex mutex_;
  std::uint64_t transfers_ = 0;
};

}  // namespace rashpa::vm
