// SPDX-License-Identifier: Apache-2.0
#include "rashpa/memory/vfio_mapping.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/vfio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <climits>

#include "rashpa/core/error.hpp"
#include "rashpa/core/system/page.hpp"

namespace rashpa::memory {

namespace {

constexpr off_t kCommandRegister = 4;  // of the PCI configuration space
constexpr std::uint16_t kBusMaster = 1U << 2;

[[noreturn]] void fail(const std::string& address, const std::string& what, int code, const std::string& advice) {
  throw ResourceError(fmt::format("vfio: {}: {}: {}; {}", address, what, errno_text(code), advice));
}

// The device's IOMMU group: the last part of the link that sysfs keeps.
std::string group_of(const std::string& address) {
  const std::string link = "/sys/bus/pci/devices/" + address + "/iommu_group";
  char target[PATH_MAX];
  const ssize_t size = readlink(link.c_str(), target, sizeof target);
  if (size < 0) {
    fail(address, "no IOMMU group", errno,
         "check the address, and switch the IOMMU on (kernel argument intel_iommu=on or amd_iommu=on)");
  }
  const std::string text(target, static_cast<std::size_t>(size));
  return text.substr(text.rfind('/') + 1);
}

}  // namespace

/// One range of device addresses. Holds the container only by number: the device outlives its mappings.
class VfioDevice::Mapping final : public DeviceMapping {
 public:
  Mapping(int container, const DmaBlock& block, DmaAccess access, std::uint64_t device_address, std::string how)
      : container_(container), device_address_(device_address), bytes_(block.bytes), how_(std::move(how)) {
    mapped_ = (block.bytes + kPage - 1) / kPage * kPage;
    vfio_iommu_type1_dma_map request{};
    request.argsz = sizeof request;
    request.flags = VFIO_DMA_MAP_FLAG_READ | (access == DmaAccess::write ? VFIO_DMA_MAP_FLAG_WRITE : 0U);
    request.vaddr = reinterpret_cast<std::uint64_t>(block.data);
    request.iova = device_address;
    request.size = mapped_;
    if (ioctl(container_, VFIO_IOMMU_MAP_DMA, &request) != 0) {
      throw ResourceError(fmt::format(
          "vfio: cannot map {} bytes at device address {:#x}: {}; raise the limit of locked memory (ulimit -l)",
          mapped_, device_address, errno_text(errno)));
    }
  }
  ~Mapping() override {
    vfio_iommu_type1_dma_unmap request{};
    request.argsz = sizeof request;
    request.iova = device_address_;
    request.size = mapped_;
    ioctl(container_, VFIO_IOMMU_UNMAP_DMA, &request);
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  [[nodiscard]] std::uint64_t device_address() const noexcept override { return device_address_; }
  [[nodiscard]] std::size_t bytes() const noexcept override { return bytes_; }
  [[nodiscard]] const std::string& how() const noexcept override { return how_; }

 private:
  int container_;
  std::uint64_t device_address_;
  std::uint64_t mapped_ = 0;
  std::size_t bytes_;
  std::string how_;
};

VfioDevice::VfioDevice(const std::string& address) : address_(address) {
  const std::string group = group_of(address);
  container_ = FileDescriptor(open("/dev/vfio/vfio", O_RDWR | O_CLOEXEC));
  if (container_.get() < 0) fail(address, "/dev/vfio/vfio", errno, "load the modules vfio and vfio_pci");
  if (ioctl(container_.get(), VFIO_GET_API_VERSION) != VFIO_API_VERSION ||
      ioctl(container_.get(), VFIO_CHECK_EXTENSION, VFIO_TYPE1_IOMMU) != 1) {
    throw ResourceError("vfio: this kernel has no type 1 IOMMU interface; load the module vfio_iommu_type1");
  }
  group_ = FileDescriptor(open(("/dev/vfio/" + group).c_str(), O_RDWR | O_CLOEXEC));
  if (group_.get() < 0) {
    fail(address, "/dev/vfio/" + group, errno, "bind the device to vfio-pci (driver_override) and check permissions");
  }
  vfio_group_status status{};
  status.argsz = sizeof status;
  if (ioctl(group_.get(), VFIO_GROUP_GET_STATUS, &status) != 0 || (status.flags & VFIO_GROUP_FLAGS_VIABLE) == 0) {
    throw ResourceError(fmt::format(
        "vfio: {}: IOMMU group {} is not viable; bind every device of the group to vfio-pci", address, group));
  }
  int container = container_.get();
  if (ioctl(group_.get(), VFIO_GROUP_SET_CONTAINER, &container) != 0) {
    fail(address, "group " + group, errno, "end other processes that use it");
  }
  if (ioctl(container, VFIO_SET_IOMMU, VFIO_TYPE1_IOMMU) != 0) {
    fail(address, "type 1 IOMMU", errno, "load the module vfio_iommu_type1");
  }
  device_ = FileDescriptor(ioctl(group_.get(), VFIO_GROUP_GET_DEVICE_FD, address.c_str()));
  if (device_.get() < 0) fail(address, "group " + group, errno, "bind the device to vfio-pci");
}

VfioDevice::~VfioDevice() {
  for (const Registers& bar : registers_) {
    if (bar.data != nullptr) munmap(bar.data, bar.bytes);
  }
}

std::unique_ptr<DeviceMapping> VfioDevice::map(const DmaBlock& block, DmaAccess access) {
  if (block.accelerator) {
    throw ConfigError(
        "vfio: memory of an accelerator cannot be mapped for a PCI device; use a pinned host buffer between");
  }
  if (block.data == nullptr || block.bytes == 0 || reinterpret_cast<std::uint64_t>(block.data) % kPage != 0) {
    throw ConfigError("vfio: a block must have bytes and begin on a page of 4096; take it from memory::Buffer");
  }
  const std::uint64_t at = next_;
  auto mapping =
      std::make_unique<Mapping>(container_.get(), block, access, at,
                                fmt::format("IOMMU type 1, {} bytes at device address {:#x}", block.bytes, at));
  next_ += (block.bytes + kHugePage - 1) / kHugePage * kHugePage;
  return mapping;
}

std::span<volatile std::byte> VfioDevice::registers(unsigned index) {
  if (index >= std::size(registers_)) {
    throw ConfigError(fmt::format("vfio: {}: no base address register {}; use 0 to 5", address_, index));
  }
  Registers& bar = registers_[index];
  if (bar.data == nullptr) {
    vfio_region_info info{};
    info.argsz = sizeof info;
    info.index = VFIO_PCI_BAR0_REGION_INDEX + index;
    if (ioctl(device_.get(), VFIO_DEVICE_GET_REGION_INFO, &info) != 0 || info.size == 0 ||
        (info.flags & VFIO_REGION_INFO_FLAG_MMAP) == 0) {
      throw ResourceError(fmt::format("vfio: {}: base address register {} cannot be mapped; use one that holds memory",
                                      address_, index));
    }
    void* data =
        mmap(nullptr, info.size, PROT_READ | PROT_WRITE, MAP_SHARED, device_.get(), static_cast<off_t>(info.offset));
    if (data == MAP_FAILED) fail(address_, fmt::format("base address register {}", index), errno, "check permissions");
    bar = {data, info.size};
  }
  return {static_cast<volatile std::byte*>(bar.data), bar.bytes};
}

void VfioDevice::enable_bus_mastering() {
  vfio_region_info info{};
  info.argsz = sizeof info;
  info.index = VFIO_PCI_CONFIG_REGION_INDEX;
  std::uint16_t command = 0;
  const bool known = ioctl(device_.get(), VFIO_DEVICE_GET_REGION_INFO, &info) == 0;
  const off_t at = static_cast<off_t>(info.offset) + kCommandRegister;
  if (!known || pread(device_.get(), &command, sizeof command, at) != sizeof command) {
    fail(address_, "configuration space", errno, "bind the device to vfio-pci");
  }
  command = static_cast<std::uint16_t>(command | kBusMaster | 2U);  // bit 1: it answers to its memory addresses
  if (pwrite(device_.get(), &command, sizeof command, at) != sizeof command) {
    fail(address_, "command register", errno, "bind the device to vfio-pci");
  }
}

}  // namespace rashpa::memory
