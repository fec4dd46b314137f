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
  /// Opens a regular file. Anything else (a pipe without a writer, an endless device) is refused before a byte is read.
  ByteStream(std::string path, Compression compression);
  /// Reads a file's bytes in memory, which must outlive the stream. Messages use `name`.
  ByteStream(std::string name, std::span<const std::byte> bytes, Compression compression);
  /// Fills `out`; returns fewer bytes only at the end of the file. Throws FileError when the file is unreadable or its
  /// zstd data is damaged.
  std::size_t read(std::span<std::byte> out);
  /// Skips up to `bytes` bytes and returns the number skipped. A few bytes of zstd data may unpack to thousands of
  /// times as many, so a reader of an untrusted file must bound `bytes`.
  std::uint64_t skip(std::uint64_t bytes);
  /// Skips the rest, at most `most` bytes, and returns the number skipped. Plain files are not read for that, and may
  /// be longer.
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
