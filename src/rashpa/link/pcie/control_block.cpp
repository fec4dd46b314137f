// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/pcie/control_block.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <new>
#include <random>

#include "rashpa/core/error.hpp"

namespace rashpa::link::pcie {

namespace {

std::size_t dtps_at() noexcept { return sizeof(Header); }
std::size_t threads_at(std::size_t dtps) noexcept { return dtps_at() + dtps * sizeof(SharedDtp); }
std::size_t block_bytes(std::size_t dtps, std::size_t threads) noexcept {
  return threads_at(dtps) + threads * sizeof(Thread);
}

void check(std::uint64_t region_bytes, int region_file) {
  struct stat status {};
  if (region_file < 0 || fstat(region_file, &status) != 0) {
    throw ConfigError("pcie: the RASHPA buffer is not shared memory; take it with memory::Sharing::machine");
  }
  if (static_cast<std::uint64_t>(status.st_size) < region_bytes) {
    throw ConfigError(
        fmt::format("pcie: the RASHPA buffer has {} bytes, its file only {}; begin the buffer where the file begins",
                    region_bytes, status.st_size));
  }
}

}  // namespace

ControlBlock::ControlBlock(std::uint64_t region_bytes, int region_file, std::uint32_t dtps, std::uint32_t threads,
                           const memory::DmaBlock& lines)
    : memory_((check(region_bytes, region_file), block_bytes(dtps, threads)), memory::MemoryKind::pageable,
              memory::Sharing::machine),
      key_(std::random_device{}()),
      dtps_(reinterpret_cast<SharedDtp*>(memory_.data() + dtps_at())),
      threads_(reinterpret_cast<Thread*>(memory_.data() + threads_at(dtps))) {
  for (std::uint32_t d = 0; d < dtps; ++d) new (dtps_ + d) SharedDtp;
  for (std::uint32_t t = 0; t < threads; ++t) new (threads_ + t) Thread;
  Header header{};
  header.key = key_;
  header.region_bytes = region_bytes;
  header.region_file = static_cast<std::uint32_t>(region_file);
  header.threads = threads;
  header.dtps = dtps;
  if (lines.accelerator) {
    header.lines_bytes = lines.bytes;
    header.lines_address = reinterpret_cast<std::uintptr_t>(lines.data);
    header.lines_handle = lines.handle;
  }
  new (memory_.data()) Header(header);
}

Endpoint ControlBlock::endpoint(std::uint32_t dtp) const {
  Endpoint endpoint;
  endpoint.address = memory_.shared_path();
  endpoint.qpn = dtp;
  endpoint.rkey = key_;
  return endpoint;
}

std::shared_ptr<const RemoteMemory> RemoteMemory::open(const Endpoint& endpoint) {
  return std::shared_ptr<const RemoteMemory>(new RemoteMemory(endpoint));
}

RemoteMemory::RemoteMemory(const Endpoint& endpoint)
    : address_(endpoint.address), control_(memory::Buffer::open_shared(endpoint.address)) {
  const auto refuse = [&](const std::string& what) {
    throw ConfigError(fmt::format("pcie: {} {}", endpoint.address, what));
  };
  constexpr auto kNone = "is no receiver's control block; give the address that a receiver has published";
  if (control_.size() < sizeof(Header)) refuse(kNone);
  std::memcpy(&header_, control_.data(), sizeof header_);
  if (header_.magic != kMagic) refuse(kNone);
  if (header_.version != kVersion) {
    refuse(fmt::format("has version {} of the control block, this is {}; run the same rashpa on both sides",
                       header_.version, kVersion));
  }
  if (header_.key != endpoint.rkey) refuse("belongs to another run (wrong key); configure both sides anew");
  if (header_.dtps == 0 || header_.dtps > kMostDtps || header_.threads == 0 || header_.threads > header_.dtps ||
      block_bytes(header_.dtps, header_.threads) > control_.size()) {
    refuse(fmt::format("says {} DTPs and {} threads in {} bytes, which is not possible; start the receiver again",
                       header_.dtps, header_.threads, control_.size()));
  }
  const int process = memory::parse_shared_path(endpoint.address).first;
  region_ = memory::Buffer::open_shared(memory::shared_path(process, static_cast<int>(header_.region_file)));
  if (header_.region_bytes == 0 || header_.region_bytes > region_.size()) {
    refuse(fmt::format("says {} bytes of RASHPA buffer, and there are {}; start the receiver again",
                       header_.region_bytes, region_.size()));
  }
  if (header_.lines_bytes != 0) {
    // In this process the address itself is good, and a handle could not be opened.
    auto* const own = reinterpret_cast<std::byte*>(header_.lines_address);  // NOLINT(performance-no-int-to-ptr)
    lines_ = {
        .bytes = header_.lines_bytes, .address = process == getpid() ? own : nullptr, .handle = header_.lines_handle};
  }
  dtps_ = reinterpret_cast<SharedDtp*>(control_.data() + dtps_at());
  threads_ = reinterpret_cast<Thread*>(control_.data() + threads_at(header_.dtps));
}

}  // namespace rashpa::link::pcie
