// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/testing/rnic/regions.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <numeric>
#include <utility>

namespace rashpa::link::testing::rnic {

namespace {

constexpr std::uint64_t kPage = 4096;

bool inside(std::uint64_t first, std::uint64_t bytes, std::uint64_t at, std::uint64_t size) noexcept {
  return at >= first && at - first <= bytes && size <= bytes - (at - first);
}

std::unique_ptr<Region> region_of(ibv_pd* domain, std::size_t bytes, std::uint64_t iova, unsigned access) {
  auto region = std::make_unique<Region>();
  region->pd = domain;
  region->length = bytes;
  region->iova = iova;
  region->access = access;
  return region;
}

}  // namespace

Region* Regions::keep(std::unique_ptr<Region> region) {
  last_key_ += 0x100;
  region->lkey = last_key_;
  region->rkey = last_key_ + 1;  // another number: a key taken for the other is found
  Region* const kept = region.get();
  by_key_.emplace(region->rkey, std::move(region));
  return kept;
}

Region* Regions::add(ibv_pd* domain, std::byte* data, std::size_t bytes, std::uint64_t iova, unsigned access) {
  const auto at = reinterpret_cast<std::uint64_t>(data);
  const bool there = std::any_of(accelerators.begin(), accelerators.end(), [&](std::span<std::byte> one) {
    return at < reinterpret_cast<std::uint64_t>(one.data()) + one.size() &&
           at + bytes > reinterpret_cast<std::uint64_t>(one.data());
  });
  if (there && !abilities.peer_memory) {
    errno = EFAULT;
    return nullptr;
  }
  const bool paged = (access & IBV_ACCESS_ON_DEMAND) != 0;
  if (at % kPage != iova % kPage || (paged && abilities.on_demand_of_rc == 0)) {
    errno = EINVAL;
    return nullptr;
  }
  auto region = region_of(domain, bytes, iova, access);
  region->addr = data;
  region->accelerator = there;
  region->memory = data;
  return keep(std::move(region));
}

Region* Regions::add_file(ibv_pd* domain, std::uint64_t offset, std::size_t bytes, std::uint64_t iova, int file,
                          unsigned access) {
  if (!abilities.dma_bufs) {
    errno = EOPNOTSUPP;
    return nullptr;
  }
  const off_t size = lseek(file, 0, SEEK_END);
  if (size < 0 || offset + bytes > static_cast<std::uint64_t>(size) || offset % kPage != iova % kPage) {
    errno = size < 0 ? EBADF : EINVAL;
    return nullptr;
  }
  auto region = region_of(domain, bytes, iova, access);
  region->accelerator = true;
  region->file_offset = offset;
  region->mapped = static_cast<std::size_t>(size);
  region->mapping = mmap(nullptr, region->mapped, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (region->mapping == MAP_FAILED) {
    region->mapping = nullptr;
    if (!writer) return nullptr;  // errno of mmap()
  } else {
    region->memory = static_cast<std::byte*>(region->mapping) + offset;
  }
  return keep(std::move(region));
}

void Regions::remove(Region* region) {
  const auto of_it = [region](const Unseen& one) { return one.region == region; };
  for (const Unseen& one : unseen_) {
    if (of_it(one)) put(one);
  }
  std::erase_if(unseen_, of_it);
  if (region->mapping != nullptr) munmap(region->mapping, region->mapped);
  by_key_.erase(region->rkey);
}

Regions::Find Regions::find(const ibv_pd* domain, std::uint32_t rkey, std::uint64_t address, std::uint64_t bytes,
                            unsigned right, Region*& out) const {
  const auto found = by_key_.find(rkey);
  if (found == by_key_.end() || found->second->pd != domain) return Find::wrong_key;
  Region& region = *found->second;
  if ((region.access & right) == 0) return Find::no_right;
  if (!inside(region.iova, region.length, address, bytes)) return Find::out_of_bounds;
  out = &region;
  return Find::found;
}

const std::byte* Regions::local(const ibv_pd* domain, const ibv_sge& piece) const {
  for (const auto& [key, region] : by_key_) {
    if (region->lkey != piece.lkey || region->pd != domain || region->memory == nullptr) continue;
    if (!inside(region->iova, region->length, piece.addr, piece.length)) continue;
    return region->memory + (piece.addr - region->iova);
  }
  return nullptr;
}

Region* Regions::local_writable(const ibv_pd* domain, const ibv_sge& piece) const {
  for (const auto& [key, region] : by_key_) {
    if (region->lkey != piece.lkey || region->pd != domain || (region->access & IBV_ACCESS_LOCAL_WRITE) == 0) continue;
    if (inside(region->iova, region->length, piece.addr, piece.length)) return region.get();
  }
  return nullptr;
}

void Regions::write(Region& region, std::uint64_t address, std::span<const std::byte> bytes) {
  Unseen now{&region, address - region.iova, {bytes.begin(), bytes.end()}};
  if (region.accelerator) {
    unseen_.push_back(std::move(now));
  } else {
    put(now);
  }
}

void Regions::put(const Unseen& unseen) const {
  if (unseen.region->memory != nullptr) {
    std::memcpy(unseen.region->memory + unseen.offset, unseen.bytes.data(), unseen.bytes.size());
  } else {
    writer(unseen.region->file_offset + unseen.offset, unseen.bytes);
  }
}

void Regions::flush() {
  for (const Unseen& one : unseen_) put(one);
  unseen_.clear();
}

std::size_t Regions::unseen_bytes() const noexcept {
  return std::accumulate(unseen_.begin(), unseen_.end(), std::size_t{0},
                         [](std::size_t sum, const Unseen& one) { return sum + one.bytes.size(); });
}

}  // namespace rashpa::link::testing::rnic
