// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "rashpa/link/shim/ibverbs.hpp"
#include "rashpa/link/verbs/memory_registration.hpp"
#include "rashpa/link/verbs/options.hpp"
#include "rashpa/memory/address_translation.hpp"

namespace rashpa::link::verbs {

/// Returns an IP address in the form of an RNIC: IPv4 is in the last four bytes behind ::ffff. Throws ConfigError.
std::array<std::uint8_t, 16> gid_of(const std::string& address);

/// One open port of an RNIC with a protection domain. All objects on it share it, and the last one closes it.
class Device final : public memory::AddressTranslation, public std::enable_shared_from_this<Device> {
 public:
  /// Opens the device of that name (empty: any) that has a RoCE v2 GID with this IP address. Throws ResourceError with
  /// the devices found and a remedy.
  static std::shared_ptr<Device> open(const std::string& name, const std::string& address);
  ~Device() override;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  /// Registers the first of `choices` that the device accepts, trying all ways for each (memory_registration.hpp).
  [[nodiscard]] std::unique_ptr<Registration> register_first(std::span<const memory::DmaBlock> choices,
                                                             memory::DmaAccess access, Paging paging = Paging::pinned);
  /// Throws ResourceError when the device cannot do all `operations` (IBV_ODP_SUPPORT_…) of RC with memory that is
  /// paged on demand.
  void check_paging(std::uint32_t operations) const;
  [[nodiscard]] std::unique_ptr<memory::DeviceMapping> map(const memory::DmaBlock& block,
                                                           memory::DmaAccess access) override;

  [[nodiscard]] const shim::Ibverbs& calls() const noexcept { return calls_; }
  [[nodiscard]] ibv_context* context() const noexcept { return context_; }
  [[nodiscard]] ibv_pd* domain() const noexcept { return domain_; }
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] const std::string& address() const noexcept { return address_; }
  [[nodiscard]] std::uint8_t port() const noexcept { return port_; }
  [[nodiscard]] std::uint8_t gid_index() const noexcept { return gid_index_; }
  /// Returns the largest payload of a packet that the port sends, 256 … 4096 bytes.
  [[nodiscard]] std::uint32_t mtu() const noexcept { return mtu_; }
  [[nodiscard]] std::uint32_t largest_message() const noexcept { return largest_message_; }
  [[nodiscard]] std::uint32_t most_work_requests() const noexcept { return most_work_requests_; }
  /// Returns the most RDMA READs of a queue pair that can be in flight in either direction.
  [[nodiscard]] std::uint32_t most_reads() const noexcept { return most_reads_; }

 private:
  explicit Device(const shim::Ibverbs& calls) : calls_(calls) {}
  bool find_gid(const std::array<std::uint8_t, 16>& gid, std::string& seen);
  void read_port();

  const shim::Ibverbs& calls_;
  ibv_context* context_ = nullptr;
  ibv_pd* domain_ = nullptr;
  std::string name_;
  std::string address_;
  std::uint8_t port_ = 1;
  std::uint8_t gid_index_ = 0;
  std::uint32_t mtu_ = 0;
  std::uint32_t largest_message_ = 0;
  std::uint32_t most_work_requests_ = 0;
  std::uint32_t most_reads_ = 0;
};

}  // namespace rashpa::link::verbs
