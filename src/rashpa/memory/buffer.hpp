// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace rashpa::memory {

/// The kind of memory of a buffer.
enum class MemoryKind : std::uint8_t {
  pageable,  ///< ordinary pages, written once at start
  /// 2 MiB pages where the machine has them, else transparent huge pages, else ordinary ones: granted() tells which
  huge,
};

/// The processes that can map a buffer. `machine`: the buffer is a memfd, which processes of the same user open by
/// shared_path(). It has no name that a crash could leave behind. It is sealed, so no process can shorten it and
/// thereby kill its readers.
enum class Sharing : std::uint8_t { process, machine };

std::string_view name_of(MemoryKind kind) noexcept;
/// Returns the kind with that name. Throws ConfigError with a list of all kinds when there is none.
MemoryKind memory_kind(std::string_view name);

/// One block of memory, allocated and written by the constructor and freed by the destructor. Movable, one owner.
class Buffer {
 public:
  Buffer() = default;
  /// Allocates the block. Throws ResourceError when the machine lacks `bytes`. It compares with the available memory
  /// first, so that a buffer that is too large is refused, and the process is not killed later.
  Buffer(std::size_t bytes, MemoryKind kind, Sharing sharing = Sharing::process);
  /// Maps the memory of another buffer's shared_path(); the mapping stays valid when the owner ends. The path is
  /// untrusted. Throws ConfigError when it has another form or names no sealed memory, ResourceError when it cannot be
  /// opened.
  static Buffer open_shared(const std::string& path);
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer();

  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::span<std::byte> bytes() const noexcept { return {data_, size_}; }
  /// Returns the kind of memory that the machine gave, for the log and the report: "pageable", "huge" or
  /// "transparent-huge", with the prefix "shared-" where others can map it.
  [[nodiscard]] std::string_view granted() const noexcept { return granted_; }
  /// Returns the memfd, valid while this buffer lives; −1 when it is not shared.
  [[nodiscard]] int shared_file() const noexcept { return file_; }
  /// Returns the path by which other processes open the buffer; empty when it is not shared.
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

/// Returns the path of open file `file` of process `process` for other processes of its user: the argument of
/// Buffer::open_shared().
std::string shared_path(int process, int file);
/// Returns process and file of a path that shared_path() made. Throws ConfigError when `path` does not have exactly
/// that form.
std::pair<int, int> parse_shared_path(const std::string& path);

/// Returns the bytes that a process may still allocate on this machine: MemAvailable, limited by the cgroup.
std::size_t available_bytes();

}  // namespace rashpa::memory
