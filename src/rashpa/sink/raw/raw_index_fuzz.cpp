// SPDX-License-Identifier: Apache-2.0
/// libFuzzer: the index of a raw run and its data file, changed by a stranger. Four bytes a change: the place, the new
/// value, the way; the first byte of the input says whether checksums are made right again and whether the index is
/// cut. The index is refused, or gives rows that are possible; images are read within the file, or are not there.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "rashpa/core/error.hpp"
#include "rashpa/core/numbers/checksum.hpp"
#include "rashpa/sink/output_files.hpp"
#include "rashpa/sink/raw/raw_images.hpp"

namespace rashpa::sink {
namespace {

constexpr std::size_t kHeader = 56, kImages = 3;
constexpr std::size_t kMostImageBytes = 1U << 20U;

void check(bool ok) {
  if (!ok) std::abort();
}

struct Good {
  std::vector<std::byte> index, data;
  std::filesystem::path folder;
  std::string prefix;
  Good() = default;
  Good(Good&&) = default;
  ~Good() {
    if (!folder.empty()) std::filesystem::remove_all(folder);
  }
};

/// A file in memory with these bytes; its descriptor.
int file_of(std::span<const std::byte> bytes) {
  const int file = ::memfd_create("index", MFD_CLOEXEC);
  check(file >= 0 && ::write(file, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  return file;
}

/// Three images of 8 × 4 pixels with a number each, the second with a lost line.
Good make_good() {
  Good good;
  JournalHeader run;
  run.images = kImages;
  run.width = 8;
  run.height = 4;
  run.form = ImageForm::raw;
  run.results.columns = {{"counts"}};
  run.results.tables = {{"peaks", {{"x"}}, 2}};
  const RawHeader header{.width = 8, .height = 4, .slots = kImages};
  good.data.resize(header.offset_of(kImages));
  encode(header, std::span(good.data).first<kRawHeader>());
  const int file = file_of({});
  FrameRows rows(file, run, {});
  LostRun lost{.dtp = 1, .first_line = 2, .lines = 1};
  for (std::uint32_t i = 0; i < kImages; ++i) {
    StackImage image;
    image.index = i;
    image.decision = Decision::accepted;
    if (i == 1) image.lost = &lost, image.lost_count = 1;
    const auto pixels = std::span(good.data).subspan(header.offset_of(i), header.image_bytes());
    rows.append(image, ErrorReason::none, {.file = 1, .place = i},
                {.offset = header.offset_of(i), .length = pixels.size(), .crc32c = crc32c(pixels)});
  }
  check(rows.note());
  rows.give_back_reserve();
  good.index.resize(static_cast<std::size_t>(::lseek(file, 0, SEEK_END)));
  check(::pread(file, good.index.data(), good.index.size(), 0) == static_cast<ssize_t>(good.index.size()));
  ::close(file);
  std::string folder = (std::filesystem::temp_directory_path() / "rashpa-fuzz-XXXXXX").string();
  check(::mkdtemp(folder.data()) != nullptr);
  good.folder = folder;
  good.prefix = folder + "/run";
  return good;
}

void put_crc(std::span<std::byte> bytes, std::size_t from, std::size_t at) {
  if (at < from || at + 4 > bytes.size()) return;
  const std::uint32_t crc = crc32c(bytes.subspan(from, at - from));
  std::memcpy(bytes.data() + at, &crc, sizeof(crc));
}

/// Changes a file as an attacker does: of the header, the text, and records of the length that they say.
void mend(std::span<std::byte> index) {
  const auto word = [&](std::size_t at) {
    std::uint32_t value = 0;
    if (at + 4 <= index.size()) std::memcpy(&value, index.data() + at, sizeof(value));
    return std::size_t{value};
  };
  put_crc(index, 0, kHeader - 4);
  const std::size_t text = word(kHeader);
  put_crc(index, kHeader + 4, kHeader + 4 + text);
  for (std::size_t at = kHeader + 8 + text; at + 100 <= index.size();) {
    const std::size_t end = at + 64 + 8 + 24 + 12 * word(at + 56);
    put_crc(index, at, end);
    at = end + 4;
  }
}

void change(std::span<std::byte> bytes, const std::uint8_t* how) {
  if (bytes.empty()) return;
  const std::size_t at = (std::size_t{how[0]} << 8U | how[1]) % bytes.size();
  const auto value = static_cast<std::byte>(how[2]);
  bytes[at] = (how[3] & 1U) != 0 ? bytes[at] ^ value : value;
}

void write_data(const std::string& prefix, std::span<const std::byte> data) {
  const int file =
      ::open(OutputFiles::data_path(prefix, 1, ImageForm::raw).c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  check(file >= 0 && ::write(file, data.data(), data.size()) == static_cast<ssize_t>(data.size()));
  ::close(file);
}

void look(const FrameRows& rows, const std::string& prefix) {
  check(rows.rows().size() <= rows.header().images);
  const JournalHeader& run = rows.header();
  const std::uint64_t bytes = std::uint64_t{run.width} * run.height * pixel_bytes(run.pixel);
  if (run.form != ImageForm::raw || bytes > kMostImageBytes) return;
  std::vector<std::byte> image(bytes);
  RawImages images(prefix, rows);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (images.read(i, image)) check(crc32c(image) == rows.raw_place(i).crc32c);
  }
}

}  // namespace
}  // namespace rashpa::sink

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* input, std::size_t size) {
  using namespace rashpa::sink;
  static const Good good = make_good();
  if (size == 0) return 0;
  std::vector<std::byte> index = good.index, data = good.data;
  for (std::size_t i = 1; i + 4 <= size && i < 129; i += 4) change((input[i + 3] & 2U) != 0 ? data : index, input + i);
  if ((input[0] & 1U) != 0) mend(index);
  if ((input[0] & 2U) != 0) index.resize(index.size() * (input[0] >> 2U) / 64);
  write_data(good.prefix, data);
  const int file = file_of(index);
  try {
    const FrameRows rows(file);
    look(rows, good.prefix);
  } catch (const rashpa::FileError&) {
  }
  ::close(file);
  return 0;
}
