// SPDX-License-Identifier: Apache-2.0
#pragma once
/// One interface to make memory usable by a DMA engine in three ways. These are registration with an RNIC (link/verbs),
/// dma-buf for accelerator memory (also imported by link/verbs), and IOMMU mapping for memory-mapped devices
/// (vfio_mapping.hpp).
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace rashpa::memory {

/// A block of memory that a device must reach. Its owner keeps it alive longer than any DeviceMapping of it.
struct DmaBlock {
  std::byte* data = nullptr;  ///< address for the processor, or for the accelerator's runtime
  std::size_t bytes = 0;
  bool accelerator = false;         ///< true: the bytes lie in an accelerator, and `data` is an address of its runtime
  int dmabuf = -1;                  ///< exported file of that memory; −1: none
  std::uint64_t dmabuf_offset = 0;  ///< offset of `data` in the exported file
  /// The handle, from the accelerator's runtime, by which another process of this machine opens the memory (CUDA:
  /// cudaIpcMemHandle_t).
  std::array<std::byte, 64> handle{};
};

/// The accesses of a device to the block.
enum class DmaAccess : std::uint8_t {
  read,       ///< the device only reads, as for a source
  write,      ///< the device writes, as for a destination, also on behalf of remote peers
  peer_read,  ///< the device only reads, also on behalf of remote peers
};

/// A block that was made usable for a device. The destructor undoes that; it runs before those of the block and the
/// device.
class DeviceMapping {
 public:
  virtual ~DeviceMapping() = default;
  /// Returns the address of byte 0 for the device, or for a peer over the network.
  [[nodiscard]] virtual std::uint64_t device_address() const noexcept = 0;
  [[nodiscard]] virtual std::size_t bytes() const noexcept = 0;
  /// Returns the way that was used, and those tried before, as text for the log and the report.
  [[nodiscard]] virtual const std::string& how() const noexcept = 0;
};

/// The access of one device to memory. Set-up thread only.
class AddressTranslation {
 public:
  virtual ~AddressTranslation() = default;
  /// Maps the block. Throws ConfigError when its place or alignment does not allow that, ResourceError when the device
  /// or the machine refuses.
  [[nodiscard]] virtual std::unique_ptr<DeviceMapping> map(const DmaBlock& block, DmaAccess access) = 0;
};

}  // namespace rashpa::memory
