// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <infiniband/verbs.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "rashpa/memory/address_translation.hpp"

namespace rashpa::link::verbs {

class Device;

/// A way to make one block usable by an RNIC.
enum class Way : std::uint8_t {
  iova_zero,    ///< host memory, byte 0 is address 0: telegrams carry plain offsets
  plain,        ///< host memory, byte 0 is its virtual address, which goes into the placement
  dma_buf,      ///< memory of an accelerator through its exported file
  peer_memory,  ///< memory of an accelerator by its address, with the vendor's kernel module
};

std::string_view name_of(Way way) noexcept;

/// The abilities of a library and a device.
struct Ability {
  bool iova = true;     ///< registration at a chosen address
  bool dma_buf = true;  ///< registration of exported files
};

/// The ways to try for `block`, best first. Sources are read by their own RNIC with local addresses: plain is enough.
std::vector<Way> ways_of(const memory::DmaBlock& block, memory::DmaAccess access, const Ability& ability);

/// One registered block. Keeps its device open; deregisters at destruction.
class Registration final : public memory::DeviceMapping {
 public:
  Registration(std::shared_ptr<Device> device, ibv_mr* region, const memory::DmaBlock& block, std::size_t choice,
               std::uint64_t device_address, std::string how);
  ~Registration() override;
  Registration(const Registration&) = delete;
  Registration& operator=(const Registration&) = delete;

  [[nodiscard]] std::uint64_t device_address() const noexcept override { return device_address_; }
  [[nodiscard]] std::size_t bytes() const noexcept override { return block_.bytes; }
  [[nodiscard]] const std::string& how() const noexcept override { return how_; }
  [[nodiscard]] std::uint32_t lkey() const noexcept { return region_->lkey; }
  [[nodiscard]] std::uint32_t rkey() const noexcept { return region_->rkey; }
  [[nodiscard]] const memory::DmaBlock& block() const noexcept { return block_; }
  /// Returns which of the choices was taken.
  [[nodiscard]] std::size_t choice() const noexcept { return choice_; }
  [[nodiscard]] bool contains(const std::byte* data, std::size_t size) const noexcept {
    return data >= block_.data && data + size <= block_.data + block_.bytes;
  }
  /// The device's address of the byte at `data`.
  [[nodiscard]] std::uint64_t address_of(const std::byte* data) const noexcept {
    return device_address_ + static_cast<std::uint64_t>(data - block_.data);
  }

 private:
  std::shared_ptr<Device> device_;
  ibv_mr* region_;
  memory::DmaBlock block_;
  std::size_t choice_;
  std::uint64_t device_address_;
  std::string how_;
};

/// Tries every way for every choice in order. Throws ResourceError that lists all that failed.
std::unique_ptr<Registration> register_first(const std::shared_ptr<Device>& device,
                                             std::span<const memory::DmaBlock> choices, memory::DmaAccess access);

}  // namespace rashpa::link::verbs
