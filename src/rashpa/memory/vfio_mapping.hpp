// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A PCI device owned by this process through vfio-pci: memory mapped for it through the IOMMU (VFIO type 1), its
/// registers, its bus mastering. No kernel module of ours, and no physically contiguous memory: only the device's view
/// is contiguous.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "rashpa/core/system/file_descriptor.hpp"
#include "rashpa/memory/address_translation.hpp"

namespace rashpa::memory {

/// One PCI function bound to vfio-pci. Set-up thread only, but for the registers, which any one thread may use.
class VfioDevice final : public AddressTranslation {
 public:
  /// `address`: "0000:00:04.0". Throws ResourceError that says what is missing (IOMMU, driver, group) and what to try.
  explicit VfioDevice(const std::string& address);
  ~VfioDevice() override;
  VfioDevice(const VfioDevice&) = delete;
  VfioDevice& operator=(const VfioDevice&) = delete;

  /// Maps the block to one contiguous range of device addresses, aligned to 2 MiB; pages are pinned until the mapping
  /// goes. The block must begin on a page; the last page is mapped whole. All mappings must go before the device.
  [[nodiscard]] std::unique_ptr<DeviceMapping> map(const DmaBlock& block, DmaAccess access) override;

  /// The registers of base address register `index`, mapped into this process; valid as long as the device.
  /// Throws ResourceError when the device has none or it cannot be mapped.
  [[nodiscard]] std::span<volatile std::byte> registers(unsigned index);
  /// Lets the device start transfers of its own (bit 2 of its command register).
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
