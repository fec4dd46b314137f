// SPDX-License-Identifier: Apache-2.0
/// Last words of link verbs over the stand-in RNIC: a reader in place of the GPU looks at words and records, as
/// trigger word does.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <string>
#include <vector>

#include "rashpa/core/ability.hpp"
#include "rashpa/core/error.hpp"
#include "rashpa/core/frame/last_word_testing.hpp"
#include "rashpa/link/testing/rnic/verbs_bench.hpp"

namespace rashpa::link {
namespace {

namespace rnic = testing::rnic;
using rnic::VerbsBench;

std::uint32_t read(const LastWord& last) {
  return std::atomic_ref(*const_cast<std::uint32_t*>(last.word)).load(std::memory_order_acquire);
}

// As the kernel of trigger word decides: the words of all DTPs, then the record of each image.
bool begins(const std::vector<LastWord>& words, std::uint64_t first, std::uint64_t last) {
  for (const LastWord& one : words) {
    if (!has_written(read(one), one.dtp, last)) return false;
    for (std::uint64_t k = first; k <= last; ++k) {
      if (!record_words::all_good(one, k)) return false;
    }
  }
  return true;
}

class VerbsWords : public ::testing::TestWithParam<bool> {
 protected:
  static constexpr std::uint64_t kImages = 40;
  struct Fresh {
    Fresh() { rnic::reset(); }
  };
  void see() {
    if (bench_.images() != nullptr) bench_.images()->order_writes();
  }
  Fresh fresh_;  // before anything is registered
  VerbsBench bench_{Transport::rc, GetParam(), 2, kImages, Verify::off, {}, VerbsBench::Words::written};
  std::vector<LastWord> words_ = bench_.receiver().last_words();
};

TEST_P(VerbsWords, begin_as_that_of_no_image) {
  ASSERT_EQ(words_.size(), 2U);
  for (const LastWord& one : words_) {
    for (const std::uint32_t dtp : {one.dtp, 0U, 255U}) EXPECT_FALSE(has_written(read(one), dtp, 0));
    EXPECT_EQ(one.block == nullptr, GetParam()) << "a device's own memory needs no pinning";
  }
}

TEST_P(VerbsWords, of_all_dtps_and_good_records_are_there_behind_the_lines_of_each_image) {
  bench_.start();
  for (std::uint64_t k = 0; k < kImages; ++k) {
    ASSERT_TRUE(bench_.send(0, k));
    see();
    EXPECT_EQ(read(words_[0]), immediate_of(words_[0].dtp, k));
    EXPECT_FALSE(begins(words_, k, k)) << "the other DTP has not sent image " << k << ": its word is of the lap before";
    ASSERT_TRUE(bench_.send(1, k));
    see();
    EXPECT_TRUE(begins(words_, k, k)) << k;
    EXPECT_FALSE(begins(words_, k, k + 1)) << k;
    for (std::uint32_t d = 0; d < 2; ++d) {
      EXPECT_TRUE(bench_.holds(d, k));
      const auto arrival = bench_.next();
      ASSERT_TRUE(arrival.has_value());
      EXPECT_EQ(arrival->completeness, Completeness::complete) << "the host's books stay as they are";
      bench_.receiver().release(arrival->dtp, k + 1);
    }
  }
  bench_.receiver().stop();
  EXPECT_EQ(bench_.receiver().stats()["bad_records"] + bench_.receiver().stats()["malformed"], 0U);
}

TEST_P(VerbsWords, come_last_on_the_wire) {
  bench_.start();
  ASSERT_TRUE(bench_.granted(0, 0));
  bench_.receiver().stop();  // its credits would be on the wire, too
  rnic::hold();
  ASSERT_TRUE(bench_.send(0, 0));
  const std::uint64_t messages = VerbsBench::kLines + 2;  // lines, record, word
  for (std::uint64_t sent = 1; sent <= messages; ++sent) {
    rnic::deliver(1);
    see();
    EXPECT_EQ(record_words::all_good(words_[0], 0), sent >= messages - 1) << sent;
    EXPECT_EQ(has_written(read(words_[0]), words_[0].dtp, 0), sent == messages) << sent;
    EXPECT_EQ(bench_.holds(0, 0), sent >= VerbsBench::kLines) << sent;
  }
}

TEST_P(VerbsWords, of_an_image_whose_line_is_lost_never_come_and_the_host_gives_it_up) {
  bench_.start();
  ASSERT_TRUE(bench_.send(0, 0));
  ASSERT_TRUE(bench_.next().has_value());
  const BufferDescriptor lost{bench_.line(0, 1, 0), bench_.line_bytes_of_region() - 1, 64};
  ASSERT_EQ(bench_.sender(0).post({&lost, 1}), 1U);  // refused by the RNIC: the reliable pair ends
  bench_.send(0, 1);
  see();
  EXPECT_EQ(read(words_[0]), immediate_of(words_[0].dtp, 0));
  bench_.receiver().close(0, 2);  // as the scheduler does at the deadline
  const auto arrival = bench_.next();
  ASSERT_TRUE(arrival.has_value());
  EXPECT_EQ(arrival->index, 1U);
  EXPECT_EQ(arrival->completeness, Completeness::missing);
  EXPECT_EQ(arrival->loss, Loss::deadline);
  bench_.receiver().stop();
}

INSTANTIATE_TEST_SUITE_P(Memory, VerbsWords, ::testing::Bool(),
                         [](const auto& param) { return param.param ? "device" : "host"; });

TEST(VerbsWithoutWords, a_source_that_writes_none_is_refused_before_the_run) {
  rnic::reset();
  try {
    const VerbsBench bench(Transport::rc, false, 2, 10, Verify::off, {}, VerbsBench::Words::missing);
    FAIL() << "the GPU would wait for it";
  } catch (const ConfigError& error) {
    EXPECT_EQ(std::string(error.what()).rfind("buffer.trigger: word, and the source of DTP 1", 0), 0U) << error.what();
  }
}

TEST(VerbsWithoutWords, none_are_offered_that_prove_nothing) {
  rnic::reset();
  VerbsBench plain(Transport::rc, false, 1, 10, Verify::off);
  EXPECT_TRUE(plain.receiver().last_words().empty()) << "nobody asks";
  VerbsBench unreliable(Transport::uc, false, 1, 10, Verify::off, {}, VerbsBench::Words::written);
  EXPECT_TRUE(unreliable.receiver().last_words().empty()) << "uc loses lines";
  VerbsBench verified(Transport::rc, false, 1, 10, Verify::all, {}, VerbsBench::Words::written);
  EXPECT_TRUE(verified.receiver().last_words().empty()) << "the link compares first";
}

}  // namespace
}  // namespace rashpa::link
