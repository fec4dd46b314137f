// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/verbs/memory_registration.hpp"

#include <fmt/format.h>

#include <cerrno>

#include "rashpa/core/error.hpp"
#include "rashpa/core/system/page.hpp"
#include "rashpa/link/verbs/device.hpp"

namespace rashpa::link::verbs {

namespace {

int rights_of(memory::DmaAccess access) {
  switch (access) {
    case memory::DmaAccess::read:
      return 0;
    case memory::DmaAccess::write:
      return IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
    case memory::DmaAccess::peer_read:
      return IBV_ACCESS_REMOTE_READ;
  }
  return 0;
}

// Null, with errno set, when the device refuses.
ibv_mr* attempt(Way way, Device& device, const memory::DmaBlock& block, memory::DmaAccess access, Paging paging) {
  const shim::Ibverbs& calls = device.calls();
  const bool on_demand = paging == Paging::on_demand && !block.accelerator;
  const int flags = rights_of(access) | (on_demand ? int{IBV_ACCESS_ON_DEMAND} : 0);
  switch (way) {
    case Way::iova_zero:
      return calls.reg_mr_iova2(device.domain(), block.data, block.bytes, 0, static_cast<unsigned>(flags));
    case Way::dma_buf:
      return calls.reg_dmabuf_mr(device.domain(), block.dmabuf_offset, block.bytes, 0, block.dmabuf, flags);
    case Way::peer_memory:
      if (calls.reg_mr_iova2 != nullptr) {
        return calls.reg_mr_iova2(device.domain(), block.data, block.bytes, 0, static_cast<unsigned>(flags));
      }
      [[fallthrough]];
    case Way::plain:
      break;
  }
  return calls.reg_mr(device.domain(), block.data, block.bytes, flags);
}

// The device's address of byte 0 after `way` has worked.
std::uint64_t address_after(Way way, const Device& device, const memory::DmaBlock& block) {
  const bool virtual_address = way == Way::plain || (way == Way::peer_memory && device.calls().reg_mr_iova2 == nullptr);
  return virtual_address ? reinterpret_cast<std::uint64_t>(block.data) : 0;
}

}  // namespace

std::string_view name_of(Way way) noexcept {
  switch (way) {
    case Way::iova_zero:
      return "registration at iova 0";
    case Way::plain:
      return "registration at the virtual address";
    case Way::dma_buf:
      return "dma-buf";
    case Way::peer_memory:
      return "peer memory";
  }
  return "unknown";
}

std::vector<Way> ways_of(const memory::DmaBlock& block, memory::DmaAccess access, const Ability& ability,
                         Paging paging) {
  std::vector<Way> ways;
  if (block.accelerator) {
    if (block.dmabuf >= 0 && ability.dma_buf) ways.push_back(Way::dma_buf);
    ways.push_back(Way::peer_memory);
    return ways;
  }
  // The kernel wants address and iova to agree within a page.
  const bool on_a_page = reinterpret_cast<std::uint64_t>(block.data) % kPage == 0;
  const bool any_address = paging == Paging::pinned && ability.iova && on_a_page;
  if (access == memory::DmaAccess::write && any_address) ways.push_back(Way::iova_zero);
  ways.push_back(Way::plain);
  return ways;
}

Registration::Registration(std::shared_ptr<Device> device, ibv_mr* region, const memory::DmaBlock& block,
                           std::size_t choice, std::uint64_t device_address, std::string how)
    : device_(std::move(device)),
      region_(region),
      block_(block),
      choice_(choice),
      device_address_(device_address),
      how_(std::move(how)) {}

Registration::~Registration() { device_->calls().dereg_mr(region_); }

std::unique_ptr<Registration> register_first(const std::shared_ptr<Device>& device,
                                             std::span<const memory::DmaBlock> choices, memory::DmaAccess access,
                                             Paging paging) {
  const Ability ability{device->calls().reg_mr_iova2 != nullptr, device->calls().reg_dmabuf_mr != nullptr};
  std::string failed;
  for (std::size_t choice = 0; choice < choices.size(); ++choice) {
    const memory::DmaBlock& block = choices[choice];
    for (const Way way : ways_of(block, access, ability, paging)) {
      ibv_mr* region = attempt(way, *device, block, access, paging);
      if (region == nullptr) {
        failed += fmt::format("; not by {}: {}", name_of(way), errno_text(errno));
        continue;
      }
      const bool on_demand = paging == Paging::on_demand && !block.accelerator;
      return std::make_unique<Registration>(
          device, region, block, choice, address_after(way, *device, block),
          fmt::format("{}: {} of {} memory{}{}", device->name(), name_of(way),
                      block.accelerator ? "accelerator" : "host", on_demand ? ", paged on demand" : "", failed));
    }
  }
  if (!choices.empty() && choices.back().accelerator) {
    throw ResourceError(fmt::format(
        "receiver.memory: device, and {} takes no memory of a GPU{}{}; use an RNIC with a driver that takes "
        "dma-bufs (software ones, rxe and siw, take none), load nvidia-peermem, or set memory = \"huge\"",
        device->name(), ability.dma_buf ? "" : "; libibverbs has no ibv_reg_dmabuf_mr", failed));
  }
  throw ResourceError(fmt::format(
      "verbs: {} takes no registration of this memory{}; raise the limit of locked memory (ulimit -l) and use memory "
      "that begins on a page",
      device->name(), failed));
}

}  // namespace rashpa::link::verbs
