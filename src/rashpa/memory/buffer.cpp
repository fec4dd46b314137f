// SPDX-License-Identifier: Apache-2.0
#include "rashpa/memory/buffer.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "rashpa/core/error.hpp"
#include "rashpa/core/system/file_descriptor.hpp"
#include "rashpa/core/system/page.hpp"

namespace rashpa::memory {

namespace {

constexpr unsigned kPagesOf2MiB = 21U << 26U;  // MFD_HUGE_2MB of <linux/memfd.h>, which glibc's headers lack
constexpr std::array<std::pair<MemoryKind, std::string_view>, 2> kKinds{
    {{MemoryKind::pageable, "pageable"}, {MemoryKind::huge, "huge"}}};
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

std::size_t round_up(std::size_t value, std::size_t unit) noexcept { return (value + unit - 1) / unit * unit; }

// The content of a small file of the kernel; empty when there is no such file.
std::string read_text(const char* path) {
  const FileDescriptor file(open(path, O_RDONLY | O_CLOEXEC));
  std::string text(kPage, '\0');
  const ssize_t bytes = file.get() < 0 ? 0 : read(file.get(), text.data(), text.size());
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(bytes, 0)));
  return text;
}

std::optional<std::size_t> number_at(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  std::size_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  return code == std::errc{} ? std::optional(value) : std::nullopt;
}

// Every page is written once, so that no page fault happens while data arrives. Large buffers are touched by several
// threads: the kernel clears what it gives, some GB/s on one processor. They run where this one may, so that pages come
// from the memory that is near it.
void touch(std::byte* data, std::size_t size) {
  constexpr std::size_t kPart = std::size_t{32} << 20;
  constexpr std::size_t kMostThreads = 8;
  const std::size_t parts = (size + kPart - 1) / kPart;
  std::atomic<std::size_t> next{0};
  const auto work = [&]() noexcept {
    for (std::size_t part = next++; part < parts; part = next++) {
      const std::size_t end = std::min(size, (part + 1) * kPart);
      for (std::size_t at = part * kPart; at < end; at += kPage) {
        *static_cast<volatile std::byte*>(data + at) = std::byte{0};
      }
    }
  };
  const std::size_t threads = std::min({parts, kMostThreads, std::size_t{std::thread::hardware_concurrency()}});
  std::vector<std::jthread> helpers;
  try {
    for (std::size_t i = 1; i < threads; ++i) helpers.emplace_back(work);
  } catch (const std::system_error&) {  // this thread does what no other can
  }
  work();
}

void* map_anonymous(std::size_t size, int flags) noexcept {
  return mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
}

[[noreturn]] void fail(const std::string& what, int code) {
  throw ResourceError(
      fmt::format("memory: {} cannot be allocated: {}; use fewer slots or a smaller stack, or free memory", what,
                  errno_text(code)));
}

std::string words_of(std::size_t bytes, MemoryKind kind) {
  return fmt::format("{:.1f} MiB of {} memory", static_cast<double>(bytes) / 1048576.0, name_of(kind));
}

// Memory as a file of `size` bytes, mapped; MAP_FAILED with errno when the machine has no such pages.
void* map_shared(FileDescriptor& file, std::size_t size) noexcept {
  if (file.get() < 0 || ftruncate(file.get(), static_cast<off_t>(size)) != 0 || fchmod(file.get(), 0600) != 0 ||
      fcntl(file.get(), F_ADD_SEALS, kSeals) != 0) {
    return MAP_FAILED;
  }
  return mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
}

// Whether shared memory gets transparent huge pages when it asks for them.
bool shared_pages_are_huge() {
  const std::string text = read_text("/sys/kernel/mm/transparent_hugepage/shmem_enabled");
  return text.find('[') != std::string::npos && text.find("[never]") == std::string::npos &&
         text.find("[deny]") == std::string::npos;
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
  throw ConfigError(fmt::format("memory: no kind '{}'; choose pageable or huge", name));
}

std::size_t available_bytes() {
  std::size_t available = std::numeric_limits<std::size_t>::max();
  constexpr std::string_view kKey = "MemAvailable:";
  const std::string info = read_text("/proc/meminfo");
  if (const std::size_t at = info.find(kKey); at != std::string::npos) {
    if (const auto kib = number_at(std::string_view(info).substr(at + kKey.size()))) available = *kib * 1024;
  }
  const auto limit = number_at(read_text("/sys/fs/cgroup/memory.max"));
  const auto used = number_at(read_text("/sys/fs/cgroup/memory.current"));
  if (limit && used && *used <= *limit) available = std::min(available, *limit - *used);
  return available;
}

Buffer::Buffer(std::size_t bytes, MemoryKind kind, Sharing sharing) : size_(bytes) {
  if (bytes == 0) throw ConfigError("memory: a buffer of 0 bytes was asked for; give it at least one image slot");
  const std::size_t available = available_bytes();
  if (bytes > available) {
    throw ResourceError(fmt::format(
        "memory: a buffer of {:.1f} MiB does not fit into the {:.1f} MiB that this machine has left; use fewer "
        "slots or a smaller region",
        static_cast<double>(bytes) / 1048576.0, static_cast<double>(available) / 1048576.0));
  }
  if (sharing == Sharing::machine) {
    take_shared(kind);
  } else {
    take_private(kind);
  }
  touch(data_, mapped_);
}

void Buffer::take_private(MemoryKind kind) {
  const bool huge = kind == MemoryKind::huge;
  mapped_ = round_up(size_, huge ? kHugePage : kPage);
  granted_ = "huge";
  void* address = huge ? map_anonymous(mapped_, MAP_HUGETLB | MAP_POPULATE) : MAP_FAILED;
  if (address == MAP_FAILED) {
    address = map_anonymous(mapped_, 0);
    if (address == MAP_FAILED) fail(words_of(size_, kind), errno);
    granted_ = huge && madvise(address, mapped_, MADV_HUGEPAGE) == 0 ? "transparent-huge" : "pageable";
  }
  data_ = static_cast<std::byte*>(address);
}

void Buffer::take_shared(MemoryKind kind) {
  const bool huge = kind == MemoryKind::huge;
  constexpr unsigned kFlags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  mapped_ = round_up(size_, huge ? kHugePage : kPage);
  if (huge) {
    FileDescriptor file(memfd_create("rashpa", kFlags | MFD_HUGETLB | kPagesOf2MiB));
    if (void* const address = map_shared(file, mapped_); address != MAP_FAILED) {
      data_ = static_cast<std::byte*>(address);
      file_ = file.take();
      granted_ = "shared-huge";
      return;
    }
  }
  FileDescriptor file(memfd_create("rashpa", kFlags));
  void* const address = map_shared(file, mapped_);
  if (address == MAP_FAILED) fail("shared " + words_of(size_, kind), errno);
  const bool transparent = huge && madvise(address, mapped_, MADV_HUGEPAGE) == 0 && shared_pages_are_huge();
  granted_ = transparent ? "shared-transparent-huge" : "shared-pageable";
  data_ = static_cast<std::byte*>(address);
  file_ = file.take();
}

std::string shared_path(int process, int file) { return fmt::format("/proc/{}/fd/{}", process, file); }

std::pair<int, int> parse_shared_path(const std::string& path) {
  int process = 0;
  int file = 0;
  const char* const end = path.data() + path.size();
  constexpr std::string_view kFront = "/proc/";
  constexpr std::string_view kMiddle = "/fd/";
  if (path.starts_with(kFront)) {
    const auto [at, error] = std::from_chars(path.data() + kFront.size(), end, process);
    if (error == std::errc{} && std::string_view(at, end).starts_with(kMiddle)) {
      std::from_chars(at + kMiddle.size(), end, file);
    }
  }
  // Written again from the numbers it must be the same: no sign, no leading zero, nothing behind.
  if (process <= 0 || file < 0 || shared_path(process, file) != path) {
    throw ConfigError(
        fmt::format("memory: '{}' is no shared memory of another process; give /proc/<process>/fd/<file>", path));
  }
  return {process, file};
}

std::string Buffer::shared_path() const { return file_ < 0 ? std::string{} : memory::shared_path(getpid(), file_); }

Buffer Buffer::open_shared(const std::string& path) {
  parse_shared_path(path);
  const auto refuse = [&](int code) {
    throw ResourceError(
        fmt::format("memory: cannot open shared memory {}: {}; run its owner on this machine, as the same user", path,
                    errno_text(code)));
  };
  // The target of the name is checked before it is opened: opening a device may have an effect.
  const FileDescriptor seen(open(path.c_str(), O_PATH | O_CLOEXEC));
  struct stat status {};
  if (seen.get() < 0 || fstat(seen.get(), &status) != 0) refuse(errno);
  if (!S_ISREG(status.st_mode))
    throw ConfigError(
        fmt::format("memory: {} is no shared memory; give the address that its owner has published", path));
  const FileDescriptor file(open(memory::shared_path(getpid(), seen.get()).c_str(), O_RDWR | O_CLOEXEC));
  if (file.get() < 0) refuse(errno);
  const int seals = fcntl(file.get(), F_GET_SEALS);
  // The size behind the seals: before them its owner may have made it shorter.
  const bool known = seals >= 0 && (seals & F_SEAL_SHRINK) != 0 && fstat(file.get(), &status) == 0;
  if (!known || status.st_size <= 0) {
    throw ConfigError(fmt::format(
        "memory: {} is no shared memory that is sealed against becoming shorter; run the same rashpa on both sides",
        path));
  }
  const auto size = static_cast<std::size_t>(status.st_size);
  void* const address = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (address == MAP_FAILED) refuse(errno);
  // Both only save page faults while data travels: pages of 2 MiB where they are used, all of them mapped now.
  madvise(address, size, MADV_HUGEPAGE);
  madvise(address, size, MADV_POPULATE_WRITE);
  Buffer buffer;
  buffer.data_ = static_cast<std::byte*>(address);
  buffer.size_ = buffer.mapped_ = size;
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
    file_ = std::exchange(other.file_, -1);
    granted_ = std::exchange(other.granted_, "none");
  }
  return *this;
}

Buffer::~Buffer() { release(); }

void Buffer::release() noexcept {
  if (data_ != nullptr) munmap(data_, mapped_);
  if (file_ >= 0) close(file_);
  file_ = -1;
  data_ = nullptr;
}

}  // namespace rashpa::memory
