// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <infiniband/verbs.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "rashpa/link/verbs/options.hpp"
#include "rashpa/memory/address_translation.hpp"

namespace rashpa::link::verbs {

class Device;

/// A way to make one block usable by an RNIC.
enum class Way : std::uint8_t {
  iova_zero,    ///< host memory whose byte 0 is address 0, so that telegrams have plain offsets
  plain,        ///< host memory whose byte 0 has its virtual address, which the placement includes
  dma_buf,      ///< accelerator memory through its exported file
  peer_memory,  ///< accelerator memory by its address, with the vendor's kernel module
};

std::string_view name_of(Way way) noexcept;

/// The registrations that a library and a device support.
struct Ability {
  bool iova = true;     ///< registration at a chosen address
  bool dma_buf = true;  ///< registration of exported files
};

/// Returns the ways to try for `block`, best first. For sources `plain` suffices, because their own RNIC reads them at
/// local addresses. So does memory that is paged on demand: rxe of Linux 6.15 takes the address of a peer for the
/// virtual one, and would reach beyond its tables for another.
std::vector<Way> ways_of(const memory::DmaBlock& block, memory::DmaAccess access, const Ability& ability,
                         Paging paging = Paging::pinned);

/// One registered block. It keeps its device open; the destructor deregisters it.
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
  /// Returns the number of the choice that was registered.
  [[nodiscard]] std::size_t choice() const noexcept { return choice_; }
  [[nodiscard]] bool contains(const std::byte* data, std::size_t size) const noexcept {
    return data >= block_.data && data + size <= block_.data + block_.bytes;
  }
  /// Returns the device's address of the byte at `data`.
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

/// Tries all ways for all choices in order. Memory of an accelerator is never paged on demand. Throws ResourceError
/// with all failed attempts.
std::unique_ptr<Registration> register_first(const std::shared_ptr<Device>& device,
                                             std::span<const memory::DmaBlock> choices, memory::DmaAccess access,
                                             Paging paging);

}  // namespace rashpa::link::verbs
