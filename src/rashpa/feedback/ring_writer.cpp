// SPDX-License-Identifier: Apache-2.0
#include "rashpa/feedback/ring_writer.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <climits>
#include <cstring>

#include "rashpa/core/error.hpp"
#include "rashpa/core/log.hpp"
#include "rashpa/core/system/page.hpp"
#include "rashpa/core/system/writer_lock.hpp"
#include "rashpa/core/time/clock.hpp"

namespace rashpa::feedback {

namespace {

constexpr std::uint64_t kLine = 64;
constexpr std::uint64_t kUsualRowsBytes = 16U << 20U;
constexpr int kTries = 100;

constexpr std::uint64_t up(std::uint64_t value, std::uint64_t to) noexcept { return (value + to - 1) / to * to; }

std::uint64_t rows_bytes_of(const RingSize& size) noexcept {
  std::uint64_t of_image = 0;
  for (const TableShape& table : size.tables) of_image += table.bytes();
  if (of_image == 0) return 0;
  const std::uint64_t usual = std::min(kUsualRowsBytes, size.entries * of_image);
  return up(std::max(size.rows_bytes == 0 ? usual : size.rows_bytes, 2 * of_image), kPage);
}

/// A new one, which no reader has had time to lock before its writer, as one may want to.
FileDescriptor new_file(const std::string& path) {
  FileDescriptor file;
  for (int left = kTries; left > 0; --left) {
    file = FileDescriptor(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
    if (file.get() < 0 || take_writer_lock(file.get()) != WriterLock::readers) break;
    ::unlink(path.c_str());
  }
  return file;
}

/// Throws ConfigError when what lies there is not a ring that its writer has left.
void check_free(const std::string& path) {
  const FileDescriptor old(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  if (old.get() < 0) {
    if (errno == ENOENT) return;
    throw ConfigError(fmt::format("feedback: {} is there and cannot be read: {}; give the ring another name", path,
                                  errno_text(errno)));
  }
  struct stat facts {};
  std::uint64_t magic = 0;
  const bool is_ring = ::fstat(old.get(), &facts) == 0 && S_ISREG(facts.st_mode) &&
                       ::pread(old.get(), &magic, sizeof magic, 0) == sizeof magic && magic == kMagic;
  if (!is_ring)
    throw ConfigError(fmt::format("feedback: {} is there and is no ring; give the ring another name", path));
  if (has_writer(old.get()))
    throw ConfigError(fmt::format("feedback: another receiver writes the ring {}; give this one another name", path));
}

}  // namespace

RingWriter::RingWriter(const std::string& path, std::string_view description, const RingSize& size)
    : path_(path), size_(size) {
  const std::uint64_t description_bytes = up(description.size(), kLine);
  size_.rows_bytes = rows_bytes_of(size);
  entry_words_ = up((entry::kScalars + size.columns) * kWordBytes, kLine) / kWordBytes;
  const std::uint64_t entries_at = up(head::kWords * kWordBytes + description_bytes, kPage);
  const std::uint64_t rows_at = up(entries_at + size.entries * entry_words_ * kWordBytes, kPage);
  const std::uint64_t bytes = rows_at + size_.rows_bytes;
  if (size.entries == 0 || size.entries > kMostEntries || bytes > kMostFileBytes ||
      description.size() > kMostDescriptionBytes)
    throw ConfigError(fmt::format("feedback: a ring of {} images and {} bytes is none; 1 … {} images", size.entries,
                                  bytes, kMostEntries));
  std::string temporary;
  if (path.empty()) {
    file_ = FileDescriptor(::memfd_create("rashpa-feedback", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  } else {
    check_free(path);
    temporary = fmt::format("{}.{}.{}", path, ::getpid(), now_ns());
    file_ = new_file(temporary);
  }
  if (file_.get() >= 0 && take_writer_lock(file_.get()) == WriterLock::none) {
    log::write(log::Level::warning, {}, "feedback: {} cannot be locked ({}): readers do not see when its writer dies",
               path, errno_text(errno));
  }
  const auto failed = [&](int code) {
    if (!temporary.empty()) ::unlink(temporary.c_str());
    return ResourceError(
        fmt::format("feedback: no ring of {} bytes at {}: {}; make room there, or ask for fewer images", bytes,
                    path.empty() ? "memory" : path, errno_text(code)));
  };
  if (file_.get() < 0) {
    const int code = errno;
    temporary.clear();
    throw failed(code);
  }
  // All of it, now: a page that the file system has no room for later would end the process.
  if (const int code = ::posix_fallocate(file_.get(), 0, static_cast<off_t>(bytes)); code != 0) throw failed(code);
  // One without a name is sealed; one that others open by its name may be cut by them.
  if (path.empty() && ::fcntl(file_.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0) throw failed(errno);
  mapping_ = memory::FileMapping(file_.get(), bytes, memory::FileAccess::write);
  if (mapping_.data() == nullptr) throw failed(errno);
  // A reader of one without a name, by its descriptor, cannot write there; Linux before 5.1 has no such seal.
  if (path.empty() && ::fcntl(file_.get(), F_ADD_SEALS, F_SEAL_FUTURE_WRITE | F_SEAL_SEAL) != 0)
    ::fcntl(file_.get(), F_ADD_SEALS, F_SEAL_SEAL);
  words_ = static_cast<std::uint64_t*>(mapping_.data());
  entries_at_ = entries_at / kWordBytes;
  rows_at_ = rows_at / kWordBytes;

  std::memcpy(words_ + head::kWords, description.data(), description.size());
  words_[head::kVersion] = kVersion;
  words_[head::kFileBytes] = bytes;
  words_[head::kDescriptionAt] = head::kWords * kWordBytes;
  words_[head::kDescriptionBytes] = description.size();
  words_[head::kEntriesAt] = entries_at;
  words_[head::kEntries] = size.entries;
  words_[head::kEntryBytes] = entry_words_ * kWordBytes;
  words_[head::kRowsAt] = rows_at;
  words_[head::kRowsBytes] = size_.rows_bytes;
  words_[head::kColumns] = size.columns;
  words_[head::kTables] = size_.tables.size();
  for (std::size_t t = 0; t < size_.tables.size(); ++t)
    words_[head::kTable + t] = size_.tables[t].columns | std::uint64_t{size_.tables[t].capacity} << 32U;
  words_[head::kMagic] = kMagic;
  // Nobody sees the file before it is whole and locked.
  if (!temporary.empty() && ::rename(temporary.c_str(), path.c_str()) != 0) throw failed(errno);
}

RingWriter::~RingWriter() {
  end();
  if (path_.empty()) return;
  struct stat ours {};
  struct stat there {};
  const bool same = ::fstat(file_.get(), &ours) == 0 && ::lstat(path_.c_str(), &there) == 0 &&
                    ours.st_ino == there.st_ino && ours.st_dev == there.st_dev;
  if (same) ::unlink(path_.c_str());
}

void RingWriter::publish(const StackImage& image, std::int64_t decided_ns) noexcept {
  std::uint64_t* const at = words_ + entries_at_ + next_ % size_.entries * entry_words_;
  const std::span<std::uint64_t> words(at, entry_words_);
  store(words[entry::kSequence], 2 * next_ + 1);
  store(words[entry::kIndex], image.index);
  store(words[entry::kFrame], image.frame_number);
  store(words[entry::kTimestamp], image.timestamp_ns);
  store(words[entry::kFate], image.flags | std::uint64_t{static_cast<std::uint8_t>(image.completeness)} << 32U |
                                 std::uint64_t{static_cast<std::uint8_t>(image.decision)} << 40U |
                                 std::uint64_t{static_cast<std::uint8_t>(image.reason)} << 48U |
                                 std::uint64_t{static_cast<std::uint8_t>(image.error)} << 56U);
  store(words[entry::kLastPacket], static_cast<std::uint64_t>(image.last_packet_ns));
  store(words[entry::kDecided], static_cast<std::uint64_t>(decided_ns));
  store(words[entry::kMeasured], image.measured ? 1 : 0);
  for (std::size_t c = 0; c < size_.columns; ++c) store(words[entry::kScalars + c], image.scalars[c].count());
  copy_rows(image, words);
  store(words[entry::kPublished], static_cast<std::uint64_t>(now_ns()));
  store(words[entry::kSequence], 2 * next_ + 2);
  ++next_;
  store(words_[head::kPublished], next_);
}

void RingWriter::copy_rows(const StackImage& image, std::span<std::uint64_t> to) noexcept {
  for (std::size_t t = 0; t < size_.tables.size(); ++t) {
    const TableShape& shape = size_.tables[t];
    const std::uint32_t rows =
        image.decision == Decision::accepted ? std::min(image.tables[t].rows, shape.capacity) : 0;
    const std::uint64_t bytes = rows * shape.row_bytes();
    const std::uint64_t from = bytes == 0 ? reserved_ : row_place(reserved_, bytes, size_.rows_bytes);
    reserved_ = from + bytes;
    store(words_[head::kReserved], reserved_);
    std::uint64_t* const place = words_ + rows_at_ + (bytes == 0 ? 0 : from % size_.rows_bytes) / kWordBytes;
    for (std::uint64_t w = 0; w < bytes / kWordBytes; ++w) store(place[w], image.tables[t].values[w].count());
    store(to[entry::rows_at(t)], from);
    store(to[entry::rows_at(t) + 1], rows);
  }
}

void RingWriter::wake() noexcept {
  store(words_[head::kBell], words_[head::kBell] + 1);
  ::syscall(SYS_futex, &words_[head::kBell], FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void RingWriter::end() noexcept {
  store(words_[head::kEnded], 1);
  wake();
}

std::uint64_t RingWriter::most_record_bytes() const noexcept {
  std::uint64_t bytes = words_[head::kDescriptionBytes] + entry_words_ * kWordBytes;
  for (const TableShape& table : size_.tables) bytes += table.bytes();
  return bytes;
}

std::string RingWriter::open_path() const {
  return path_.empty() ? fmt::format("/proc/self/fd/{}", file_.get()) : path_;
}

}  // namespace rashpa::feedback
