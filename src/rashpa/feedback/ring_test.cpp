// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fstream>
#include <thread>

#include "rashpa/core/error.hpp"
#include "rashpa/core/system/file_descriptor.hpp"
#include "rashpa/core/testing/temporary_folder.hpp"
#include "rashpa/core/testing/testing.hpp"
#include "rashpa/feedback/ring_reader.hpp"
#include "rashpa/feedback/ring_writer.hpp"
#include "rashpa/feedback/testing.hpp"

namespace rashpa::feedback {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using testing::is_image;
using testing::Numbered;
using testing::small;

constexpr auto kLong = 20s;

void publish(RingWriter& ring, std::uint64_t from, std::uint64_t to) {
  Numbered numbered;
  for (std::uint64_t n = from; n < to; ++n) ring.publish(numbered.image(n), 7);
  ring.wake();
}

std::string message_of(const auto& work) {
  try {
    work();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

std::vector<std::uint64_t> words_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(file)), {});
  std::vector<std::uint64_t> words(bytes.size() / kWordBytes);
  std::memcpy(words.data(), bytes.data(), words.size() * kWordBytes);
  return words;
}

void store_words(const std::string& path, const std::vector<std::uint64_t>& words) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(words.data()), static_cast<std::streamsize>(words.size() * kWordBytes));
}

TEST(Ring, every_image_is_read_once_in_order_and_the_end_is_told) {
  const TemporaryFolder folder;
  RingWriter ring(folder.file("a"), "{}", small(64));
  RingReader reader(folder.file("a"), Begin::oldest);
  EXPECT_EQ(reader.description(), "{}");
  EXPECT_EQ(reader.columns(), testing::kColumns);
  EXPECT_EQ(reader.next(), Got::nothing);
  publish(ring, 0, 50);
  ring.end();
  for (std::uint64_t n = 0; n < 50; ++n) {
    ASSERT_EQ(reader.next(), Got::record);
    ASSERT_TRUE(is_image(reader.record(), n)) << n;
    EXPECT_EQ(reader.record()[entry::kDecided], 7U);
  }
  EXPECT_EQ(reader.next(), Got::ended);
  EXPECT_EQ(reader.lost(), 0U);
}

TEST(Ring, rows_are_those_of_accepted_images) {
  const TemporaryFolder folder;
  RingWriter ring(folder.file("a"), "{}", small(64));
  RingReader reader(folder.file("a"), Begin::oldest);
  Numbered numbered;
  StackImage vetoed = numbered.image(5);
  vetoed.decision = Decision::vetoed;
  vetoed.reason = VetoReason::too_few;
  ring.publish(vetoed, 0);
  ASSERT_EQ(reader.next(), Got::record);
  EXPECT_EQ(reader.record().size(), entry::kScalars + testing::kColumns);
  EXPECT_EQ(reader.record()[entry::kFate] >> 40U & 0xFFU, 2U);
  EXPECT_EQ(reader.record()[entry::kFate] >> 48U & 0xFFU, 1U);
}

TEST(Ring, a_reader_may_begin_with_what_comes_next) {
  const TemporaryFolder folder;
  RingWriter ring(folder.file("a"), "{}", small(64));
  publish(ring, 0, 10);
  RingReader reader(folder.file("a"), Begin::next);
  EXPECT_EQ(reader.next(), Got::nothing);
  publish(ring, 10, 11);
  ASSERT_EQ(reader.next(), Got::record);
  EXPECT_TRUE(is_image(reader.record(), 10));
}

TEST(Ring, a_reader_that_was_lapped_is_told_how_many_it_has_lost) {
  const TemporaryFolder folder;
  RingWriter ring(folder.file("a"), "{}", small(16));
  RingReader reader(folder.file("a"), Begin::oldest);
  publish(ring, 0, 1000);
  ring.end();
  std::uint64_t read = 0;
  while (reader.next() == Got::record) {
    ASSERT_TRUE(is_image(reader.record(), reader.position() - 1));
    ++read;
  }
  EXPECT_EQ(read, 8U);
  EXPECT_EQ(reader.lost(), 992U);
}

TEST(Ring, rows_that_were_written_over_are_not_read) {
  const TemporaryFolder folder;
  // room for the rows of a dozen images, entries for all
  RingWriter ring(folder.file("a"), "{}", small(1024, 1));
  RingReader reader(folder.file("a"), Begin::oldest);
  publish(ring, 0, 400);
  ring.end();
  std::uint64_t read = 0;
  while (reader.next() == Got::record) {
    ASSERT_TRUE(is_image(reader.record(), reader.position() - 1));
    ++read;
  }
  EXPECT_LT(read, 40U);
  EXPECT_GE(read, 1U);
  EXPECT_EQ(read + reader.lost(), 400U);
}

// The writer laps its readers all the time: whatever they get is whole, and nothing is unaccounted for.
TEST(Ring, nothing_is_torn_while_a_writer_laps_its_readers) {
  constexpr std::uint64_t kImages = 60'000;
  const TemporaryFolder folder;
  RingWriter ring(folder.file("a"), "{}", small(4, 1));
  std::atomic<int> there{0};
  std::atomic<std::uint64_t> torn{0};
  std::vector<std::jthread> readers;
  for (const Wait wait : {Wait::spin, Wait::sleep}) {
    readers.emplace_back([&, wait] {
      RingReader reader(folder.file("a"), Begin::oldest);
      there.fetch_add(1);
      std::uint64_t read = 0;
      for (Got got = Got::nothing; got != Got::ended; got = reader.next(kLong, wait)) {
        if (got != Got::record) continue;
        ++read;
        if (!is_image(reader.record(), reader.position() - 1)) torn.fetch_add(1);
      }
      if (read + reader.lost() != kImages) torn.fetch_add(1'000'000);
    });
  }
  EXPECT_EVENTUALLY(there == 2);
  Numbered numbered;
  for (std::uint64_t n = 0; n < kImages; ++n) {
    ring.publish(numbered.image(n), 0);
    if (n % 64 == 0) ring.wake();
  }
  ring.end();
  for (std::jthread& one : readers) one.join();
  EXPECT_EQ(torn.load(), 0U);
}

// As many columns as there can be and one entry, so that a copy is as long, and is written over as often, as can be.
TEST(Ring, numbers_of_two_images_are_never_mixed) {
  constexpr std::uint64_t kImages = 300'000;
  const TemporaryFolder folder;
  RingWriter ring(folder.file("a"), "{}", {.entries = 1, .columns = kMostColumns});
  std::atomic<bool> there{false};
  std::uint64_t mixed = 0;
  std::jthread thread([&] {
    RingReader reader(folder.file("a"), Begin::oldest);
    there = true;
    for (Got got = Got::nothing; got != Got::ended; got = reader.next(kLong, Wait::spin)) {
      if (got != Got::record) continue;
      for (const std::uint64_t word : reader.record().subspan(entry::kScalars)) {
        mixed += word == reader.record()[entry::kIndex] ? 0 : 1;
      }
    }
  });
  EXPECT_EVENTUALLY(there);
  StackImage image;
  for (std::uint64_t n = 0; n < kImages; ++n) {
    image.index = n;
    image.scalars.fill(Scalar::of_count(n));
    ring.publish(image, 0);
  }
  ring.end();
  thread.join();
  EXPECT_EQ(mixed, 0U);
}

TEST(Ring, a_reader_that_never_reads_is_not_felt) {
  const TemporaryFolder folder;
  RingWriter ring(folder.file("a"), "{}", small(8));
  const RingReader idle(folder.file("a"), Begin::oldest);
  RingReader other(folder.file("a"), Begin::oldest);
  for (std::uint64_t n = 0; n < 1000; ++n) {
    publish(ring, n, n + 1);
    ASSERT_EQ(other.next(), Got::record);
  }
  EXPECT_EQ(other.lost(), 0U);
}

TEST(Ring, whoever_cuts_the_file_ends_neither_writer_nor_reader) {
  for (const off_t left : {off_t{0}, off_t{4096}, off_t{8192}}) {
    const TemporaryFolder folder;
    RingWriter ring(folder.file("a"), "{}", small(64));
    RingReader reader(folder.file("a"), Begin::oldest);
    publish(ring, 0, 5);
    ASSERT_EQ(reader.next(), Got::record);
    ASSERT_EQ(::truncate(folder.file("a").c_str(), left), 0);
    publish(ring, 5, 1000);
    EXPECT_TRUE(ring.cut());
    EXPECT_THAT(message_of([&] {
                  while (reader.next() == Got::record) {
                  }
                }),
                HasSubstr("was cut by another process"))
        << left;
    ring.end();
  }
}

TEST(Ring, of_a_file_without_a_name_cannot_be_cut) {
  const RingWriter ring("", "{}", small(64));
  EXPECT_EQ(::truncate(ring.open_path().c_str(), 0), -1);
  EXPECT_EQ(errno, EPERM);
}

TEST(Ring, a_sleeping_reader_is_woken_by_what_is_published) {
  const TemporaryFolder folder;
  RingWriter ring(folder.file("a"), "{}", small(8));
  std::atomic<bool> there{false};
  Got got = Got::nothing;
  std::jthread sleeper([&] {
    RingReader reader(folder.file("a"), Begin::oldest);
    there = true;
    got = reader.next(kLong, Wait::sleep);
  });
  EXPECT_EVENTUALLY(there);
  publish(ring, 0, 1);
  sleeper.join();
  EXPECT_EQ(got, Got::record);
}

TEST(Ring, waiting_ends_when_the_time_is_over) {
  const TemporaryFolder folder;
  const RingWriter ring(folder.file("a"), "{}", small(8));
  RingReader reader(folder.file("a"), Begin::oldest);
  EXPECT_EQ(reader.next(1ms, Wait::sleep), Got::nothing);
  EXPECT_EQ(reader.next(1ms, Wait::spin), Got::nothing);
}

TEST(Ring, a_writer_that_was_killed_is_an_error_behind_its_last_image) {
  const TemporaryFolder folder;
  const std::string path = folder.file("a");
  std::array<int, 2> ready{};
  ASSERT_EQ(::pipe(ready.data()), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    RingWriter ring(path, "{}", small(64));
    publish(ring, 0, 5);
    if (::write(ready[1], "x", 1) != 1) ::_exit(1);
    for (;;) ::pause();
  }
  char told = 0;
  ASSERT_EQ(::read(ready[0], &told, 1), 1);
  RingReader reader(path, Begin::oldest);
  EXPECT_EQ(message_of([&] { RingWriter(path, "{}", small(8)); }),
            "feedback: another receiver writes the ring " + path + "; give this one another name");
  // A process that may only read pretends no writer, and keeps none out.
  const FileDescriptor stranger(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  ASSERT_EQ(::flock(stranger.get(), LOCK_EX | LOCK_NB), 0);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  for (std::uint64_t n = 0; n < 5; ++n) ASSERT_EQ(reader.next(kLong, Wait::sleep), Got::record);
  EXPECT_THAT(message_of([&] { reader.next(kLong, Wait::sleep); }),
              HasSubstr("has gone without ending it, after entry 5"));
  EXPECT_THAT(message_of([&] { reader.next(kLong, Wait::spin); }), HasSubstr("has gone"));
  // and the next run takes its remains
  RingWriter again(path, "{}", small(8));
  EXPECT_EQ(RingReader(path, Begin::oldest).next(), Got::nothing);
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST(Ring, a_ring_goes_with_its_writer_and_only_its_own) {
  const TemporaryFolder folder;
  {
    const RingWriter ring(folder.file("a"), "{}", small(8));
    EXPECT_EQ(folder.files(), 1U);
  }
  EXPECT_EQ(folder.files(), 0U);
  {
    const RingWriter ring(folder.file("a"), "{}", small(8));
    std::filesystem::remove(folder.file("a"));
    std::ofstream(folder.file("a")) << "another file";
  }
  EXPECT_EQ(folder.files(), 1U);
}

TEST(Ring, a_file_that_is_no_ring_is_not_replaced) {
  const TemporaryFolder folder;
  std::ofstream(folder.file("a")) << "what somebody else has written";
  EXPECT_THAT(message_of([&] { RingWriter(folder.file("a"), "{}", small(8)); }), HasSubstr("is there and is no ring"));
  std::filesystem::create_symlink(folder.file("b"), folder.file("c"));
  EXPECT_THAT(message_of([&] { RingWriter(folder.file("c"), "{}", small(8)); }), HasSubstr("cannot be read"));
  EXPECT_THAT(message_of([&] { RingWriter(folder.file("none/a"), "{}", small(8)); }), HasSubstr("No such file"));
  EXPECT_THAT(message_of([&] { RingWriter(folder.file("d"), "{}", small(0)); }), HasSubstr("1 … 16777216 images"));
  EXPECT_EQ(folder.files(), 2U);
}

TEST(Ring, what_is_no_ring_is_not_read) {
  const TemporaryFolder folder;
  const std::string path = folder.file("a");
  const auto refused = [&] { return message_of([&] { RingReader(path, Begin::oldest); }); };
  EXPECT_THAT(refused(), HasSubstr("No such file"));
  std::ofstream(path) << "short";
  EXPECT_THAT(refused(), HasSubstr("shorter than the head"));
  EXPECT_THAT(message_of([&] { RingReader("/dev/zero", Begin::oldest); }), HasSubstr("no regular file"));
  std::filesystem::remove(path);

  std::vector<std::uint64_t> good;
  {
    RingWriter ring(path, "{}", small(16));
    publish(ring, 0, 3);
    good = words_of(path);
  }
  const auto with = [&](std::size_t word, std::uint64_t value) {
    std::vector<std::uint64_t> words = good;
    words[word] = value;
    store_words(path, words);
    return refused();
  };
  EXPECT_EQ(with(head::kMagic, kMagic), "nothing was thrown");
  EXPECT_THAT(with(head::kMagic, 1), HasSubstr("does not begin as a ring"));
  EXPECT_THAT(with(head::kVersion, 2), HasSubstr("version 2, and this program reads version 1; use the rashpa of"));
  EXPECT_THAT(with(head::kFileBytes, 4096), HasSubstr("and says 4096"));
  for (const std::size_t word : {head::kDescriptionAt, head::kDescriptionBytes, head::kEntriesAt, head::kEntries,
                                 head::kEntryBytes, head::kRowsAt, head::kRowsBytes, head::kColumns, head::kTables}) {
    EXPECT_THAT(with(word, ~std::uint64_t{0}), HasSubstr("is no ring that can be read")) << word;
  }
  EXPECT_THAT(with(head::kTable, 17), HasSubstr("17 columns"));
  std::vector<std::uint64_t> shorter(good.begin(), good.end() - 512);
  store_words(path, shorter);
  EXPECT_THAT(refused(), HasSubstr("bytes and says"));
}

TEST(Ring, entries_that_lie_are_not_followed) {
  const TemporaryFolder folder;
  const std::string path = folder.file("a");
  std::vector<std::uint64_t> good;
  {
    RingWriter ring(path, "{}", small(16));
    publish(ring, 5, 6);
    good = words_of(path);
  }
  const std::size_t at = good[head::kEntriesAt] / kWordBytes;
  const auto with = [&](std::size_t word, std::uint64_t value) {
    std::vector<std::uint64_t> words = good;
    words[word] = value;
    store_words(path, words);
    return message_of([&] { RingReader(path, Begin::oldest).next(); });
  };
  EXPECT_EQ(with(at, 2), "nothing was thrown");
  EXPECT_THAT(with(at, 1), HasSubstr("was published and is not there"));
  EXPECT_THAT(with(at + entry::rows_at(0) + 1, 21), HasSubstr("has 21 rows in table 0"));
  EXPECT_THAT(with(at + entry::rows_at(0), 4), HasSubstr("outside their room"));
  EXPECT_THAT(with(at + entry::rows_at(0), good[head::kRowsBytes] - 8), HasSubstr("outside their room"));
  EXPECT_THAT(with(at + entry::rows_at(0), good[head::kRowsBytes]), HasSubstr("were never written"));
}

}  // namespace
}  // namespace rashpa::feedback
