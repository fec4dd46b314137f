// SPDX-License-Identifier: Apache-2.0
#include "rashpa/sink/journal/frame_rows.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "rashpa/core/error.hpp"
#include "rashpa/core/numbers/checksum.hpp"
#include "rashpa/sink/journal/journal_format.hpp"

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

TEST(FrameRows, a_row_says_what_became_of_its_image) {
  const File journal;
  Results made = results();
  made.profiles.emplace_back().name = "radial";
  FrameRows rows(journal.number(), {.images = 4, .width = 8, .height = 4, .results = made}, {});
  StackImage image;
  image.index = 3;
  image.frame_number = 7;
  image.timestamp_ns = 9;
  image.flags = 2;
  image.measured = true;
  image.completeness = Completeness::partial;
  image.decision = Decision::vetoed;
  image.reason = static_cast<VetoReason>(5);
  image.error = ErrorReason::none;
  image.tables[0].rows = 4;
  rows.append(image, ErrorReason::none, {.file = 2, .place = 1, .end = 6});
  rows.append(image, ErrorReason::storage, {.file = 2, .place = 1, .end = 6});
  rows.append(image, ErrorReason::none, {});
  rows.append(SkippedImage{.index = 4,
                           .frame_number = 8,
                           .completeness = Completeness::complete,
                           .decision = Decision::errored,
                           .reason = VetoReason::none,
                           .error = ErrorReason::dropped});
  const FrameRow& stored = rows.row(0);
  EXPECT_EQ(stored.index, 3U);
  EXPECT_EQ(stored.frame_number, 7U);
  EXPECT_EQ(stored.timestamp_ns, 9U);
  EXPECT_EQ(stored.stored, (StoredPlace{.file = 2, .place = 1, .end = 6}));
  EXPECT_EQ(stored.flags, 2U);
  EXPECT_EQ(stored.measured, 1U);
  EXPECT_EQ(stored.profiles, 1U);
  EXPECT_EQ(stored.table_rows[0], 4U);
  EXPECT_EQ(stored.completeness, Completeness::partial);
  EXPECT_EQ(stored.decision, Decision::vetoed);
  EXPECT_EQ(stored.reason, static_cast<VetoReason>(5));
  EXPECT_EQ(stored.error, ErrorReason::none);
  const FrameRow& failed = rows.row(1);
  EXPECT_EQ(failed.decision, Decision::errored);
  EXPECT_EQ(failed.reason, VetoReason::none);
  EXPECT_EQ(failed.error, ErrorReason::storage);
  EXPECT_EQ(failed.profiles, 0U);
  EXPECT_EQ(failed.table_rows[0], 0U);
  EXPECT_EQ(rows.row(2).profiles, 0U) << "it is not stored";
  EXPECT_EQ(rows.row(2).table_rows[0], 0U);
  EXPECT_EQ(rows.row(2).decision, Decision::vetoed);
  const FrameRow& skipped = rows.row(3);
  EXPECT_EQ(skipped.index, 4U);
  EXPECT_EQ(skipped.frame_number, 8U);
  EXPECT_EQ(skipped.completeness, Completeness::complete);
  EXPECT_EQ(skipped.decision, Decision::errored);
  EXPECT_EQ(skipped.error, ErrorReason::dropped);
  const File other;
  FrameRows plain(other.number(), {.images = 1, .results = results()}, {});
  plain.append(image, ErrorReason::none, {.file = 2});
  EXPECT_EQ(plain.row(0).profiles, 0U) << "the pipeline makes none";
}

TEST(FrameRows, rows_of_another_run_come_with_their_numbers_and_lost_lines) {
  const File from_file, to_file;
  FrameRows from(from_file.number(), {.images = 3, .results = results()}, {});
  std::array<LostRun, 3> lost{LostRun{7, 1, 2}, {8, 3, 4}, {9, 5, 6}};
  for (std::uint32_t index = 0; index < 3; ++index) {
    StackImage image;
    image.index = index;
    image.scalars[1] = Scalar::of_integer(index);
    image.lost = lost.data() + (index == 2 ? 1 : 0);
    image.lost_count = index == 1 ? 0 : index + 1 - index / 2;  // one, none, two
    from.append(image, ErrorReason::none, {.file = 1}, {.offset = 4096, .crc32c = 1, .rows_crc32c = 70 + index});
  }
  FrameRows to(to_file.number(), {.images = 6, .results = results()}, {});
  for (const std::uint32_t file : {5U, 6U}) {  // twice, each time from the first one on
    for (std::size_t image : {0U, 2U}) {
      to.append(from, image, {.file = file, .place = 9}, {.length = 8, .crc32c = 2});
    }
  }
  ASSERT_EQ(to.size(), 4U);
  for (const std::size_t first : {0U, 2U}) {
    EXPECT_EQ(to.row(first).index, 0U);
    EXPECT_EQ(to.row(first + 1).index, 2U);
    EXPECT_EQ(to.row(first).stored, (StoredPlace{.file = first == 0 ? 5U : 6U, .place = 9}));
    EXPECT_EQ(to.raw_place(first), (RawPlace{.length = 8, .crc32c = 2, .rows_crc32c = 70}));
    EXPECT_EQ(to.raw_place(first + 1).rows_crc32c, 72U) << "its rows of tables are as they were";
    EXPECT_EQ(to.scalar(first + 1, 1).integer(), 2);
    EXPECT_EQ(to.row(first).lost_runs, 1U);
    EXPECT_EQ(to.row(first + 1).lost_runs, 2U);
  }
  std::vector<std::uint32_t> dtps;
  for (const LostRun& run : to.lost()) dtps.push_back(run.dtp);
  EXPECT_EQ(dtps, (std::vector<std::uint32_t>{7, 8, 9, 7, 8, 9}));
}

TEST(FrameRows, places_in_raw_files_are_read_again) {
  const File journal;
  const RawPlace place{.offset = 4096, .length = 64, .crc32c = 5};
  {
    FrameRows rows(journal.number(), {.images = 4, .form = ImageForm::raw, .results = results()}, {});
    LostRun lost{7, 1, 2};
    StackImage image;
    image.scalars[0] = Scalar::of_count(3);
    image.lost = &lost;
    image.lost_count = 1;
    rows.append(image, ErrorReason::none, {.file = 1}, place);
    rows.append(SkippedImage{.index = 1});
    EXPECT_EQ(rows.raw_place(1), RawPlace{});
    rows.append(image, ErrorReason::none, {.file = 1}, {.offset = 8192});
    ASSERT_TRUE(rows.note());
    rows.give_back_reserve();
  }
  FrameRows read(journal.number());
  ASSERT_EQ(read.size(), 3U);
  EXPECT_EQ(read.raw_place(0), place);
  EXPECT_EQ(read.raw_place(1), RawPlace{});
  EXPECT_EQ(read.raw_place(2).offset, 8192U);
  EXPECT_EQ(read.scalar(2, 0).count(), 3U);
  EXPECT_EQ(read.lost().back().dtp, 7U);
  read.fill_up();
  EXPECT_EQ(read.raw_place(3), RawPlace{});
}

TEST(FrameRows, rows_that_could_not_be_noted_are_noted_the_next_time_and_all_once) {
  const File journal;
  LostRun lost{7, 1, 2};
  StackImage image;
  image.lost = &lost;
  image.lost_count = 1;
  {
    FrameRows rows(journal.number(), {.images = 4, .results = results()}, {});
    const auto append = [&](std::uint64_t index) {
      image.index = index;
      lost.dtp = static_cast<std::uint32_t>(10 + index);
      rows.append(image, ErrorReason::none, {});
    };
    append(0);
    ASSERT_TRUE(rows.note());
    append(1);
    const int kept = ::dup(journal.number());
    const int refusing = ::open("/dev/null", O_RDONLY);
    ::dup2(refusing, journal.number());
    EXPECT_FALSE(rows.note());
    ::dup2(kept, journal.number());
    ::close(kept);
    ::close(refusing);
    append(2);
    ASSERT_TRUE(rows.note());
    ASSERT_TRUE(rows.note()) << "there is nothing to note";
    rows.give_back_reserve();
  }
  FrameRows read(journal.number());
  ASSERT_EQ(read.size(), 3U);
  for (std::size_t index = 0; index < 3; ++index) {
    EXPECT_EQ(read.row(index).index, index);
    EXPECT_EQ(read.lost().at(index).dtp, 10 + index);
  }
  read.append(SkippedImage{.index = 3});
  ASSERT_TRUE(read.note()) << "one that was read goes on";
  const FrameRows again(journal.number());
  ASSERT_EQ(again.size(), 4U);
  EXPECT_EQ(again.rows()[3].index, 3U);
  EXPECT_EQ(again.lost().size(), 3U);
}

TEST(FrameRows, a_run_lasts_from_its_first_known_time_to_its_last) {
  const auto lasted = [](const std::vector<std::uint64_t>& times) {
    const File journal;
    FrameRows rows(journal.number(), {.images = 8}, {});
    for (const std::uint64_t time : times) {
      StackImage image;
      image.timestamp_ns = time;
      rows.append(image, ErrorReason::none, {});
    }
    return rows.lasted_ns();
  };
  EXPECT_EQ(lasted({0, 50, 20, 0, 90, 60}), 70U);
  EXPECT_EQ(lasted({50}), 0U);
  EXPECT_EQ(lasted({0, 0}), 0U);
}

TEST(FrameRows, images_of_which_nothing_is_known_have_their_numbers) {
  const File journal;
  FrameRows rows(journal.number(), {.images = 3, .slice = {5, 2}, .results = results()}, {});
  rows.append(SkippedImage{.index = 0, .frame_number = 2});
  rows.fill_up();
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows.row(2).index, 2U);
  EXPECT_EQ(rows.row(2).frame_number, 12U);
  EXPECT_EQ(rows.row(2).completeness, Completeness::open);
  EXPECT_EQ(rows.scalar(2, 2), Scalar{});
}

TEST(FrameRows, room_is_taken_for_each_image_and_what_completing_needs_and_is_given_back) {
  const auto bytes_of = [](std::uint64_t images, const FrameRows::Reserve& reserve, std::uint64_t noted, bool end) {
    const File journal;
    FrameRows rows(journal.number(), {.images = images, .results = results()}, reserve);
    LostRun lost{7, 1, 2};
    StackImage image;
    image.lost = &lost;
    image.lost_count = 1;
    for (std::uint64_t i = 0; i < noted; ++i) rows.append(image, ErrorReason::none, {});
    EXPECT_TRUE(rows.note());
    if (end) rows.give_back_reserve();
    return static_cast<std::uint64_t>(::lseek(journal.number(), 0, SEEK_END));
  };
  const std::uint64_t row = record_bytes(results().columns.size(), true);
  const std::uint64_t none = bytes_of(0, {}, 0, true);
  EXPECT_EQ(bytes_of(5, {}, 0, false), none + 5 * row);
  EXPECT_EQ(bytes_of(5, {.fixed = 1000, .image = 10}, 0, false), none + 5 * row + 1050);
  EXPECT_EQ(bytes_of(5, {.fixed = 1000, .image = 10}, 2, true), none + 2 * (row + sizeof(LostRun)));
}

TEST(FrameRows, of_a_run_of_unknown_length_room_is_taken_when_half_of_it_is_used) {
  constexpr std::uint64_t kHalf = 32768;
  const File journal;
  const auto bytes = [&] { return static_cast<std::uint64_t>(::lseek(journal.number(), 0, SEEK_END)); };
  FrameRows rows(journal.number(), {.images = JournalHeader::kNotKnown}, {.image = 10});
  const std::uint64_t at_first = bytes();
  const std::uint64_t row = record_bytes(0, true);
  for (std::uint64_t index = 0; index < kHalf; ++index) rows.append(SkippedImage{.index = index});
  ASSERT_TRUE(rows.note());
  EXPECT_EQ(bytes(), at_first);
  rows.append(SkippedImage{.index = kHalf});
  ASSERT_TRUE(rows.note());
  EXPECT_EQ(bytes(), at_first + (kHalf + 1) * (row + 10)) << "again for as many behind the last";
}

TEST(FrameRows, a_journal_that_cannot_be_written_is_no_full_disk) {
  const int refusing = ::open("/dev/null", O_RDONLY);
  try {
    FrameRows(refusing, {.images = 3}, {});
    FAIL() << "it is said";
  } catch (const FileError& error) {
    EXPECT_NE(std::string(error.what()).find("/dev/null: the journal of the tables cannot be written"),
              std::string::npos)
        << error.what();
  }
  ::close(refusing);
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

/// Version 2 says no bytes of images but those in raw files.
TEST(FrameRows, a_journal_without_sums_is_read_and_a_new_one_has_them_in_every_form) {
  JournalHead head{.images = 1, .width = 8, .height = 4, .version = 2};
  head.crc = head.own_crc();
  const std::vector<std::byte> block = block_of({});
  FrameRow row;
  row.frame_number = 4;
  const std::uint32_t crc = crc32c(bytes_of(row));
  const File old;
  for (const auto part : {bytes_of(head), std::span<const std::byte>(block), bytes_of(row), bytes_of(crc)}) {
    ASSERT_EQ(write(old.number(), part.data(), part.size()), static_cast<ssize_t>(part.size()));
  }
  FrameRows read(old.number());
  ASSERT_EQ(read.size(), 1U);
  EXPECT_EQ(read.row(0).frame_number, 4U);
  EXPECT_EQ(read.raw_place(0), RawPlace{});
  const RawPlace place{.length = 64, .crc32c = 5, .rows_crc32c = 6};
  for (const ImageForm form : {ImageForm::dense, ImageForm::sparse, ImageForm::raw}) {
    const File journal;
    FrameRows rows(journal.number(), {.images = 1, .form = form, .results = results()}, {});
    rows.append(StackImage{}, ErrorReason::none, {.file = 1}, place);
    ASSERT_TRUE(rows.note());
    EXPECT_EQ(FrameRows(journal.number()).raw_place(0), place);
  }
}

}  // namespace
}  // namespace rashpa::sink
