// SPDX-License-Identifier: Apache-2.0
#include "rashpa/sink/journal/journal_reader.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "rashpa/core/error.hpp"
#include "rashpa/sink/journal/journal_format.hpp"

namespace rashpa::sink {
namespace {

constexpr std::uint32_t kLatestVersion = 3;
constexpr std::size_t kPiece = 1U << 18U;  // bytes read at a time, at least

/// Returns true when a row's enumerators exist; the row may come from anywhere.
bool is_possible(const FrameRow& row) noexcept {
  return row.completeness <= Completeness::missing && static_cast<std::uint8_t>(row.decision) <= 3 &&
         static_cast<std::size_t>(row.error) < kErrorReasons;
}

/// Returns true when kernels have seen the pixels of a row of version 1: darks and refused partial images are vetoed
/// without a look.
bool was_processed(const FrameRow& row) noexcept {
  if (row.decision == Decision::none) return false;
  return row.reason != VetoReason::dark && row.reason != VetoReason::partial;
}

std::uint64_t size_of(int file) {
  struct stat found {};
  if (::fstat(file, &found) != 0)
    throw FileError("journal: it cannot be read: " + errno_text(errno) + "; check its disk");
  return static_cast<std::uint64_t>(found.st_size);
}

}  // namespace

JournalReader::JournalReader(int journal) : journal_(journal) {
  if (read_head()) return;
  throw FileError("journal: its beginning is not what a run of this version writes; nothing can be taken from it");
}

// `bytes` from at_ on are in next_; false when the file has fewer.
bool JournalReader::have(std::size_t bytes) {
  if (at_ < read_at_ || at_ + bytes > read_at_ + read_.size()) {
    const std::uint64_t size = size_of(journal_);
    if (size < at_ || size - at_ < bytes) return false;
    read_.resize(std::min<std::uint64_t>(std::max(bytes, kPiece), size - at_));
    read_at_ = at_;
    std::size_t got = 0;
    while (got < read_.size()) {
      const ssize_t more =
          ::pread(journal_, read_.data() + got, read_.size() - got, static_cast<off_t>(read_at_ + got));
      if (more < 0 && errno == EINTR) continue;
      if (more < 0) throw FileError("journal: it cannot be read: " + errno_text(errno) + "; check its disk");
      if (more == 0) break;
      got += static_cast<std::size_t>(more);
    }
    read_.resize(got);
    if (got < bytes) return false;
  }
  next_ = std::span<const std::byte>(read_).subspan(at_ - read_at_, bytes);
  return true;
}

bool JournalReader::read_head() {
  JournalHead head;
  const JournalHead expected;
  if (!have(sizeof(head))) return false;
  std::memcpy(&head, next_.data(), sizeof(head));
  const bool known = head.magic == expected.magic && head.crc == head.own_crc() && head.version >= 1 &&
                     head.version <= kLatestVersion && head.pixel <= static_cast<std::uint32_t>(PixelType::f32) &&
                     head.form <= static_cast<std::uint32_t>(ImageForm::raw);
  if (!known) return false;
  at_ = sizeof(head);
  Results results;
  if (head.version == 1) {
    results.columns = {{"bright_pixels"}, {"masked_pixels"}, {"saturated_pixels"}};
  } else {
    if (!have(sizeof(std::uint32_t)) || !have(block_bytes(next_)) || !read_block(next_, results)) return false;
    at_ += next_.size();
  }
  version_ = head.version;
  header_ = {.images = head.images,
             .slice = {head.every, head.phase},
             .width = head.width,
             .height = head.height,
             .pixel = static_cast<PixelType>(head.pixel),
             .form = static_cast<ImageForm>(head.form),
             .results = std::move(results)};
  return true;
}

// True when a whole record was found at at_: its row is in record_, its bytes are in next_.
bool JournalReader::find(std::size_t fixed) {
  if (!have(fixed)) return false;
  FrameRow row{};
  std::memcpy(&row, next_.data(), sizeof(row));
  std::uint32_t crc = 0;
  if (!have(fixed + std::uint64_t{row.lost_runs} * sizeof(LostRun))) return false;
  std::memcpy(&crc, next_.data() + next_.size() - sizeof(crc), sizeof(crc));
  // All zeros are no record: their checksum is not 0.
  if (crc32c(next_.first(next_.size() - sizeof(crc))) != crc || !is_possible(row)) return false;
  record_.row = row;  // earlier results stay as they are until then
  return true;
}

const JournalReader::Record* JournalReader::next() {
  if (rows_ == header_.images) return nullptr;
  const std::size_t scalars = version_ == 1 ? 0 : header_.results.columns.size();  // behind the row
  const std::size_t fixed = record_bytes(scalars, has_places());
  bool found = find(fixed);
  if (!found) {
    read_.clear();  // bytes read with the record before may have been written since
    found = find(fixed);
  }
  if (!found) return nullptr;
  const FrameRow& row = record_.row;
  record_.scalars.resize(scalars);
  record_.lost.resize(row.lost_runs);
  const std::byte* from = next_.data() + sizeof(row);
  const auto take = [&from](void* to, std::size_t bytes) {
    if (bytes != 0) std::memcpy(to, from, bytes);
    from += bytes;
  };
  take(record_.scalars.data(), scalars * sizeof(Scalar));
  if (has_places()) take(&record_.raw, sizeof(record_.raw));
  take(record_.lost.data(), row.lost_runs * sizeof(LostRun));
  if (version_ == 1) take_old_columns();
  at_ += next_.size();
  ++rows_;
  return &record_;
}

void JournalReader::take_old_columns() {
  FrameRow& row = record_.row;
  const std::uint32_t bright = row.measured | static_cast<std::uint32_t>(row.profiles) << 16U;
  record_.scalars = {Scalar::of_count(bright), Scalar::of_count(row.table_rows[0]),
                     Scalar::of_count(row.table_rows[1])};
  row.measured = was_processed(row) ? 1 : 0;
  row.profiles = 0;
  row.table_rows = {};
}

}  // namespace rashpa::sink
