// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Makes memory usable by a DMA engine. Three ways, one interface: registration with an RNIC (link/verbs), dma-buf
/// for memory of an accelerator (also link/verbs, which imports it), IOMMU mapping for memory-mapped devices
/// (vfio_mapping.hpp).
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace rashpa::memory {

/// A block of memory that a device shall reach. Its owner keeps it alive longer than any DeviceMapping of it.
struct DmaBlock {
  std::byte* data = nullptr;  ///< as the processor, or the accelerator's runtime, sees it
  std::size_t bytes = 0;
  bool accelerator = false;         ///< the bytes live in an accelerator; `data` is an address of its runtime
  int dmabuf = -1;                  ///< exported file of that memory, −1: none
  std::uint64_t dmabuf_offset = 0;  ///< of `data` in the exported file
  /// The handle by which another process of this machine opens it, from the accelerator's runtime (CUDA:
  /// cudaIpcMemHandle_t).
  std::array<std::byte, 64> handle{};
};

/// The accesses to the block.
enum class DmaAccess : std::uint8_t {
  read,   ///< the device only reads: a source
  write,  ///< the device writes: a destination, also for others over the network
};

/// One block made usable; undone at destruction, before the block and the device go.
class DeviceMapping {
 public:
  virtual ~DeviceMapping() = default;
  /// The address of byte 0 for the device, or for a peer over the network.
  [[nodiscard]] virtual std::uint64_t device_address() const noexcept = 0;
  [[nodiscard]] virtual std::size_t bytes() const noexcept = 0;
  /// Returns which way was used, and which were tried before, in words: for the log and the report.
  [[nodiscard]] virtual const std::string& how() const noexcept = 0;
};

/// One device's way to memory. Set-up thread only.
class AddressTranslation {
 public:
  virtual ~AddressTranslation() = default;
  /// Throws ConfigError when the block cannot be mapped as it lies, ResourceError when device or machine refuse.
  [[nodiscard]] virtual std::unique_ptr<DeviceMapping> map(const DmaBlock& block, DmaAccess access) = 0;
};

}  // namespace rashpa::memory
