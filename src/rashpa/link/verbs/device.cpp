// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/verbs/device.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "rashpa/core/error.hpp"

namespace rashpa::link::verbs {

namespace {

constexpr std::size_t kMostGids = 1024;
constexpr std::uint32_t kVendorOfRxe = 0xFFFFFF;  // RXE_VENDOR_ID

/// The devices of the machine; given back at the end of the search.
class DeviceList {
 public:
  explicit DeviceList(const shim::Ibverbs& calls) : calls_(calls), list_(calls.get_device_list(&count_)) {}
  ~DeviceList() {
    if (list_ != nullptr) calls_.free_device_list(list_);
  }
  DeviceList(const DeviceList&) = delete;
  DeviceList& operator=(const DeviceList&) = delete;
  [[nodiscard]] std::span<ibv_device*> all() const noexcept {
    return {list_, list_ != nullptr ? static_cast<std::size_t>(count_) : 0};
  }

 private:
  const shim::Ibverbs& calls_;
  int count_ = 0;
  ibv_device** list_;
};

std::string text_of(const ibv_gid& gid) {
  char text[INET6_ADDRSTRLEN] = {};
  inet_ntop(AF_INET6, gid.raw, text, sizeof text);
  return text;
}

}  // namespace

std::array<std::uint8_t, 16> gid_of(const std::string& address) {
  std::array<std::uint8_t, 16> gid{};
  if (inet_pton(AF_INET6, address.c_str(), gid.data()) == 1) return gid;
  if (inet_pton(AF_INET, address.c_str(), gid.data() + 12) == 1) {
    gid[10] = gid[11] = 0xFF;
    return gid;
  }
  throw ConfigError(fmt::format("verbs: '{}' is no IP address; give the one of the RNIC's interface", address));
}

std::shared_ptr<Device> Device::open(const std::string& name, const std::string& address) {
  const auto gid = gid_of(address);
  const shim::Ibverbs& calls = shim::ibverbs();
  const DeviceList list(calls);
  std::string seen;
  for (ibv_device* candidate : list.all()) {
    const std::string its_name = calls.get_device_name(candidate);
    if (!name.empty() && its_name != name) continue;
    std::shared_ptr<Device> device(new Device(calls));
    device->name_ = its_name;
    device->address_ = address;
    device->context_ = calls.open_device(candidate);
    if (device->context_ == nullptr) {
      seen += fmt::format(" {} (cannot be opened: {})", its_name, errno_text(errno));
      continue;
    }
    if (!device->find_gid(gid, seen)) continue;
    device->read_port();
    device->domain_ = calls.alloc_pd(device->context_);
    if (device->domain_ == nullptr) {
      throw ResourceError(fmt::format("verbs: {}: no protection domain: {}; end other processes that use it", its_name,
                                      errno_text(errno)));
    }
    return device;
  }
  if (list.all().empty()) {
    throw ResourceError(
        "verbs: this machine has no RDMA device; load its driver, or make a software one (rdma link add rxe0 type rxe "
        "netdev …), or set link.kind = \"roce\"");
  }
  throw ResourceError(
      fmt::format("verbs: no {} has a RoCE v2 address {}; found:{}; give the interface that IP, or use one of these",
                  name.empty() ? "RDMA device" : "device '" + name + "'", address, seen.empty() ? " nothing" : seen));
}

Device::~Device() {
  if (domain_ != nullptr) calls_.dealloc_pd(domain_);
  if (context_ != nullptr) calls_.close_device(context_);
}

bool Device::find_gid(const std::array<std::uint8_t, 16>& gid, std::string& seen) {
  std::vector<ibv_gid_entry> entries(kMostGids);
  const ssize_t count = calls_.query_gid_table(context_, entries.data(), entries.size(), 0, sizeof(ibv_gid_entry));
  for (ssize_t i = 0; i < count; ++i) {
    const ibv_gid_entry& entry = entries[static_cast<std::size_t>(i)];
    if (entry.gid_type != IBV_GID_TYPE_ROCE_V2) continue;
    if (std::memcmp(entry.gid.raw, gid.data(), gid.size()) == 0 && entry.gid_index < 256) {
      port_ = static_cast<std::uint8_t>(entry.port_num);
      gid_index_ = static_cast<std::uint8_t>(entry.gid_index);
      return true;
    }
    seen += fmt::format(" {} ({})", name_, text_of(entry.gid));
  }
  if (count <= 0) seen += fmt::format(" {} (no address)", name_);
  return false;
}

void Device::read_port() {
  ibv_port_attr attributes{};
  if (const int code = calls_.query_port(context_, port_, &attributes); code != 0) {
    throw ResourceError(fmt::format("verbs: the attributes of {} port {} cannot be read: {}; check it with ibv_devinfo",
                                    name_, port_, errno_text(code)));
  }
  if (attributes.state != IBV_PORT_ACTIVE) {
    throw ResourceError(
        fmt::format("verbs: {} port {} is not active; switch its interface on, and check the cable", name_, port_));
  }
  if (attributes.link_layer != IBV_LINK_LAYER_ETHERNET) {
    throw ResourceError(
        fmt::format("verbs: {} port {} is not Ethernet; use an Ethernet port, which RoCE needs", name_, port_));
  }
  ibv_device_attr device{};
  if (const int code = calls_.query_device(context_, &device); code != 0) {
    throw ResourceError(fmt::format("verbs: the attributes of {} cannot be read: {}; check it with ibv_devinfo", name_,
                                    errno_text(code)));
  }
  mtu_ = 128U << static_cast<unsigned>(attributes.active_mtu);  // IBV_MTU_256 is 1
  largest_message_ = attributes.max_msg_sz;
  most_work_requests_ = static_cast<std::uint32_t>(std::max(device.max_qp_wr, 1));
  most_reads_ = static_cast<std::uint32_t>(std::max(std::min(device.max_qp_rd_atom, device.max_qp_init_rd_atom), 0));
}

std::unique_ptr<Registration> Device::register_first(std::span<const memory::DmaBlock> choices,
                                                     memory::DmaAccess access, Paging paging) {
  return verbs::register_first(shared_from_this(), choices, access, paging);
}

// The header's ibv_query_device_ex() calls the library, which only the shim may: the device's own table is asked.
void Device::check_paging(std::uint32_t operations) const {
  ibv_device_attr_ex attributes{};
  const verbs_context* own = verbs_get_ctx(context_);
  const bool asked = own != nullptr && own->query_device_ex != nullptr &&
                     own->query_device_ex(context_, nullptr, &attributes, sizeof attributes) == 0;
  const ibv_odp_caps& odp = attributes.odp_caps;
  if (!asked || (odp.general_caps & IBV_ODP_SUPPORT) == 0) {
    throw ResourceError(fmt::format(
        "link.verbs.paging: on_demand, and {} pins all memory that it uses (rxe does so before Linux 6.15); "
        "set paging = \"pinned\"",
        name_));
  }
  if (attributes.orig_attr.vendor_id == kVendorOfRxe) {
    throw ResourceError(
        fmt::format("link.verbs.paging: on_demand, and {} is Soft-RoCE, which copies such memory from the begin of its "
                    "page, whatever the address; set paging = \"pinned\", or use an RNIC",
                    name_));
  }
  if ((odp.per_transport_caps.rc_odp_caps & operations) != operations) {
    throw ResourceError(
        fmt::format("link.verbs.paging: on_demand, and {} does only {:#x} of the operations {:#x} of RC so; set paging "
                    "= \"pinned\"",
                    name_, odp.per_transport_caps.rc_odp_caps, operations));
  }
}

std::unique_ptr<memory::DeviceMapping> Device::map(const memory::DmaBlock& block, memory::DmaAccess access) {
  return register_first({&block, 1}, access);
}

}  // namespace rashpa::link::verbs
