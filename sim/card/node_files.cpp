// SPDX-License-Identifier: Apache-2.0
#include "node_files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "rashpa/card/registers.hpp"
#include "rashpa/core/error.hpp"
#include "rashpa/core/system/file_descriptor.hpp"

namespace rashpa::sim {

namespace {

namespace fs = std::filesystem;
namespace registers = card::registers;

[[noreturn]] void fail(const fs::path& path, const char* what) {
  throw FileError(fmt::format("card: {}: {}: {}", path.string(), what, errno_text(errno)));
}

std::byte* mapped(const fs::path& path, std::uint64_t bytes) {
  const FileDescriptor file(open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (file.get() < 0) fail(path, "cannot be opened");
  if (ftruncate(file.get(), static_cast<off_t>(bytes)) != 0) fail(path, "has no room");
  void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (at == MAP_FAILED) fail(path, "cannot be mapped");
  return static_cast<std::byte*>(at);
}

void link_as(const fs::path& target, const fs::path& name) {
  std::error_code error;
  fs::remove(name, error);
  fs::create_hard_link(target, name, error);
  if (error) throw FileError(fmt::format("card: {}: cannot be linked: {}", name.string(), error.message()));
}

}  // namespace

NodeFiles::NodeFiles(fs::path directory, std::uint64_t memory_bytes) : directory_(std::move(directory)) {
  if (memory_bytes == 0 || memory_bytes % 4096 != 0) {
    throw ConfigError(fmt::format("card: memory of {} bytes; it must be a multiple of 4096", memory_bytes));
  }
  std::error_code error;
  fs::create_directories(directory_, error);
  lock_ = open((directory_ / "card.lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (lock_ < 0) fail(directory_ / "card.lock", "cannot be opened");
  if (flock(lock_, LOCK_EX | LOCK_NB) != 0) {
    close(lock_);
    throw StateError(fmt::format("card: {} belongs to a simulated card that is running; give another directory",
                                 directory_.string()));
  }
  const fs::path memory = directory_ / "xdma0_h2c_0";
  memory_ = {mapped(memory, memory_bytes), memory_bytes};
  link_as(memory, directory_ / "xdma0_c2h_0");
  link_as(memory, directory_ / "xdma0_bypass");
  const fs::path events = directory_ / "xdma0_events_0";
  fs::remove(events, error);
  if (mkfifo(events.c_str(), 0600) != 0) fail(events, "cannot be made");
  events_ = open(events.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
  if (events_ < 0) fail(events, "cannot be opened");
  page_ = reinterpret_cast<volatile std::uint32_t*>(mapped(directory_ / "xdma0_user", registers::kPageBytes));
}

NodeFiles::~NodeFiles() {
  std::error_code error;
  for (const char* name : {"xdma0_user", "xdma0_h2c_0", "xdma0_c2h_0", "xdma0_bypass", "xdma0_events_0", "card.lock"}) {
    fs::remove(directory_ / name, error);
  }
  munmap(const_cast<std::uint32_t*>(page_), registers::kPageBytes);
  munmap(memory_.data(), memory_.size());
  close(events_);
  close(lock_);
}

void NodeFiles::wake() noexcept {
  const std::uint32_t one = 1;
  if (::write(events_, &one, sizeof one) < 0) errno = 0;  // full: who sleeps there is woken by the one before
}

}  // namespace rashpa::sim
