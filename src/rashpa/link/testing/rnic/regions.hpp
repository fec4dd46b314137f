// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The registered memory of the stand-in: its keys and bounds, and writes that nobody sees yet.
#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "rashpa/link/testing/rnic/stand_in.hpp"

namespace rashpa::link::testing::rnic {

/// A registration. Callers of verbs have its first base.
struct Region : ibv_mr {
  std::uint64_t iova = 0;
  unsigned access = 0;
  bool accelerator = false;       // written bytes are visible after a flush
  std::byte* memory = nullptr;    // byte 0, or null where only `file` reaches it
  std::uint64_t file_offset = 0;  // of byte 0
  void* mapping = nullptr;        // of the exported file
  std::size_t mapped = 0;
};

/// All registrations of the device. The caller holds the device's lock.
class Regions {
 public:
  enum class Find : std::uint8_t { found, wrong_key, out_of_bounds, no_right };

  /// Returns null with errno set, as the kernel refuses.
  Region* add(ibv_pd* domain, std::byte* data, std::size_t bytes, std::uint64_t iova, unsigned access);
  Region* add_file(ibv_pd* domain, std::uint64_t offset, std::size_t bytes, std::uint64_t iova, int file,
                   unsigned access);
  /// Ends a registration, after all written bytes have reached its memory.
  void remove(Region* region);
  /// Finds the registration of a remote access, which needs the `right` (IBV_ACCESS_REMOTE_…).
  Find find(const ibv_pd* domain, std::uint32_t rkey, std::uint64_t address, std::uint64_t bytes, unsigned right,
            Region*& out) const;
  /// Returns the local memory of a request; null when `lkey` does not allow it.
  [[nodiscard]] const std::byte* local(const ibv_pd* domain, const ibv_sge& piece) const;
  /// Returns the registration of local memory that the device itself fills; null when `lkey` does not allow it.
  [[nodiscard]] Region* local_writable(const ibv_pd* domain, const ibv_sge& piece) const;
  void write(Region& region, std::uint64_t address, std::span<const std::byte> bytes);
  void flush();
  [[nodiscard]] std::size_t unseen_bytes() const noexcept;

  Abilities abilities;
  std::vector<std::span<std::byte>> accelerators;
  WriteFile writer;

 private:
  struct Unseen {
    Region* region;
    std::uint64_t offset;
    std::vector<std::byte> bytes;
  };
  void put(const Unseen& unseen) const;
  Region* keep(std::unique_ptr<Region> region);

  std::map<std::uint32_t, std::unique_ptr<Region>> by_key_;  // of remote accesses
  std::deque<Unseen> unseen_;
  std::uint32_t last_key_ = 0x1000;
};

}  // namespace rashpa::link::testing::rnic
