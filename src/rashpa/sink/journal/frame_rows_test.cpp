// SPDX-License-Identifier: Apache-2.0
#include "rashpa/sink/journal/frame_rows.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "rashpa/core/numbers/checksum.hpp"

namespace rashpa::sink {
namespace {

struct File {
  File() : file(std::tmpfile(), &std::fclose) {}
  [[nodiscard]] int number() const { return fileno(file.get()); }
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file;
};

Results results() {
  Results made;
  made.columns = {{.name = "bright_pixels", .unit = "pixels", .doc = "at or above the threshold"},
                  {.name = "total", .type = Column::Type::i64, .unit = "photons"},
                  {.name = "mean", .type = Column::Type::f64}};
  made.reasons.add("too_dull");
  made.tables = {{"peaks", {{.name = "x", .unit = "pixels"}, {.name = "weight", .type = Column::Type::f64}}, 2000},
                 {"rings", {{.name = "radius"}}, 7}};
  return made;
}

TEST(FrameRows, of_a_run_of_unknown_length_room_is_taken_as_rows_come) {
  constexpr std::uint64_t kImages = 100'000;
  const File journal;
  const auto bytes = [&] { return static_cast<std::uint64_t>(::lseek(journal.number(), 0, SEEK_END)); };
  {
    FrameRows rows(journal.number(), {.images = JournalHeader::kNotKnown, .width = 8, .height = 4},
                   {.fixed = 1000, .image = 10});
    const std::uint64_t at_first = bytes();
    EXPECT_LT(at_first, kImages * (sizeof(FrameRow) + 10)) << "not for more than are known";
    for (std::uint64_t index = 0; index < kImages; ++index) rows.append(SkippedImage{.index = index});
    ASSERT_TRUE(rows.note());
    EXPECT_GT(bytes(), at_first + kImages * 10) << "nor without what completing takes";
    rows.give_back_reserve();
  }
  FrameRows read(journal.number());
  EXPECT_FALSE(read.header().end_known());
  EXPECT_EQ(read.size(), kImages);
  read.fill_up();
  EXPECT_EQ(read.size(), kImages) << "nobody knows of more";
}

TEST(FrameRows, numbers_and_reasons_are_read_again_as_they_were_noted) {
  const File journal;
  {
    FrameRows rows(journal.number(), {.images = 3, .width = 8, .height = 4, .results = results()}, {});
    LostRun lost{7, 1, 2};
    for (std::uint64_t index = 0; index < 2; ++index) {
      StackImage image;
      image.index = index;
      image.frame_number = 10 + index;
      image.decision = Decision::vetoed;
      image.reason = static_cast<VetoReason>(5);
      image.measured = index == 1;
      image.scalars[0] = Scalar::of_count(5 + index);
      image.scalars[1] = Scalar::of_integer(-3);
      image.scalars[2] = Scalar::of_real(0.5);
      image.lost = &lost;
      image.lost_count = 1;
      image.tables[1].rows = 3;
      rows.append(image, ErrorReason::none, {.file = static_cast<std::uint32_t>(index)});
    }
    ASSERT_TRUE(rows.note());
    rows.give_back_reserve();
  }
  FrameRows read(journal.number());
  EXPECT_EQ(read.header().results.tables, results().tables);
  EXPECT_EQ(read.row(0).table_rows[1], 0U) << "it is not stored";
  EXPECT_EQ(read.row(1).table_rows[1], 3U);
  EXPECT_EQ(read.header().results.columns, results().columns);
  EXPECT_EQ(read.header().results.reasons.names().back(), "too_dull");
  ASSERT_EQ(read.size(), 2U);
  EXPECT_EQ(read.row(0).measured, 0U);
  EXPECT_EQ(read.row(1).measured, 1U);
  EXPECT_EQ(read.row(1).frame_number, 11U);
  EXPECT_EQ(read.scalar(1, 0).count(), 6U);
  EXPECT_EQ(read.scalar(1, 1).integer(), -3);
  EXPECT_EQ(read.scalar(1, 2).real(), 0.5);
  ASSERT_EQ(read.lost().size(), 2U);
  EXPECT_EQ(read.lost()[1].dtp, 7U);
  read.fill_up();
  EXPECT_EQ(read.scalar(2, 0), Scalar{});
}

TEST(FrameRows, columns_of_the_header_say_nothing_of_images_that_nobody_had) {
  const File journal;
  Results made = results();
  made.columns.push_back({.name = "bunch_id", .type = Column::Type::i64, .of_header = true});
  {
    FrameRows rows(journal.number(), {.images = 3, .width = 8, .height = 4, .results = made}, {});
    StackImage image;
    image.scalars[3] = Scalar::of_integer(77);
    rows.append(image, ErrorReason::none, {});
    rows.append(SkippedImage{.index = 1});
    ASSERT_TRUE(rows.note());
    rows.give_back_reserve();
  }
  FrameRows read(journal.number());
  EXPECT_EQ(read.header().results.columns, made.columns);
  read.fill_up();
  EXPECT_EQ(read.scalar(0, 3).integer(), 77);
  EXPECT_EQ(read.scalar(1, 3).integer(), kNoHeader);
  EXPECT_EQ(read.scalar(2, 3).integer(), kNoHeader);
  EXPECT_EQ(read.scalar(1, 0), Scalar{});
}

/// Writes the journal as earlier versions did: three numbers in the row, no columns behind the header.
TEST(FrameRows, a_journal_of_an_earlier_version_is_read) {
  struct OldHeader {
    std::uint64_t magic = 0x314C4E4A41485352;
    std::uint64_t images = 2, every = 1, phase = 0;
    std::uint32_t width = 8, height = 4;
    std::uint32_t pixel = 3, form = 0;
    std::uint32_t version = 1;
    std::uint32_t crc = 0;
  } header;
  struct OldRow {
    std::uint64_t index = 0, frame_number = 4, timestamp_ns = 9;
    StoredPlace stored{1, 0, 0};
    std::uint32_t flags = 0;
    std::uint32_t bright_pixels = 11, masked_pixels = 22, saturated_pixels = 33;
    std::uint32_t lost_runs = 0;
    Completeness completeness = Completeness::complete;
    Decision decision = Decision::accepted;
    VetoReason reason = VetoReason::none;
    ErrorReason error = ErrorReason::none;
  } row;
  static_assert(sizeof(OldRow) == 64);
  const auto bytes = [](const auto& value) { return std::as_bytes(std::span(&value, 1)); };
  header.crc = crc32c(bytes(header).first(sizeof(header) - sizeof(header.crc)));
  const std::uint32_t crc = crc32c(bytes(row));
  const File journal;
  for (const auto part : {bytes(header), bytes(row), bytes(crc)}) {
    ASSERT_EQ(write(journal.number(), part.data(), part.size()), static_cast<ssize_t>(part.size()));
  }
  FrameRows read(journal.number());
  ASSERT_EQ(read.size(), 1U);
  EXPECT_EQ(read.row(0).frame_number, 4U);
  ASSERT_EQ(read.header().results.columns.size(), 3U);
  EXPECT_EQ(read.scalar(0, read.header().results.column("bright_pixels")).count(), 11U);
  EXPECT_EQ(read.scalar(0, read.header().results.column("masked_pixels")).count(), 22U);
  EXPECT_EQ(read.scalar(0, read.header().results.column("saturated_pixels")).count(), 33U);
}

}  // namespace
}  // namespace rashpa::sink
