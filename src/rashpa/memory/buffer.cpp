#include "rashpa/memory/buffer.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <limits>
#include <string>
#include <utility>

#include "rashpa/core/error.hpp"

namespace rashpa::memory {

namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr std::array<std::pair<MemoryKind, std::string_view>, 3> kKinds{
    {{MemoryKind::pageable, "pageable"}, {MemoryKind::huge, "huge"}, {MemoryKind::shared, "shared"}}};

std::size_t round_up(std::size_t value, std::size_t unit) noexcept { return (value + unit - 1) / unit * unit; }

std::size_t read_number(const char* path) {
  std::ifstream file(path);
  std::size_t value = 0;
  return file >> value ? value : std::numeric_limits<std::size_t>::max();
}

// Every page is written once, so that no page fault happens while data arrives.
void touch(std::byte* data, std::size_t size) noexcept {
  for (std::size_t at = 0; at < size; at += 4096) *static_cast<volatile std::byte*>(data + at) = std::byte{0};
}

void* map_anonymous(std::size_t size, int flags) noexcept {
  return mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
}

[[noreturn]] void fail(const std::string& what, int code) {
  throw ResourceError(fmt::format("memory: cannot take {}: {}", what, errno_text(code)));
}

}  // namespace

std::string_view name_of(MemoryKind kind) noexcept {
  for (const auto& [value, name] : kKinds) {
    if (value == kind) return name;
  }
  return "unknown";
}

MemoryKind memory_kind(std::string_view name) {
  for (const auto& [value, text] : kKinds) {
    if (text == name) return value;
  }
  throw ConfigError(fmt::format("memory: no kind '{}'; choose pageable, huge or shared", name));
}

std::size_t available_bytes() {
  std::size_t available = std::numeric_limits<std::size_t>::max();
  std::ifstream info("/proc/meminfo");
  for (std::string key; info >> key;) {
    std::size_t kib = 0;
    if (key == "MemAvailable:" && info >> kib) available = kib * 1024;
    info.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  const std::size_t limit = read_number("/sys/fs/cgroup/memory.max");
  const std::size_t used = read_number("/sys/fs/cgroup/memory.current");
  if (limit != std::numeric_limits<std::size_t>::max() && used <= limit) available = std::min(available, limit - used);
  return available;
}

Buffer::Buffer(std::size_t bytes, MemoryKind kind, const std::string& name) : size_(bytes) {
  if (bytes == 0) throw ConfigError("memory: a buffer of 0 bytes was asked for; give it at least one image slot");
  const std::size_t available = available_bytes();
  if (bytes > available) {
    throw ResourceError(fmt::format(
        "memory: a buffer of {:.1f} MiB does not fit into the {:.1f} MiB that this machine has left; use fewer "
        "slots or a smaller region",
        static_cast<double>(bytes) / 1048576.0, static_cast<double>(available) / 1048576.0));
  }
  const std::string what =
      fmt::format("{:.1f} MiB of {} memory", static_cast<double>(bytes) / 1048576.0, name_of(kind));
  void* address = MAP_FAILED;
  if (kind == MemoryKind::shared) {
    if (name.empty() || name.front() != '/') {
      throw ConfigError(fmt::format("memory: shared memory needs a name like '/rashpa-0', not '{}'", name));
    }
    mapped_ = round_up(bytes, 4096);
    const int file = shm_open(name.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
    if (file < 0) fail(what + " named " + name, errno);
    if (ftruncate(file, static_cast<off_t>(mapped_)) == 0) {
      address = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    }
    const int code = errno;
    close(file);
    if (address == MAP_FAILED) {
      shm_unlink(name.c_str());
      fail(what, code);
    }
    name_ = name;
    granted_ = "shared";
  } else if (kind == MemoryKind::huge) {
    mapped_ = round_up(bytes, kHugePage);
    address = map_anonymous(mapped_, MAP_HUGETLB | MAP_POPULATE);
    granted_ = "huge";
    if (address == MAP_FAILED) {
      address = map_anonymous(mapped_, 0);
      if (address == MAP_FAILED) fail(what, errno);
      granted_ = madvise(address, mapped_, MADV_HUGEPAGE) == 0 ? "transparent-huge" : "pageable";
    }
  } else {
    mapped_ = round_up(bytes, 4096);
    address = map_anonymous(mapped_, 0);
    if (address == MAP_FAILED) fail(what, errno);
    granted_ = "pageable";
  }
  data_ = static_cast<std::byte*>(address);
  touch(data_, mapped_);
}

Buffer Buffer::open_shared(const std::string& name) {
  const int file = shm_open(name.c_str(), O_RDWR | O_CLOEXEC, 0);
  if (file < 0) {
    throw ResourceError(
        fmt::format("memory: cannot open shared memory '{}': {}; is its owner running?", name, errno_text(errno)));
  }
  struct stat status {};
  void* address = MAP_FAILED;
  if (fstat(file, &status) == 0 && status.st_size > 0) {
    address = mmap(nullptr, static_cast<std::size_t>(status.st_size), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  }
  const int code = errno;
  close(file);
  if (address == MAP_FAILED) fail("shared memory " + name, code);
  Buffer buffer;
  buffer.data_ = static_cast<std::byte*>(address);
  buffer.size_ = buffer.mapped_ = static_cast<std::size_t>(status.st_size);
  buffer.granted_ = "shared";
  return buffer;
}

Buffer::Buffer(Buffer&& other) noexcept { *this = std::move(other); }

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  if (this != &other) {
    release();
    data_ = std::exchange(other.data_, nullptr);
    size_ = std::exchange(other.size_, 0);
    mapped_ = std::exchange(other.mapped_, 0);
    name_ = std::exchange(other.name_, {});
    granted_ = std::exchange(other.granted_, "none");
  }
  return *this;
}

Buffer::~Buffer() { release(); }

void Buffer::release() noexcept {
  if (data_ != nullptr) munmap(data_, mapped_);
  if (!name_.empty()) shm_unlink(name_.c_str());
  data_ = nullptr;
}

}  // namespace rashpa::memory
