// SPDX-License-Identifier: Apache-2.0
#include "rashpa/sink/raw/raw_part.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <utility>

#include "rashpa/core/error.hpp"

namespace rashpa::sink {
namespace {

/// The alignment that the file system demands of addresses; 0: it does not say.
std::size_t asked_alignment([[maybe_unused]] int file) noexcept {
#ifdef STATX_DIOALIGN
  struct statx found {};
  if (::statx(file, "", AT_EMPTY_PATH, STATX_DIOALIGN, &found) == 0 && (found.stx_mask & STATX_DIOALIGN) != 0) {
    return found.stx_dio_mem_align;
  }
#endif
  return 0;
}

}  // namespace

RawPart::RawPart(const std::filesystem::path& path, const RawHeader& header) : header_(header) {
  const auto refuse = [&](const std::string& what, int code, const char* hint) {
    if (file_ >= 0) {
      ::close(file_);
      ::unlink(path.c_str());
    }
    throw FileError(fmt::format("raw sink: {} {}: {}; {}", what, path.string(), errno_text(code), hint));
  };
  constexpr int kNew = O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC;
  file_ = ::open(path.c_str(), kNew | O_DIRECT, 0666);
  if (file_ < 0 && errno == EINVAL) {
    ::unlink(path.c_str());
    file_ = ::open(path.c_str(), kNew, 0666);
    remark_ = "the file system has no O_DIRECT: images go through the page cache";
  }
  if (file_ < 0) refuse("cannot create", errno, "change the folder's permissions, or [output]");
  struct stat found {};
  if (::fstat(file_, &found) != 0) refuse("cannot look at", errno, "choose another folder");
  device_ = found.st_dev;
  inode_ = found.st_ino;
  const std::uint64_t room = header.offset_of(header.slots);
  if (::fallocate(file_, 0, 0, static_cast<off_t>(room)) != 0) {
    if (errno != EOPNOTSUPP) {
      refuse(fmt::format("no room for {} images, {:.1f} GB, in", header.slots, static_cast<double>(room) * 1e-9), errno,
             "make room, or set a smaller images_per_file");
    }
    remark_ += fmt::format("{}the file system takes no room beforehand", remark_.empty() ? "" : "; ");
  }
  try {
    write_header();
  } catch (const FileError&) {
    ::close(file_);
    ::unlink(path.c_str());
    throw;
  }
  if (const std::size_t asked = asked_alignment(file_); asked > 0) memory_alignment_ = asked;
}

RawPart::RawPart(RawPart&& other) noexcept
    : count(other.count),
      synced(other.synced),
      stored(other.stored),
      syncing(other.syncing),
      lost(std::move(other.lost)),
      file_(std::exchange(other.file_, -1)),
      device_(other.device_),
      inode_(other.inode_),
      header_(other.header_),
      memory_alignment_(other.memory_alignment_),
      remark_(std::move(other.remark_)) {}

RawPart::~RawPart() {
  if (file_ >= 0) ::close(file_);
}

// A disk without room says so when it is asked for the rest.
constexpr int kHeaderAttempts = 16;

void RawPart::write_header() {
  alignas(kBlockAlignment) std::array<std::byte, kRawHeader> bytes;
  encode(header_, bytes);
  // Whole again where a part was taken: O_DIRECT goes on at no odd place.
  const auto write_whole = [&] {
    ssize_t written = 0;
    for (int attempt = 0; attempt < kHeaderAttempts; ++attempt) {
      written = ::pwrite(file_, bytes.data(), bytes.size(), 0);
      if (written < 0 || written == static_cast<ssize_t>(bytes.size())) break;
    }
    return written;
  };
  ssize_t done = write_whole();
  if (done < 0 && errno == EINVAL && remark_.empty()) {  // some file systems open it so, and then refuse
    ::fcntl(file_, F_SETFL, 0);
    remark_ = "the file system refuses O_DIRECT: images go through the page cache";
    done = write_whole();
  }
  if (done == static_cast<ssize_t>(bytes.size())) return;
  throw FileError("raw sink: cannot write the header of a raw file: " + errno_text(done < 0 ? errno : ENOSPC) +
                  "; check the space on the disk");
}

bool RawPart::is_at(const std::filesystem::path& path) const noexcept {
  struct stat found {};
  return ::stat(path.c_str(), &found) == 0 && found.st_dev == device_ && found.st_ino == inode_;
}

std::string RawPart::close(std::uint64_t images) noexcept {
  const int file = std::exchange(file_, -1);
  const bool cut = ::ftruncate(file, static_cast<off_t>(header_.offset_of(images))) == 0;
  const bool synced_well = ::fsync(file) == 0;
  const int code = errno;
  ::close(file);
  return cut && synced_well ? std::string() : errno_text(code);
}

}  // namespace rashpa::sink
