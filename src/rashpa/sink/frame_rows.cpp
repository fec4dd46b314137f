#include "rashpa/sink/frame_rows.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
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
  std::uint32_t version = 1;
  std::uint32_t crc = 0;
};
static_assert(std::is_trivially_copyable_v<FrameRow> && sizeof(FrameRow) == 64);
static_assert(std::is_trivially_copyable_v<LostRun> && sizeof(LostRun) == 12);
constexpr std::size_t kRecordBytes = sizeof(FrameRow) + sizeof(std::uint32_t);  // without its lost runs

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

/// Whether the kernels have seen its pixels: darks and refused partial images are vetoed without a look.
bool was_processed(const StackImage& image) noexcept {
  if (image.decision == Decision::accepted) return true;
  return image.decision == Decision::vetoed && image.reason != VetoReason::dark && image.reason != VetoReason::partial;
}

}  // namespace

FrameRows::FrameRows(int journal, const JournalHeader& header, std::uint64_t reserve, Counted counted)
    : journal_(journal), header_(header), counted_(counted) {
  rows_.reserve(header.images);
  Header first{.images = header.images,
               .every = header.slice.every,
               .phase = header.slice.phase,
               .width = header.width,
               .height = header.height,
               .pixel = static_cast<std::uint32_t>(header.pixel),
               .form = static_cast<std::uint32_t>(header.form)};
  first.crc = crc_of(first);
  end_ = sizeof(first);
  const std::uint64_t room = end_ + header.images * kRecordBytes + reserve;
  const int code = ::posix_fallocate(journal_, 0, static_cast<off_t>(room));
  if (code != 0 || !write_all(journal_, bytes_of(first), 0)) {
    throw FileError(fmt::format(
        "hdf5 sink: no room for the tables of {} images, {:.1f} MB: {}; free some space or choose another folder",
        header.images, static_cast<double>(room) * 1e-6, errno_text(code != 0 ? code : errno)));
  }
}

FrameRows::FrameRows(int journal) : journal_(journal) {
  const std::vector<std::byte> bytes = read_all(journal);
  std::span<const std::byte> rest(bytes);
  Header first;
  const Header expected;
  if (rest.size() >= sizeof(first)) std::memcpy(&first, rest.data(), sizeof(first));
  if (rest.size() < sizeof(first) || first.magic != expected.magic || first.crc != crc_of(first) ||
      first.version != expected.version) {
    throw FileError("journal: its beginning is not what a run of this version writes; nothing can be taken from it");
  }
  header_ = {.images = first.images,
             .slice = {first.every, first.phase},
             .width = first.width,
             .height = first.height,
             .pixel = static_cast<PixelType>(first.pixel),
             .form = static_cast<ImageForm>(first.form)};
  rest = rest.subspan(sizeof(first));
  while (rest.size() >= kRecordBytes && rows_.size() < header_.images) {
    FrameRow row;
    std::memcpy(&row, rest.data(), sizeof(row));
    const std::uint64_t all = kRecordBytes + std::uint64_t{row.lost_runs} * sizeof(LostRun);
    if (rest.size() < all) break;
    std::uint32_t crc = 0;
    std::memcpy(&crc, rest.data() + all - sizeof(crc), sizeof(crc));
    // All zeros are no record: their checksum is not 0.
    if (crc32c(rest.first(all - sizeof(crc))) != crc) break;
    rows_.push_back(row);
    lost_.resize(lost_.size() + row.lost_runs);
    if (row.lost_runs > 0) {
      std::memcpy(lost_.data() + lost_.size() - row.lost_runs, rest.data() + sizeof(row),
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
  const bool processed = was_processed(image);
  rows_.push_back({.index = image.index,
                   .frame_number = image.frame_number,
                   .timestamp_ns = image.timestamp_ns,
                   .stored = stored,
                   .flags = image.flags,
                   .bright_pixels = processed && counted_.bright ? image.bright_pixels : kNotCounted,
                   .masked_pixels = processed && counted_.masked ? image.masked_pixels : kNotCounted,
                   .saturated_pixels = processed && counted_.masked ? image.saturated_pixels : kNotCounted,
                   .lost_runs = image.lost_count,
                   .completeness = image.completeness,
                   .decision = kept ? image.decision : Decision::errored,
                   .reason = kept ? image.reason : VetoReason::none,
                   .error = kept ? image.error : result});
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
}

void FrameRows::add_record(const FrameRow& row, const LostRun* lost) {
  const std::size_t at = records_.size();
  const std::size_t lost_bytes = row.lost_runs * sizeof(LostRun);
  records_.resize(at + kRecordBytes + lost_bytes);
  std::memcpy(records_.data() + at, &row, sizeof(row));
  if (lost_bytes > 0) std::memcpy(records_.data() + at + sizeof(row), lost, lost_bytes);
  const std::uint32_t crc = crc32c(std::span(records_).subspan(at, sizeof(row) + lost_bytes));
  std::memcpy(records_.data() + records_.size() - sizeof(crc), &crc, sizeof(crc));
}

bool FrameRows::note() {
  records_.clear();
  std::size_t lost = noted_lost_;
  for (std::size_t i = noted_; i < rows_.size(); ++i) {
    add_record(rows_[i], lost_.data() + lost);
    lost += rows_[i].lost_runs;
  }
  if (!write_all(journal_, records_, end_)) return false;
  end_ += records_.size();
  noted_ = rows_.size();
  noted_lost_ = lost;
  return true;
}

void FrameRows::give_back_reserve() noexcept {
  // Room that cannot be given back is only room.
  [[maybe_unused]] const int done = ::ftruncate(journal_, static_cast<off_t>(end_));
}

void FrameRows::fill_up() {
  while (rows_.size() < header_.images) {
    FrameRow row;
    row.index = rows_.size();
    row.frame_number = header_.slice.frame(row.index);
    rows_.push_back(row);
  }
}

}  // namespace rashpa::sink
