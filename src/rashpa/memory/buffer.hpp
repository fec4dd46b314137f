// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace rashpa::memory {

/// Describes where the bytes of a buffer live.
enum class MemoryKind : std::uint8_t {
  pageable,  ///< ordinary pages, touched at start
  huge,      ///< 2 MiB pages where the machine has them, else transparent huge pages, else ordinary ones: see granted()
};

/// The processes that can map a buffer. `machine`: it lies in a memfd, which processes of the same user open by
/// shared_path(). It has no name that could be left behind by a crash, and is sealed: no process can make it shorter
/// and so kill its readers.
enum class Sharing : std::uint8_t { process, machine };

std::string_view name_of(MemoryKind kind) noexcept;
/// Throws ConfigError that lists the kinds when `name` is none of them.
MemoryKind memory_kind(std::string_view name);

/// One block of memory, taken and touched at construction, given back at destruction. Movable, one owner.
class Buffer {
 public:
  Buffer() = default;
  /// Throws ResourceError when the machine cannot give `bytes` (checked against available memory first, so that a
  /// buffer too large for the machine is refused instead of being killed later).
  Buffer(std::size_t bytes, MemoryKind kind, Sharing sharing = Sharing::process);
  /// Maps the memory that another buffer's shared_path() names; it stays mapped when its owner ends. The path comes
  /// from elsewhere and is not trusted: ConfigError when it has another form or names no sealed memory, ResourceError
  /// when it cannot be opened.
  static Buffer open_shared(const std::string& path);
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer();

  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::span<std::byte> bytes() const noexcept { return {data_, size_}; }
  /// The kind of memory that the machine gave: "pageable", "huge" or "transparent-huge", with "shared-" in front where
  /// others can map it; for the log and the report.
  [[nodiscard]] std::string_view granted() const noexcept { return granted_; }
  /// The memfd, −1 when it is not shared; valid while this buffer lives.
  [[nodiscard]] int shared_file() const noexcept { return file_; }
  /// Returns where other processes open it; empty when it is not shared.
  [[nodiscard]] std::string shared_path() const;

 private:
  void take_shared(MemoryKind kind);
  void take_private(MemoryKind kind);
  void release() noexcept;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t mapped_ = 0;
  int file_ = -1;  // of shared memory that we own
  std::string_view granted_ = "none";
};

/// Where process `process` offers its open file `file` to others of its user: the argument of Buffer::open_shared().
std::string shared_path(int process, int file);
/// The two numbers of such a path. Throws ConfigError when `path` is not exactly of that form.
std::pair<int, int> parse_shared_path(const std::string& path);

/// Bytes that a process may still take on this machine: MemAvailable, bounded by the cgroup's limit.
std::size_t available_bytes();

}  // namespace rashpa::memory
