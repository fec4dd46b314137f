// SPDX-License-Identifier: Apache-2.0
#include "rashpa/sink/raw/raw_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "rashpa/core/error.hpp"
#include "rashpa/core/numbers/checksum.hpp"
#include "rashpa/core/system/refusal.hpp"

namespace rashpa::sink {
namespace {

/// The bytes as they lie in the file, little endian.
struct Bytes {
  std::uint64_t magic = 0x3157415241485352;  // "RSHARAW1" in memory
  std::uint32_t version = 1;
  std::uint32_t header_bytes = kRawHeader;
  std::uint32_t width = 0, height = 0;
  std::uint32_t pixel = 0, number = 0;
  std::uint64_t image_bytes = 0, stride = 0;
  std::uint32_t slots = 0;
  std::uint32_t crc = 0;  // CRC32C of the bytes before
};
static_assert(sizeof(Bytes) == 56 && std::is_trivially_copyable_v<Bytes>);

std::uint32_t crc_of(const Bytes& bytes) noexcept {
  return crc32c(std::as_bytes(std::span(&bytes, 1)).first(sizeof(Bytes) - sizeof(bytes.crc)));
}

bool read_all(int file, std::span<std::byte> out, std::uint64_t offset) noexcept {
  while (!out.empty()) {
    const ssize_t got = ::pread(file, out.data(), out.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    out = out.subspan(static_cast<std::size_t>(got));
    offset += static_cast<std::uint64_t>(got);
  }
  return true;
}

}  // namespace

void encode(const RawHeader& header, std::span<std::byte, kRawHeader> out) noexcept {
  Bytes bytes{.width = header.width,
              .height = header.height,
              .pixel = static_cast<std::uint32_t>(header.pixel),
              .number = header.number,
              .image_bytes = header.image_bytes(),
              .stride = header.stride(),
              .slots = header.slots};
  bytes.crc = crc_of(bytes);
  std::fill(out.begin(), out.end(), std::byte{0});
  std::memcpy(out.data(), &bytes, sizeof(bytes));
}

std::optional<RawHeader> decode_raw_header(std::span<const std::byte> bytes) noexcept {
  Bytes found;
  const Bytes expected;
  if (bytes.size() < sizeof(found)) return std::nullopt;
  std::memcpy(&found, bytes.data(), sizeof(found));
  if (found.magic != expected.magic || found.version != expected.version ||
      found.header_bytes != expected.header_bytes || found.crc != crc_of(found) ||
      found.pixel > static_cast<std::uint32_t>(PixelType::f32)) {
    return std::nullopt;
  }
  const RawHeader header{.width = found.width,
                         .height = found.height,
                         .pixel = static_cast<PixelType>(found.pixel),
                         .number = found.number,
                         .slots = found.slots};
  if (header.image_bytes() != found.image_bytes || header.stride() != found.stride) return std::nullopt;
  return header;
}

RawFile::RawFile(const std::filesystem::path& path, const JournalHeader& run) {
  // Not one that could be waited for.
  file_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (const int code = errno; file_ < 0) {
    const std::string text =
        "raw file: cannot open " + path.string() + ": " + errno_text(code) + "; check its permissions";
    if (is_refusal(code)) throw RefusedError(text);
    throw FileError(text);
  }
  struct stat found {};
  std::array<std::byte, kRawHeader> bytes{};
  const bool regular = ::fstat(file_, &found) == 0 && S_ISREG(found.st_mode);
  const auto header = regular && read_all(file_, bytes, 0) ? decode_raw_header(bytes) : std::nullopt;
  if (header && header->width == run.width && header->height == run.height && header->pixel == run.pixel) return;
  ::close(file_);
  throw FileError("raw file: " + path.string() + " is no raw file of this run; copy it again");
}

RawFile::~RawFile() { ::close(file_); }

bool RawFile::read(const RawPlace& place, std::span<std::byte> out) const noexcept {
  constexpr std::uint64_t kFar = std::uint64_t{1} << 62;
  return place.length == out.size() && place.offset >= kRawHeader && place.offset < kFar &&
         read_all(file_, out, place.offset) && crc32c(out) == place.crc32c;
}

}  // namespace rashpa::sink
