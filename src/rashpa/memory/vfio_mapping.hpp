// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A PCI device that this process owns through vfio-pci: memory mapped for it through the IOMMU (VFIO type 1), its
/// registers, its bus mastering. It needs no kernel module of ours and no physically contiguous memory: only the
/// device's addresses are contiguous.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "rashpa/core/system/file_descriptor.hpp"
#include "rashpa/memory/address_translation.hpp"

namespace rashpa::memory {

/// One PCI function bound to vfio-pci. Set-up thread only, except for the registers, which any one thread may use.
class VfioDevice final : public AddressTranslation {
 public:
  /// Opens the device at `address`, such as "0000:00:04.0". Throws ResourceError with the missing part (IOMMU, driver,
  /// group) and a remedy.
  explicit VfioDevice(const std::string& address);
  ~VfioDevice() override;
  VfioDevice(const VfioDevice&) = delete;
  VfioDevice& operator=(const VfioDevice&) = delete;

  /// Maps the block to one contiguous range of device addresses, aligned to 2 MiB; pages are pinned while the mapping
  /// lives. The block must begin on a page; the last page is mapped whole. All mappings must be destroyed before the
  /// device.
  [[nodiscard]] std::unique_ptr<DeviceMapping> map(const DmaBlock& block, DmaAccess access) override;

  /// Returns the registers of base address register `index`, mapped into this process and valid as long as the device.
  /// Throws ResourceError when the device lacks it or it cannot be mapped.
  [[nodiscard]] std::span<volatile std::byte> registers(unsigned index);
  /// Lets the device start transfers (bit 2 of its command register).
  void enable_bus_mastering();

 private:
  class Mapping;

  std::string address_;
  std::uint64_t next_ = 0x1000000;  // 16 MiB: clear of the ranges below 1 MiB on a PC
  FileDescriptor container_;
  FileDescriptor group_;
  FileDescriptor device_;
  struct Registers {
    void* data = nullptr;
    std::size_t bytes = 0;
  };
  Registers registers_[6];
};

}  // namespace rashpa::memory
