// SPDX-License-Identifier: Apache-2.0
#include "rashpa/dataset/files/byte_stream.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "rashpa/core/error.hpp"

namespace rashpa::dataset {

namespace {

constexpr std::size_t kPackedBytes = std::size_t{32} << 10;

}  // namespace

void ByteStream::Close::operator()(std::FILE* file) const noexcept { std::fclose(file); }
void ByteStream::Close::operator()(ZSTD_DCtx_s* context) const noexcept { ZSTD_freeDCtx(context); }

ByteStream::ByteStream(std::string path, Compression compression) : path_(std::move(path)) {
  const auto fail = [&](const std::string& why) {
    throw FileError(fmt::format("dataset: {}: {}; give a file that rashpa can read", path_, why));
  };
  // Without O_NONBLOCK the open of a pipe waits for a writer; regular files do not know the flag.
  const int number = open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (number < 0) fail(errno_text(errno));
  file_.reset(fdopen(number, "rb"));
  if (!file_) {
    close(number);
    throw ResourceError("dataset: no memory is left for a file's buffer; use fewer frames");
  }
  struct stat facts {};
  if (fstat(number, &facts) != 0) fail(errno_text(errno));
  if (!S_ISREG(facts.st_mode)) fail("it is not a regular file");
  decompress_as(compression);
}

ByteStream::ByteStream(std::string name, std::span<const std::byte> bytes, Compression compression)
    : path_(std::move(name)) {
  file_.reset(fmemopen(const_cast<std::byte*>(bytes.data()), bytes.size(), "rb"));
  if (!file_) throw ResourceError("dataset: no memory is left for a file's buffer; use fewer frames");
  decompress_as(compression);
}

void ByteStream::decompress_as(Compression compression) {
  if (compression != Compression::zstd) return;
  context_.reset(ZSTD_createDCtx());
  if (!context_) throw ResourceError("dataset: no memory is left for a zstd decoder; use fewer frames");
  packed_.resize(kPackedBytes);
}

std::size_t ByteStream::read(std::span<std::byte> out) { return context_ ? read_zstd(out) : read_file(out); }

std::size_t ByteStream::read_file(std::span<std::byte> out) {
  const std::size_t got = std::fread(out.data(), 1, out.size(), file_.get());
  if (got < out.size() && std::ferror(file_.get()) != 0) {
    throw FileError(fmt::format("dataset: {}: {}; check its disk, or give another file", path_, errno_text(errno)));
  }
  return got;
}

std::size_t ByteStream::read_zstd(std::span<std::byte> out) {
  ZSTD_outBuffer target{out.data(), out.size(), 0};
  while (target.pos < target.size) {
    const std::size_t before = target.pos;
    ZSTD_inBuffer source{packed_.data(), packed_end_, packed_at_};
    const std::size_t rest = ZSTD_decompressStream(context_.get(), &target, &source);
    if (ZSTD_isError(rest) != 0U) {
      throw FileError(fmt::format("dataset: {}: its zstd data is damaged: {}; copy the file again", path_,
                                  ZSTD_getErrorName(rest)));
    }
    const bool moved = target.pos > before || source.pos > packed_at_;
    packed_at_ = source.pos;
    if (moved) {
      inside_ = rest != 0;
      continue;
    }
    packed_at_ = 0;
    packed_end_ = read_file(packed_);
    if (packed_end_ > 0) continue;
    if (inside_) throw FileError(fmt::format("dataset: {}: its zstd data ends too early; copy the file again", path_));
    break;
  }
  return target.pos;
}

std::uint64_t ByteStream::skip(std::uint64_t bytes) {
  std::array<std::byte, kPackedBytes> waste;  // NOLINT: never looked at
  std::uint64_t skipped = 0;
  while (skipped < bytes) {
    const std::size_t want = static_cast<std::size_t>(std::min<std::uint64_t>(bytes - skipped, waste.size()));
    const std::size_t got = read(std::span(waste).first(want));
    skipped += got;
    if (got < want) break;
  }
  return skipped;
}

std::uint64_t ByteStream::skip_rest(std::uint64_t most) {
  if (context_) return skip(most);
  const off_t here = ftello(file_.get());
  if (here < 0 || fseeko(file_.get(), 0, SEEK_END) != 0) {
    throw FileError(fmt::format("dataset: {}: {}; check its disk, or give another file", path_, errno_text(errno)));
  }
  return static_cast<std::uint64_t>(std::max<off_t>(ftello(file_.get()) - here, 0));
}

}  // namespace rashpa::dataset
