// SPDX-License-Identifier: Apache-2.0
#include "rashpa/sink/journal/journal_reader.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <utility>
#include <vector>

#include "rashpa/core/error.hpp"

namespace rashpa::sink {
namespace {

struct File {
  File() : file(std::tmpfile(), &std::fclose) {}
  [[nodiscard]] int number() const { return fileno(file.get()); }
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file;
};

JournalHeader header(std::uint64_t images) {
  JournalHeader made{.images = images, .width = 8, .height = 4};
  made.results.columns = {{"bright_pixels"}};
  return made;
}

void append(FrameRows& rows, std::uint64_t index, LostRun* lost = nullptr) {
  StackImage image;
  image.index = index;
  image.frame_number = 3 * index;
  image.completeness = lost == nullptr ? Completeness::complete : Completeness::partial;
  image.decision = Decision::accepted;
  image.scalars[0] = Scalar::of_count(100 + index);
  image.lost = lost;
  image.lost_count = lost == nullptr ? 0 : 1;
  rows.append(image, ErrorReason::none, {.file = 1, .place = static_cast<std::uint32_t>(index)});
}

TEST(JournalReader, rows_are_found_as_soon_as_they_are_noted) {
  const File journal;
  FrameRows rows(journal.number(), header(5), {});
  JournalReader reader(journal.number());
  EXPECT_EQ(reader.header().images, 5);
  EXPECT_EQ(reader.header().results.columns.size(), 1);
  EXPECT_EQ(reader.next(), nullptr);
  LostRun lost{7, 1, 2};
  for (std::uint64_t index = 0; index < 5; ++index) {
    append(rows, index, index == 2 ? &lost : nullptr);
    if (index < 2) {  // of the others, the existing bytes are read with the record before
      EXPECT_EQ(reader.next(), nullptr) << "it is not noted yet";
    }
    ASSERT_TRUE(rows.note());
    const JournalReader::Record* found = reader.next();
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(found->row.index, index);
    EXPECT_EQ(found->row.frame_number, 3 * index);
    EXPECT_EQ(found->row.stored, (StoredPlace{1, static_cast<std::uint32_t>(index), 0}));
    ASSERT_EQ(found->scalars.size(), 1);
    EXPECT_EQ(found->scalars[0].count(), 100 + index);
    ASSERT_EQ(found->lost.size(), index == 2 ? 1 : 0);
  }
  EXPECT_EQ(reader.next(), nullptr);
  EXPECT_EQ(reader.rows(), 5);
}

TEST(JournalReader, a_record_that_is_half_there_is_found_when_it_is_whole) {
  const File written;
  FrameRows rows(written.number(), header(3), {});
  LostRun lost{0, 0, 1};
  for (std::uint64_t index = 0; index < 3; ++index) append(rows, index, &lost);
  ASSERT_TRUE(rows.note());
  rows.give_back_reserve();
  std::vector<char> bytes(static_cast<std::size_t>(::lseek(written.number(), 0, SEEK_END)));
  ASSERT_EQ(::pread(written.number(), bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
  const std::uint64_t head = JournalReader(written.number()).end();

  const File journal;  // as long as the other from the beginning, or as long as the existing bytes
  for (const bool reserved : {false, true}) {
    const auto room = static_cast<off_t>(reserved ? bytes.size() : 0);
    ASSERT_EQ(::ftruncate(journal.number(), 0) + ::ftruncate(journal.number(), room), 0);
    ASSERT_EQ(::pwrite(journal.number(), bytes.data(), head, 0), static_cast<ssize_t>(head));
    JournalReader reader(journal.number());
    std::uint64_t found = 0;
    for (std::uint64_t at = head; at < bytes.size(); ++at) {
      ASSERT_EQ(reader.next(), nullptr) << at;
      ASSERT_EQ(::pwrite(journal.number(), bytes.data() + at, 1, static_cast<off_t>(at)), 1);
      if ((at + 1 - head) % ((bytes.size() - head) / 3) != 0) continue;
      const JournalReader::Record* record = reader.next();
      ASSERT_NE(record, nullptr) << at;
      EXPECT_EQ(record->row.index, found++);
    }
    EXPECT_EQ(found, 3);
  }
}

TEST(JournalReader, what_is_no_journal_is_refused) {
  const File journal;
  EXPECT_THROW(JournalReader{journal.number()}, FileError);
  FrameRows rows(journal.number(), header(1), {});
  for (const off_t at : {0, 9, 60, 70}) {  // its head, and the block of columns behind it
    char byte = 0;
    ASSERT_EQ(::pread(journal.number(), &byte, 1, at), 1);
    const char other = static_cast<char>(byte ^ 1);
    ASSERT_EQ(::pwrite(journal.number(), &other, 1, at), 1);
    EXPECT_THROW(JournalReader{journal.number()}, FileError) << at;
    ASSERT_EQ(::pwrite(journal.number(), &byte, 1, at), 1);
  }
  EXPECT_NO_THROW(JournalReader{journal.number()});
}

}  // namespace
}  // namespace rashpa::sink
