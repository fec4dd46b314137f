// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <vector>

struct ZSTD_DCtx_s;

namespace rashpa::dataset {

enum class Compression : std::uint8_t { none, zstd };

/// The bytes of a file in order, decompressed. All errors are FileError with path and reason. One thread.
class ByteStream {
 public:
  /// A regular file; anything else (a pipe that nobody writes, an endless device) is refused before a byte is read.
  ByteStream(std::string path, Compression compression);
  /// The same over a file's bytes in memory, which must outlive the stream; `name` stands in messages.
  ByteStream(std::string name, std::span<const std::byte> bytes, Compression compression);
  /// Fills `out`; returns fewer bytes only at the end of the file. Throws when the file is unreadable, or damaged zstd
  /// data.
  std::size_t read(std::span<std::byte> out);
  /// Passes over `bytes`; returns how many there were. A few bytes of zstd data may be thousands of times as many:
  /// a reader of a stranger's file says how many at most.
  std::uint64_t skip(std::uint64_t bytes);
  /// Passes over all that is left, `most` bytes at most; returns how many bytes that were. Plain files are not read for
  /// it, and may be longer.
  std::uint64_t skip_rest(std::uint64_t most);
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  struct Close {
    void operator()(std::FILE* file) const noexcept;
    void operator()(ZSTD_DCtx_s* context) const noexcept;
  };
  void decompress_as(Compression compression);
  std::size_t read_file(std::span<std::byte> out);
  std::size_t read_zstd(std::span<std::byte> out);

  std::string path_;
  std::unique_ptr<std::FILE, Close> file_;
  std::unique_ptr<ZSTD_DCtx_s, Close> context_;
  std::vector<std::byte> packed_;
  std::size_t packed_at_ = 0;
  std::size_t packed_end_ = 0;
  bool inside_ = false;  // a zstd frame is begun and not complete
};

}  // namespace rashpa::dataset
