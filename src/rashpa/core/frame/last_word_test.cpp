// SPDX-License-Identifier: Apache-2.0
#include "rashpa/core/frame/last_word.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "rashpa/core/frame/frame_record.hpp"
#include "rashpa/core/frame/last_word_testing.hpp"

namespace rashpa {
namespace {

TEST(LastWord, of_an_image_or_a_later_one_says_that_it_was_written) {
  EXPECT_TRUE(has_written(immediate_of(5, 9), 5, 9));
  EXPECT_TRUE(has_written(immediate_of(5, 12), 5, 9));
  EXPECT_FALSE(has_written(immediate_of(5, 8), 5, 9));
  EXPECT_FALSE(has_written(immediate_of(6, 9), 5, 9)) << "of another DTP";
  EXPECT_TRUE(has_written(immediate_of(0x105, 9), 0x105, 9)) << "the low byte counts";
}

TEST(LastWord, says_how_many_images_of_a_stack_have_been_written) {
  EXPECT_EQ(written_since(immediate_of(5, 8), 5, 9, 4), 0U);
  EXPECT_EQ(written_since(immediate_of(5, 9), 5, 9, 4), 1U);
  EXPECT_EQ(written_since(immediate_of(5, 11), 5, 9, 4), 3U);
  EXPECT_EQ(written_since(immediate_of(5, 30), 5, 9, 4), 4U);
  EXPECT_EQ(written_since(immediate_of(6, 11), 5, 9, 4), 0U) << "of another DTP";
  EXPECT_EQ(written_since(immediate_of(5, (1U << 24U) + 1), 5, (1U << 24U) - 2, 8), 4U) << "indices wrap";
}

TEST(LastWord, begins_as_that_of_the_image_before_the_first) {
  const std::uint32_t first = immediate_of(5, ~std::uint64_t{0});
  for (const std::uint64_t index : {0ULL, 9ULL, 0x7FFFFEULL}) EXPECT_FALSE(has_written(first, 5, index)) << index;
}

TEST(LastWord, counts_on_when_indices_wrap) {
  constexpr std::uint64_t kWrap = 1U << 24U;
  EXPECT_FALSE(has_written(immediate_of(5, kWrap - 1), 5, kWrap));
  EXPECT_TRUE(has_written(immediate_of(5, kWrap), 5, kWrap));
  EXPECT_TRUE(has_written(immediate_of(5, kWrap + 3), 5, kWrap - 1));
}

class RecordWords : public ::testing::Test {
 protected:
  RecordWords() {
    dtp_.dtp = 300;
    dtp_.run = 7;
    dtp_.lines = 64;
    dtp_.every = 3;
    dtp_.phase = 1;
    record_.dtp = 300;
    record_.flags = FrameRecord::laser;
    record_.index = (1ULL << 33U) + 5;
    record_.frame_number = 1 + 3 * record_.index;
    record_.timestamp_ns = 123'456'789'012;
    record_.lines = 64;
    record_.payload_bytes = 64 * 2048;
    record_.payload_crc32c = 0xDEADBEEF;
    record_.run = 7;
    record_.user[5] = 42;
  }
  [[nodiscard]] bool good_with(const std::function<void(FrameRecord&)>& change) const {
    FrameRecord record = record_;
    change(record);
    std::array<std::byte, FrameRecord::kBytes> bytes{};
    encode(record, bytes);
    return record_words::all_good(dtp_, record_.index, bytes);
  }
  LastWord dtp_;
  FrameRecord record_;
};

TEST_F(RecordWords, of_the_image_are_good) {
  EXPECT_TRUE(good_with([](FrameRecord&) {}));
  EXPECT_TRUE(good_with([](FrameRecord& r) { r.timestamp_ns = 1; })) << "its CRC32C is that of what it says";
}

TEST_F(RecordWords, of_another_image_run_or_dtp_are_not) {
  EXPECT_FALSE(good_with([](FrameRecord& r) { r.index -= 1; }));
  EXPECT_FALSE(good_with([](FrameRecord& r) { r.index -= 1ULL << 32U; }));
  EXPECT_FALSE(good_with([](FrameRecord& r) { r.frame_number += 1; }));
  EXPECT_FALSE(good_with([](FrameRecord& r) { r.run = 6; }));
  EXPECT_FALSE(good_with([](FrameRecord& r) { r.dtp = 301; }));
  EXPECT_FALSE(good_with([](FrameRecord& r) { r.lines = 63; }));
}

TEST_F(RecordWords, of_dark_and_skipped_images_are_left_to_the_host) {
  EXPECT_FALSE(good_with([](FrameRecord& r) { r.flags = FrameRecord::dark; }));
  EXPECT_FALSE(good_with([](FrameRecord& r) { r.flags |= FrameRecord::skipped; }));
}

TEST_F(RecordWords, with_any_changed_bit_are_not_good) {
  std::array<std::byte, FrameRecord::kBytes> bytes{};
  encode(record_, bytes);
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    bytes[bit / 8] ^= std::byte(1U << (bit % 8));
    EXPECT_FALSE(record_words::all_good(dtp_, record_.index, bytes)) << "bit " << bit;
    bytes[bit / 8] ^= std::byte(1U << (bit % 8));
  }
}

}  // namespace
}  // namespace rashpa
