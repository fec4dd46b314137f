// SPDX-License-Identifier: Apache-2.0
#include "rashpa/sink/frame_rows.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <span>
#include <type_traits>

#include "rashpa/core/checksum.hpp"
#include "rashpa/core/error.hpp"

namespace rashpa::sink {
namespace {

/// In the byte order of the machine: a journal is read where it was written, or on its like.
struct Header {
  std::uint64_t magic = 0x314C4E4A41485352;  // "RSHAJNL1" in memory
  std::uint64_t images = 0, every = 1, phase = 0;
  std::uint32_t width = 0, height = 0;
  std::uint32_t pixel = 0, form = 0;
  std::uint32_t version = 2;  // 1: three columns that all pipelines had, in the row itself
  std::uint32_t crc = 0;
};
static_assert(std::is_trivially_copyable_v<FrameRow> && sizeof(FrameRow) == 64);
static_assert(std::is_trivially_copyable_v<LostRun> && sizeof(LostRun) == 12);
static_assert(std::is_trivially_copyable_v<Scalar> && sizeof(Scalar) == 8);

/// Bytes of a record without its lost runs.
constexpr std::size_t record_bytes(std::size_t columns) noexcept {
  return sizeof(FrameRow) + columns * sizeof(Scalar) + sizeof(std::uint32_t);
}

template <typename T>
std::span<const std::byte> bytes_of(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

std::uint32_t crc_of(const Header& header) {
  return crc32c(bytes_of(header).first(sizeof(Header) - sizeof(header.crc)));
}

/// True when all of it was written; errno says why not.
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

std::vector<std::byte> read_all(int file) {
  struct stat found {};
  if (::fstat(file, &found) != 0) throw FileError("journal: cannot be read: " + errno_text(errno));
  std::vector<std::byte> bytes(static_cast<std::size_t>(found.st_size));
  std::size_t have = 0;
  while (have < bytes.size()) {
    const ssize_t got = ::pread(file, bytes.data() + have, bytes.size() - have, static_cast<off_t>(have));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    have += static_cast<std::size_t>(got);
  }
  bytes.resize(have);
  return bytes;
}

/// Of a row of version 1, whether kernels have seen its pixels: darks and refused partial images are vetoed without a
/// look.
bool was_processed(const FrameRow& row) noexcept {
  if (row.decision == Decision::none) return false;
  return row.reason != VetoReason::dark && row.reason != VetoReason::partial;
}

std::array<std::uint32_t, kMostTables> rows_of(const StackImage& image) noexcept {
  std::array<std::uint32_t, kMostTables> rows{};
  for (std::size_t t = 0; t < rows.size(); ++t) rows[t] = image.tables[t].rows;
  return rows;
}

constexpr std::array<Column::Type, 4> kTypes{Column::Type::u32, Column::Type::u64, Column::Type::i64,
                                             Column::Type::f64};

/// Columns and reasons as lines, behind the header: so many bytes, the text, its checksum.
std::vector<std::byte> block_of(const Results& results) {
  std::string text;
  const auto line_of = [&](const char* what, const Column& column) {
    text += fmt::format("{}\t{}\t{}\t{}\t{}\n", what, column.name, name_of(column.type), column.unit, column.doc);
  };
  for (const Column& column : results.columns) line_of("column", column);
  for (const Table& table : results.tables) {
    text += fmt::format("table\t{}\t{}\n", table.name, table.capacity);
    for (const Column& column : table.columns) line_of("of_table", column);
  }
  for (const Profile& profile : results.profiles) {
    text += fmt::format("profile\t{}\t{}\n", profile.name, profile.definition);
    for (const Axis& axis : profile.axes) {
      text += fmt::format("axis\t{}\t{}\t{}\t{}\n", axis.name, axis.unit, axis.doc, axis.values.size());
    }
    for (const Column& array : profile.arrays) line_of("of_profile", array);
  }
  for (const std::string& reason : results.reasons.names()) text += fmt::format("reason\t{}\n", reason);
  const auto bytes = static_cast<std::uint32_t>(text.size());
  const std::uint32_t crc = crc32c(std::as_bytes(std::span(text)));
  std::vector<std::byte> block(sizeof(bytes) + text.size() + sizeof(crc));
  std::memcpy(block.data(), &bytes, sizeof(bytes));
  std::memcpy(block.data() + sizeof(bytes), text.data(), text.size());
  std::memcpy(block.data() + sizeof(bytes) + text.size(), &crc, sizeof(crc));
  return block;
}

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(at, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

/// Of a text of digits; 0 when it is none.
std::uint32_t number_of(const std::string& text) noexcept {
  std::uint32_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

/// One line of a profile; of its axes only the lengths are known here. False when it is damaged.
bool read_profile_line(const std::vector<std::string>& parts, std::vector<Profile>& profiles) {
  if (parts.front() == "profile" && parts.size() == 3) {
    if (profiles.size() == kMostProfiles) return false;
    profiles.push_back({.name = parts[1], .arrays = {}, .axes = {}, .definition = parts[2]});
    return true;
  }
  if (parts.size() != 5 || profiles.empty()) return false;
  Profile& profile = profiles.back();
  if (parts.front() == "of_profile") {
    if (profile.arrays.size() == kMostProfileArrays) return false;
    profile.arrays.push_back({parts[1], Column::Type::f64, parts[3], parts[4]});
    return true;
  }
  const std::uint32_t bins = number_of(parts[4]);
  if (profile.axes.size() == 2 || bins == 0 || bins > kMostProfileBins) return false;
  profile.axes.push_back({parts[1], parts[2], parts[3], std::vector<double>(bins)});
  return true;
}

/// What block_of() wrote; takes it from the front of `rest`. False when it is damaged.
bool read_block(std::span<const std::byte>& rest, Results& results) {
  std::uint32_t bytes = 0;
  std::uint32_t crc = 0;
  if (rest.size() < sizeof(bytes)) return false;
  std::memcpy(&bytes, rest.data(), sizeof(bytes));
  if (rest.size() - sizeof(bytes) < std::uint64_t{bytes} + sizeof(crc)) return false;
  const auto text = rest.subspan(sizeof(bytes), bytes);
  std::memcpy(&crc, text.data() + bytes, sizeof(crc));
  if (crc != crc32c(text)) return false;
  rest = rest.subspan(sizeof(bytes) + bytes + sizeof(crc));
  for (const std::string& line : split(std::string(reinterpret_cast<const char*>(text.data()), bytes), '\n')) {
    const std::vector<std::string> parts = split(line, '\t');
    if (parts.front() == "reason" && parts.size() == 2) results.reasons.add(parts[1]);
    if (parts.front() == "table" && parts.size() == 3) {
      if (results.tables.size() == kMostTables) return false;
      results.tables.push_back({.name = parts[1], .columns = {}, .capacity = number_of(parts[2])});
    }
    if (parts.front() == "profile" || parts.front() == "axis" || parts.front() == "of_profile") {
      if (!read_profile_line(parts, results.profiles)) return false;
      continue;
    }
    const bool of_table = parts.front() == "of_table";
    if ((!of_table && parts.front() != "column") || parts.size() != 5) continue;
    if (of_table && (results.tables.empty() || results.tables.back().columns.size() == kMostTableColumns)) return false;
    const auto type =
        std::find_if(kTypes.begin(), kTypes.end(), [&](Column::Type one) { return name_of(one) == parts[2]; });
    if (type == kTypes.end() || (!of_table && results.columns.size() == kMostColumns)) return false;
    auto& columns = of_table ? results.tables.back().columns : results.columns;
    columns.push_back({parts[1], *type, parts[3], parts[4]});
  }
  return true;
}

}  // namespace

FrameRows::FrameRows(int journal, const JournalHeader& header, const Reserve& reserve)
    : journal_(journal), header_(header), reserve_(reserve) {
  const std::uint64_t images = header.end_known() ? header.images : kBlock;
  rows_.reserve(images);
  scalars_.reserve(images * columns());
  const std::vector<std::byte> block = block_of(header.results);
  Header first{.images = header.images,
               .every = header.slice.every,
               .phase = header.slice.phase,
               .width = header.width,
               .height = header.height,
               .pixel = static_cast<std::uint32_t>(header.pixel),
               .form = static_cast<std::uint32_t>(header.form)};
  first.crc = crc_of(first);
  end_ = sizeof(first) + block.size();
  const int code = take_room(images);
  if (code != 0 || !write_all(journal_, bytes_of(first), 0) || !write_all(journal_, block, sizeof(first))) {
    throw FileError(fmt::format(
        "hdf5 sink: no room for the tables of {} images, {:.1f} MB: {}; free some space or choose another folder",
        images, static_cast<double>(room_of(images)) * 1e-6, errno_text(code != 0 ? code : errno)));
  }
}

// Bytes of a journal with `images` more rows and what completing takes.
std::uint64_t FrameRows::room_of(std::uint64_t images) const noexcept {
  return end_ + images * record_bytes(columns()) + reserve_.fixed + (noted_ + images) * reserve_.image;
}

// For so many more images; 0, or why there is no room.
int FrameRows::take_room(std::uint64_t images) noexcept {
  const int code = ::posix_fallocate(journal_, 0, static_cast<off_t>(room_of(images)));
  if (code == 0) room_ = noted_ + images;
  return code;
}

FrameRows::FrameRows(int journal) : journal_(journal) {
  const std::vector<std::byte> bytes = read_all(journal);
  std::span<const std::byte> rest(bytes);
  Header first;
  const Header expected;
  if (rest.size() >= sizeof(first)) std::memcpy(&first, rest.data(), sizeof(first));
  bool known = rest.size() >= sizeof(first) && first.magic == expected.magic && first.crc == crc_of(first) &&
               (first.version == 1 || first.version == expected.version);
  if (known) rest = rest.subspan(sizeof(first));
  Results results;
  if (known && first.version == 1) {
    results.columns = {{"bright_pixels"}, {"masked_pixels"}, {"saturated_pixels"}};
  } else if (known) {
    known = read_block(rest, results);
  }
  if (!known) {
    throw FileError("journal: its beginning is not what a run of this version writes; nothing can be taken from it");
  }
  header_ = {.images = first.images,
             .slice = {first.every, first.phase},
             .width = first.width,
             .height = first.height,
             .pixel = static_cast<PixelType>(first.pixel),
             .form = static_cast<ImageForm>(first.form),
             .results = std::move(results)};
  const std::size_t scalars = first.version == 1 ? 0 : columns();  // behind the row
  const std::size_t fixed = record_bytes(scalars);
  while (rest.size() >= fixed && rows_.size() < header_.images) {
    FrameRow row;
    std::memcpy(&row, rest.data(), sizeof(row));
    const std::uint64_t all = fixed + std::uint64_t{row.lost_runs} * sizeof(LostRun);
    if (rest.size() < all) break;
    std::uint32_t crc = 0;
    std::memcpy(&crc, rest.data() + all - sizeof(crc), sizeof(crc));
    // All zeros are no record: their checksum is not 0.
    if (crc32c(rest.first(all - sizeof(crc))) != crc) break;
    if (first.version == 1) {
      const std::uint32_t bright = row.measured | static_cast<std::uint32_t>(row.profiles) << 16U;
      for (const std::uint32_t value : {bright, row.table_rows[0], row.table_rows[1]}) {
        scalars_.push_back(Scalar::of_count(value));
      }
      row.measured = was_processed(row) ? 1 : 0;
      row.profiles = 0;
      row.table_rows = {};
    }
    rows_.push_back(row);
    scalars_.resize(rows_.size() * columns());
    if (scalars != 0) {
      std::memcpy(scalars_.data() + scalars_.size() - scalars, rest.data() + sizeof(row), scalars * sizeof(Scalar));
    }
    lost_.resize(lost_.size() + row.lost_runs);
    if (row.lost_runs != 0) {
      std::memcpy(lost_.data() + lost_.size() - row.lost_runs, rest.data() + sizeof(row) + scalars * sizeof(Scalar),
                  row.lost_runs * sizeof(LostRun));
    }
    rest = rest.subspan(all);
  }
  end_ = bytes.size() - rest.size();
  noted_ = rows_.size();
  noted_lost_ = lost_.size();
}

void FrameRows::append(const StackImage& image, ErrorReason result, const StoredPlace& stored) {
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
  scalars_.resize(rows_.size() * columns());
}

void FrameRows::add_record(std::size_t image, const LostRun* lost) {
  const std::size_t at = records_.size();
  const FrameRow& row = rows_[image];
  const std::size_t scalar_bytes = columns() * sizeof(Scalar);
  const std::size_t lost_bytes = row.lost_runs * sizeof(LostRun);
  records_.resize(at + record_bytes(columns()) + lost_bytes);
  std::byte* to = records_.data() + at;
  std::memcpy(to, &row, sizeof(row));
  to += sizeof(row);
  if (scalar_bytes > 0) std::memcpy(to, scalars_.data() + image * columns(), scalar_bytes);
  to += scalar_bytes;
  if (lost_bytes > 0) std::memcpy(to, lost, lost_bytes);
  to += lost_bytes;
  const std::uint32_t crc = crc32c(std::span(records_).subspan(at, sizeof(row) + scalar_bytes + lost_bytes));
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

void FrameRows::give_back_reserve() noexcept {
  // Room that cannot be given back is only room.
  [[maybe_unused]] const int done = ::ftruncate(journal_, static_cast<off_t>(end_));
}

void FrameRows::fill_up() {
  while (header_.end_known() && rows_.size() < header_.images) {
    FrameRow row;
    row.index = rows_.size();
    row.frame_number = header_.slice.frame(row.index);
    rows_.push_back(row);
  }
  scalars_.resize(rows_.size() * columns());
}

}  // namespace rashpa::sink
