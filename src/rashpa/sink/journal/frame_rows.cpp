// SPDX-License-Identifier: Apache-2.0
#include "rashpa/sink/journal/frame_rows.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>
#include <system_error>
#include <type_traits>

#include "rashpa/core/error.hpp"
#include "rashpa/core/numbers/checksum.hpp"
#include "rashpa/sink/journal/journal_format.hpp"
#include "rashpa/sink/journal/journal_reader.hpp"

namespace rashpa::sink {
namespace {

/// Returns true when all of it was written; errno says why not.
bool write_all(int file, std::span<const std::byte> bytes, std::uint64_t offset) {
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(file, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(written));
    offset += static_cast<std::uint64_t>(written);
  }
  return true;
}

std::array<std::uint32_t, kMostTables> rows_of(const StackImage& image) noexcept {
  std::array<std::uint32_t, kMostTables> rows{};
  for (std::size_t t = 0; t < rows.size(); ++t) rows[t] = image.tables[t].rows;
  return rows;
}

/// The name of an open file, for messages.
std::string file_of(int file) {
  std::error_code unknown;
  const auto name = std::filesystem::read_symlink(fmt::format("/proc/self/fd/{}", file), unknown);
  return unknown ? "its file" : name.string();
}

}  // namespace

std::size_t FrameRows::record_bytes() const noexcept { return sink::record_bytes(columns(), has_places_); }

FrameRows::FrameRows(int journal, const JournalHeader& header, const Reserve& reserve)
    : journal_(journal), header_(header), reserve_(reserve) {
  const std::uint64_t images = header.end_known() ? header.images : kBlock;
  rows_.reserve(images);
  scalars_.reserve(images * columns());
  raw_.reserve(images);
  const std::vector<std::byte> block = block_of(header.results);
  JournalHead first{.images = header.images,
                    .every = header.slice.every,
                    .phase = header.slice.phase,
                    .width = header.width,
                    .height = header.height,
                    .pixel = static_cast<std::uint32_t>(header.pixel),
                    .form = static_cast<std::uint32_t>(header.form),
                    .version = version_of(header.form)};
  first.crc = first.own_crc();
  end_ = sizeof(first) + block.size();
  int code = take_room(images);
  if (code == 0 && !(write_all(journal_, bytes_of(first), 0) && write_all(journal_, block, sizeof(first))))
    code = errno;
  if (code == 0) return;
  const std::string sink = sink_of(header.form);
  if (code != ENOSPC && code != EDQUOT) {
    throw FileError(
        fmt::format("{}{}: the journal of the tables cannot be written: {}; look at the disk, or choose another folder",
                    sink, file_of(journal_), errno_text(code)));
  }
  throw FileError(
      fmt::format("{}no room for the tables of {} images, {:.1f} MB: {}; free some space or choose another folder",
                  sink, images, static_cast<double>(room_of(images)) * 1e-6, errno_text(code)));
}

// Bytes of a journal with `images` more rows and the needs of completing.
std::uint64_t FrameRows::room_of(std::uint64_t images) const noexcept {
  return end_ + images * record_bytes() + reserve_.fixed + (noted_ + images) * reserve_.image;
}

// Makes room for more images. Returns 0, or the reason why there is none.
int FrameRows::take_room(std::uint64_t images) noexcept {
  const int code = ::posix_fallocate(journal_, 0, static_cast<off_t>(room_of(images)));
  if (code == 0) room_ = noted_ + images;
  return code;
}

FrameRows::FrameRows(int journal) : journal_(journal) {
  JournalReader reader(journal);
  header_ = reader.header();
  has_places_ = reader.has_places();
  while (const JournalReader::Record* record = reader.next()) {
    rows_.push_back(record->row);
    scalars_.insert(scalars_.end(), record->scalars.begin(), record->scalars.end());
    lost_.insert(lost_.end(), record->lost.begin(), record->lost.end());
    raw_.push_back(record->raw);
  }
  end_ = reader.end();
  noted_ = rows_.size();
  noted_lost_ = lost_.size();
}

void FrameRows::append(const StackImage& image, ErrorReason result, const StoredPlace& stored, const RawPlace& raw) {
  const bool kept = result == ErrorReason::none;
  const bool there = kept && stored.file != 0;
  rows_.push_back({.index = image.index,
                   .frame_number = image.frame_number,
                   .timestamp_ns = image.timestamp_ns,
                   .stored = stored,
                   .flags = image.flags,
                   .measured = static_cast<std::uint16_t>(image.measured ? 1 : 0),
                   .profiles = static_cast<std::uint16_t>(there && !header_.results.profiles.empty() ? 1 : 0),
                   .table_rows = there ? rows_of(image) : std::array<std::uint32_t, kMostTables>{},
                   .lost_runs = image.lost_count,
                   .completeness = image.completeness,
                   .decision = kept ? image.decision : Decision::errored,
                   .reason = kept ? image.reason : VetoReason::none,
                   .error = kept ? image.error : result});
  scalars_.insert(scalars_.end(), image.scalars.begin(),
                  image.scalars.begin() + static_cast<std::ptrdiff_t>(columns()));
  lost_.insert(lost_.end(), image.lost, image.lost + image.lost_count);
  raw_.push_back(raw);
}

void FrameRows::append(const FrameRows& from, std::size_t image, const StoredPlace& stored, const RawPlace& raw) {
  if (image == 0) taken_ = taken_lost_ = 0;
  FrameRow row = from.rows_[image];
  row.stored = stored;
  rows_.push_back(row);
  raw_.push_back(raw);
  raw_.back().rows_crc32c = from.raw_[image].rows_crc32c;
  for (std::size_t column = 0; column < columns(); ++column) scalars_.push_back(from.scalar(image, column));
  for (; taken_ < image; ++taken_) taken_lost_ += from.rows_[taken_].lost_runs;
  const auto lost = from.lost_.begin() + static_cast<std::ptrdiff_t>(taken_lost_);
  lost_.insert(lost_.end(), lost, lost + row.lost_runs);
}

void FrameRows::append(const SkippedImage& image) {
  FrameRow row;
  row.index = image.index;
  row.frame_number = image.frame_number;
  row.completeness = image.completeness;
  row.decision = image.decision;
  row.reason = image.reason;
  row.error = image.error;
  rows_.push_back(row);
  add_no_scalars();
  raw_.emplace_back();
}

// Of an image of which nobody knows any.
void FrameRows::add_no_scalars() {
  for (const Column& column : header_.results.columns) {
    scalars_.push_back(column.of_header ? Scalar::of_integer(kNoHeader) : Scalar());
  }
}

void FrameRows::add_record(std::size_t image, const LostRun* lost) {
  const std::size_t at = records_.size();
  const FrameRow& row = rows_[image];
  const std::size_t scalar_bytes = columns() * sizeof(Scalar);
  const std::size_t lost_bytes = row.lost_runs * sizeof(LostRun);
  const std::size_t raw_bytes = has_places_ ? sizeof(RawPlace) : 0;
  records_.resize(at + record_bytes() + lost_bytes);
  std::byte* to = records_.data() + at;
  std::memcpy(to, &row, sizeof(row));
  to += sizeof(row);
  if (scalar_bytes > 0) std::memcpy(to, scalars_.data() + image * columns(), scalar_bytes);
  to += scalar_bytes;
  if (raw_bytes > 0) std::memcpy(to, &raw_[image], raw_bytes);
  to += raw_bytes;
  if (lost_bytes > 0) std::memcpy(to, lost, lost_bytes);
  to += lost_bytes;
  const std::uint32_t crc = crc32c(std::span(records_).first(records_.size() - sizeof(std::uint32_t)).subspan(at));
  std::memcpy(to, &crc, sizeof(crc));
}

bool FrameRows::note() {
  records_.clear();
  std::size_t lost = noted_lost_;
  for (std::size_t i = noted_; i < rows_.size(); ++i) {
    add_record(i, lost_.data() + lost);
    lost += rows_[i].lost_runs;
  }
  if (!write_all(journal_, records_, end_)) return false;
  end_ += records_.size();
  noted_ = rows_.size();
  noted_lost_ = lost;
  // Room that cannot be had now may be had with the next stack; without it the rows still find their place, or do not.
  if (!header_.end_known() && noted_ + kBlock / 2 > room_) static_cast<void>(take_room(kBlock));
  return true;
}

bool FrameRows::sync() const noexcept { return ::fsync(journal_) == 0; }

void FrameRows::give_back_reserve() noexcept {
  // Room that cannot be given back is only room.
  [[maybe_unused]] const int done = ::ftruncate(journal_, static_cast<off_t>(end_));
}

std::uint64_t FrameRows::lasted_ns() const noexcept {
  std::uint64_t first = 0, last = 0;
  for (const FrameRow& row : rows_) {
    if (row.timestamp_ns == 0) continue;
    first = first == 0 ? row.timestamp_ns : std::min(first, row.timestamp_ns);
    last = std::max(last, row.timestamp_ns);
  }
  return last - first;
}

void FrameRows::fill_up() {
  while (header_.end_known() && rows_.size() < header_.images) {
    FrameRow row;
    row.index = rows_.size();
    row.frame_number = header_.slice.frame(row.index);
    rows_.push_back(row);
    add_no_scalars();
  }
  raw_.resize(rows_.size());
}

}  // namespace rashpa::sink
