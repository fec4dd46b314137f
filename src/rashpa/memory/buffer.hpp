#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace rashpa::memory {

/// Where the bytes of a buffer live.
enum class MemoryKind : std::uint8_t {
  pageable,  ///< ordinary pages, touched at start
  huge,      ///< 2 MiB pages where the machine has them, else transparent huge pages, else ordinary ones: see granted()
  shared,    ///< POSIX shared memory that another process can open by name
};

std::string_view name_of(MemoryKind kind) noexcept;
/// Throws ConfigError that lists the kinds when `name` is none of them.
MemoryKind memory_kind(std::string_view name);

/// One block of memory, taken and touched at construction, given back at destruction. Movable, one owner.
class Buffer {
 public:
  Buffer() = default;
  /// Throws ResourceError when the machine cannot give `bytes` (checked against available memory first, so that a
  /// buffer too large for the machine is refused instead of being killed later). `name` is needed for
  /// MemoryKind::shared.
  Buffer(std::size_t bytes, MemoryKind kind, const std::string& name = {});
  /// Opens the shared memory `name` that another process owns. Throws ResourceError when there is none.
  static Buffer open_shared(const std::string& name);
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer();

  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::span<std::byte> bytes() const noexcept { return {data_, size_}; }
  /// What the machine gave: "pageable", "huge", "transparent-huge" or "shared"; for the log and the report.
  [[nodiscard]] std::string_view granted() const noexcept { return granted_; }

 private:
  void release() noexcept;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t mapped_ = 0;
  std::string name_;  // of shared memory that we own
  std::string_view granted_ = "none";
};

/// Bytes that a process may still take on this machine: MemAvailable, bounded by the cgroup's limit.
std::size_t available_bytes();

}  // namespace rashpa::memory
