// SPDX-License-Identifier: Apache-2.0
#include "rashpa/card/nodes.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <utility>

#include "rashpa/card/registers.hpp"
#include "rashpa/core/error.hpp"

namespace rashpa::card {

static_assert(std::endian::native == std::endian::little, "registers are little endian");

namespace {

namespace identity = registers::identity;

constexpr std::size_t kLongestCopy = std::size_t{1} << 30;  // of one system call

[[noreturn]] void fail(const std::filesystem::path& path, const char* what, int code) {
  throw FileError(
      fmt::format("card: {}: {}: {}; give the directory of a card (/dev with the xdma driver, or that of a simulated "
                  "one) that you may use",
                  path.string(), what, errno_text(code)));
}

}  // namespace

Nodes::Node::Node(std::filesystem::path path, int flags)
    : path_(std::move(path)), file_(::open(path_.c_str(), flags | O_CLOEXEC)) {
  if (file_.get() < 0) fail(path_, "cannot be opened", errno);
}

Nodes::Page::Page(const Node& node) {
  struct stat about {};
  if (fstat(node.get(), &about) != 0) fail(node.path(), "cannot be asked for its size", errno);
  if (S_ISREG(about.st_mode) && std::cmp_less(about.st_size, registers::kPageBytes)) {
    throw FileError(fmt::format("card: {}: a page of registers has {} bytes, this file {}; start its card again",
                                node.path().string(), registers::kPageBytes, about.st_size));
  }
  void* const at = mmap(nullptr, registers::kPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED, node.get(), 0);
  if (at == MAP_FAILED) fail(node.path(), "cannot be mapped", errno);
  words_ = static_cast<volatile std::uint32_t*>(at);
}

Nodes::Page::~Page() { munmap(const_cast<std::uint32_t*>(words_), registers::kPageBytes); }

Nodes::Nodes(const std::filesystem::path& directory, const std::string& device, const Design& design)
    : user_(directory / (device + "_user"), O_RDWR),
      to_(directory / (device + "_h2c_0"), O_WRONLY),
      from_(directory / (device + "_c2h_0"), O_RDONLY),
      events_(directory / (device + "_events_0"), O_RDONLY | O_NONBLOCK),
      page_(user_) {
  const std::uint32_t magic = read32(identity::kMagic);
  const std::uint32_t version = read32(identity::kVersion);
  if (magic != design.magic) {
    throw ResourceError(
        fmt::format("card: {}: its first word is {:#010x}, that of {} of ours {:#010x}; another design is loaded, or "
                    "the card is not in the simulator's hands yet",
                    user_.path().string(), magic, design.what, design.magic));
  }
  if (version != design.version) {
    throw ResourceError(
        fmt::format("card: {}: its registers have version {}, this program knows {}; load the card again",
                    user_.path().string(), version, design.version));
  }
  memory_bytes_ = read64(identity::kMemoryBytes);
}

Nodes::~Nodes() = default;

void Nodes::claim() {
  if (flock(user_.get(), LOCK_EX | LOCK_NB) == 0) return;
  if (errno != EWOULDBLOCK) fail(user_.path(), "cannot be locked", errno);
  throw StateError(fmt::format("card: {}: another program works with this card; end it, or give another card",
                               user_.path().string()));
}

std::uint32_t Nodes::read32(std::uint32_t address) const noexcept {
  const std::uint32_t value = page_.word(address);
  std::atomic_thread_fence(std::memory_order_acquire);  // acquire: reads of memory follow what the card's register told
  return value;
}

void Nodes::write32(std::uint32_t address, std::uint32_t value) noexcept {
  std::atomic_thread_fence(std::memory_order_release);  // release: the card sees memory before the register
  page_.word(address) = value;
}

std::uint64_t Nodes::read64(std::uint32_t address) const noexcept {
  std::uint32_t high = read32(address + 4);
  while (true) {
    const std::uint32_t low = read32(address);
    const std::uint32_t again = read32(address + 4);
    if (again == high) return std::uint64_t{high} << 32 | low;
    high = again;
  }
}

void Nodes::check_room(std::uint64_t address, std::size_t bytes) const {
  if (bytes > memory_bytes_ || address > memory_bytes_ - bytes) {
    throw ConfigError(
        fmt::format("card: {} bytes at {:#x} do not fit into its memory of {} bytes; use fewer or smaller frames",
                    bytes, address, memory_bytes_));
  }
}

void Nodes::to_card(std::uint64_t address, std::span<const std::byte> bytes) {
  check_room(address, bytes.size());
  while (!bytes.empty()) {
    const std::size_t most = std::min(bytes.size(), kLongestCopy);
    const ssize_t done = pwrite(to_.get(), bytes.data(), most, static_cast<off_t>(address));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) fail(to_.path(), "cannot be written to", done < 0 ? errno : ENOSPC);
    bytes = bytes.subspan(static_cast<std::size_t>(done));
    address += static_cast<std::uint64_t>(done);
  }
}

void Nodes::from_card(std::uint64_t address, std::span<std::byte> bytes) {
  check_room(address, bytes.size());
  while (!bytes.empty()) {
    const std::size_t most = std::min(bytes.size(), kLongestCopy);
    const ssize_t done = pread(from_.get(), bytes.data(), most, static_cast<off_t>(address));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) fail(from_.path(), "cannot be read", errno);
    if (done == 0) {
      throw FileError(fmt::format("card: {}: ends at {:#x}, inside the card's memory of {} bytes; start its card again",
                                  from_.path().string(), address, memory_bytes_));
    }
    bytes = bytes.subspan(static_cast<std::size_t>(done));
    address += static_cast<std::uint64_t>(done);
  }
}

bool Nodes::wait(std::uint32_t wait_us) {
  pollfd event{events_.get(), POLLIN, 0};
  const timespec limit{wait_us / 1'000'000, static_cast<long>(wait_us % 1'000'000) * 1000};
  if (ppoll(&event, 1, &limit, nullptr) <= 0 || (event.revents & POLLIN) == 0) {
    // A FIFO that nobody writes says "hung up" at once: do not spin on it.
    if ((event.revents & (POLLHUP | POLLERR)) != 0) ppoll(nullptr, 0, &limit, nullptr);
    return false;
  }
  std::uint32_t count = 0;
  return read(events_.get(), &count, sizeof count) == sizeof count;
}

}  // namespace rashpa::card
