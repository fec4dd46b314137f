// SPDX-License-Identifier: Apache-2.0
#include "rashpa/feedback/ring_reader.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/futex.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>

#include "rashpa/core/error.hpp"
#include "rashpa/core/system/pause.hpp"
#include "rashpa/core/system/writer_lock.hpp"
#include "rashpa/core/time/clock.hpp"

namespace rashpa::feedback {

namespace {

/// Silence after which a reader looks whether the writer is still there.
constexpr std::chrono::milliseconds kLongestSleep{100};
/// A reader that was lapped goes on this share of the ring behind the newest entry, so that it is not lapped at once.
constexpr std::uint64_t kShare = 2;

}  // namespace

RingReader::RingReader(const std::string& path, Begin begin) : path_(path) {
  open(path);
  check_layout();
  std::uint64_t record = entry::kScalars + columns_;
  for (const TableShape& table : tables_) record += table.bytes() / kWordBytes;
  record_.resize(record);
  const std::uint64_t published = load(words_[head::kPublished]);
  if (begin == Begin::next) {
    next_ = published;
  } else if (published > entries_) {
    next_ = published - entries_ + entries_ / kShare;
  }
}

void RingReader::open(const std::string& path) {
  file_ = FileDescriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file_.get() < 0) {
    const int code = errno;
    throw FileError(
        fmt::format("feedback: {} cannot be opened: {}; start a run that publishes there", path, errno_text(code)));
  }
  struct stat facts {};
  if (::fstat(file_.get(), &facts) != 0 || !S_ISREG(facts.st_mode)) damaged("it is no regular file");
  bytes_ = static_cast<std::uint64_t>(facts.st_size);
  if (bytes_ < head::kWords * kWordBytes) damaged("it is shorter than the head of a ring");
  if (bytes_ > kMostFileBytes) damaged("it is longer than any ring");
  mapping_ = memory::FileMapping(file_.get(), bytes_, memory::FileAccess::read);
  if (mapping_.data() == nullptr)
    throw FileError(
        fmt::format("feedback: {} cannot be mapped: {}; free memory of this machine", path, errno_text(errno)));
  words_ = static_cast<const std::uint64_t*>(mapping_.data());
}

std::uint64_t RingReader::fixed(std::size_t word, std::uint64_t least, std::uint64_t most, const char* what) const {
  const std::uint64_t value = load(words_[word]);
  if (value < least || value > most)
    damaged(fmt::format("its {} is {}, which is not within {} … {}", what, value, least, most));
  return value;
}

void RingReader::check_layout() {
  if (load(words_[head::kMagic]) != kMagic) damaged("it does not begin as a ring does");
  if (const std::uint64_t version = load(words_[head::kVersion]); version != kVersion)
    throw FileError(
        fmt::format("feedback: {} is a ring of version {}, and this program reads version {}; use the "
                    "rashpa of the receiver that writes it",
                    path_, version, kVersion));
  if (const std::uint64_t told = load(words_[head::kFileBytes]); told != bytes_)
    damaged(fmt::format("it has {} bytes and says {}", bytes_, told));
  const auto place = [&](std::size_t word, std::uint64_t bytes, const char* what) {
    const std::uint64_t at = fixed(word, head::kWords * kWordBytes, bytes_, what);
    if (at % kWordBytes != 0 || bytes > bytes_ - at) damaged(fmt::format("its {} is outside the file", what));
    return words_ + at / kWordBytes;
  };
  const std::uint64_t text = fixed(head::kDescriptionBytes, 0, kMostDescriptionBytes, "description");
  const std::uint64_t* const described = place(head::kDescriptionAt, text, "description");
  description_.assign(reinterpret_cast<const char*>(described), text);
  columns_ = fixed(head::kColumns, 0, kMostColumnsOfFile, "number of columns");
  tables_.resize(fixed(head::kTables, 0, kMostTables, "number of tables"));
  for (std::size_t t = 0; t < tables_.size(); ++t) {
    const std::uint64_t shape = load(words_[head::kTable + t]);
    tables_[t] = {static_cast<std::uint32_t>(shape), static_cast<std::uint32_t>(shape >> 32U)};
    if (tables_[t].columns > kMostTableColumns || tables_[t].capacity > kMostTableRows)
      damaged(fmt::format("its table {} has {} columns and {} rows", t, tables_[t].columns, tables_[t].capacity));
  }
  entries_ = fixed(head::kEntries, 1, kMostEntries, "number of entries");
  const std::uint64_t least = (entry::kScalars + columns_) * kWordBytes;
  const std::uint64_t entry_bytes = fixed(head::kEntryBytes, least, 1U << 16U, "size of an entry");
  if (entry_bytes % kWordBytes != 0) damaged("its entries are no whole words");
  entry_words_ = entry_bytes / kWordBytes;
  entries_at_ = place(head::kEntriesAt, entries_ * entry_bytes, "entries");
  rows_bytes_ = fixed(head::kRowsBytes, 0, bytes_, "room for rows");
  rows_at_ = place(head::kRowsAt, rows_bytes_, "room for rows");
  if (rows_bytes_ % kWordBytes != 0) damaged("its room for rows is no whole words");
}

void RingReader::go_to(std::uint64_t position) noexcept {
  const std::uint64_t published = load(words_[head::kPublished]);
  next_ = std::min(position, published);
  if (published - next_ > entries_) skip(published);
}

Got RingReader::next() {
  for (;;) {
    const bool ended = load(words_[head::kEnded]) != 0;
    const std::uint64_t published = load(words_[head::kPublished]);
    if (published < next_) damaged("its count of entries went back");
    if (published == next_) {
      check_whole();
      return ended ? Got::ended : Got::nothing;
    }
    if (published - next_ <= entries_ && copy_entry()) {
      check_whole();
      ++next_;
      return Got::record;
    }
    skip(load(words_[head::kPublished]));
  }
}

// Called after an entry was found written over: computes the loss, and the place to go on.
void RingReader::skip(std::uint64_t published) noexcept {
  const std::uint64_t kept = entries_ / kShare;
  const std::uint64_t to = std::max(published > kept ? published - kept : 0, next_ + 1);
  lost_ += to - next_;
  next_ = to;
}

bool RingReader::copy_entry() {
  const std::uint64_t* const words = entries_at_ + next_ % entries_ * entry_words_;
  const std::uint64_t whole = 2 * next_ + 2;
  const std::uint64_t before = load(words[entry::kSequence]);
  if (before < whole) damaged(fmt::format("entry {} was published and is not there", next_));
  if (before > whole) return false;
  record_words_ = entry::kScalars + columns_;
  for (std::size_t w = 0; w < record_words_; ++w) record_[w] = load(words[w]);
  // The copy is one entry before anything of it is followed, and rows are those of the entry when both still stand.
  if (load(words[entry::kSequence]) != whole) return false;
  return copy_rows();
}

bool RingReader::copy_rows() {
  for (std::size_t t = 0; t < tables_.size(); ++t) {
    const std::uint64_t from = record_[entry::rows_at(t)];
    const std::uint64_t rows = record_[entry::rows_at(t) + 1];
    if (rows > tables_[t].capacity) damaged(fmt::format("entry {} has {} rows in table {}", next_, rows, t));
    const std::uint64_t bytes = rows * tables_[t].row_bytes();
    if (bytes == 0) continue;
    if (rows_bytes_ == 0 || from % kWordBytes != 0 || bytes > rows_bytes_ - from % rows_bytes_)
      damaged(fmt::format("rows of entry {} lie outside their room", next_));
    const std::uint64_t* const words = rows_at_ + from % rows_bytes_ / kWordBytes;
    for (std::uint64_t w = 0; w < bytes / kWordBytes; ++w) record_[record_words_ + w] = load(words[w]);
    record_words_ += bytes / kWordBytes;
    const std::uint64_t reserved = load(words_[head::kReserved]);
    if (reserved < from || reserved - from < bytes) damaged(fmt::format("rows of entry {} were never written", next_));
    if (reserved - from > rows_bytes_) return false;
  }
  return true;
}

Got RingReader::next(std::chrono::nanoseconds timeout, Wait wait) {
  const std::int64_t until = now_ns() + timeout.count();
  std::int64_t look = now_ns() + std::chrono::nanoseconds(kLongestSleep).count();
  for (;;) {
    const std::uint64_t seen = load(words_[head::kBell]);
    if (const Got got = next(); got != Got::nothing) return got;
    const std::int64_t now = now_ns();
    if (now >= look || now >= until) {
      // First check that it is gone, then look again: so its last entries are read.
      const bool gone = writer_is_gone();
      if (const Got got = next(); got != Got::nothing) return got;
      if (gone)
        throw FileError(
            fmt::format("feedback: the receiver that wrote {} has gone without ending it, after entry {}; "
                        "read its log, then start the run again",
                        path_, next_));
      look = now + std::chrono::nanoseconds(kLongestSleep).count();
    }
    if (now >= until) return Got::nothing;
    if (wait == Wait::spin) {
      for (int i = 0; i < 16; ++i) pause_spinning();
      continue;
    }
    const std::int64_t left = std::min(until, look) - now;
    const timespec limit{.tv_sec = left / 1'000'000'000, .tv_nsec = left % 1'000'000'000};
    // The kernel reads the word, and nothing is written: a mapping to read is enough.
    ::syscall(SYS_futex, &words_[head::kBell], FUTEX_WAIT, static_cast<std::uint32_t>(seen), &limit, nullptr, 0);
  }
}

bool RingReader::writer_is_gone() const noexcept { return lacks_writer(file_.get()); }

void RingReader::check_whole() const {
  if (!mapping_.cut()) return;
  throw FileError(fmt::format(
      "feedback: {} was cut by another process, after entry {}; keep others from this file, and start the run again",
      path_, next_));
}

void RingReader::damaged(std::string_view what) const {
  check_whole();  // a ring that was cut reads as zeros: the cut is the fault to report then
  throw FileError(
      fmt::format("feedback: {} is no ring that can be read: {}; give the ring of a run of this release", path_, what));
}

}  // namespace rashpa::feedback
