// SPDX-License-Identifier: Apache-2.0
#include "rashpa/core/frame/frame_record.hpp"

#include <gtest/gtest.h>

namespace rashpa {
namespace {

FrameRecord sample() {
  return {.dtp = 7,
          .flags = FrameRecord::dark | FrameRecord::last_of_run,
          .frame_number = 1ULL << 40,
          .timestamp_ns = 1'700'000'000'000'000'000ULL,
          .index = 12345678901ULL,
          .slot = 13,
          .lines = 512,
          .payload_bytes = 1 << 20,
          .payload_crc32c = 0xDEADBEEF,
          .run = 42,
          .user = {1, 2, 3, 4, 5, 6}};
}

TEST(FrameRecord, comes_back_as_it_was_written) {
  std::array<std::byte, FrameRecord::kBytes> wire{};
  encode(sample(), wire);
  const auto back = decode_frame_record(wire);
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(*back, sample());
}

TEST(FrameRecord, any_flipped_bit_is_refused) {
  std::array<std::byte, FrameRecord::kBytes> wire{};
  encode(sample(), wire);
  for (std::size_t bit = 0; bit < wire.size() * 8; ++bit) {
    auto bad = wire;
    bad[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    EXPECT_FALSE(decode_frame_record(bad).has_value()) << "bit " << bit;
  }
}

TEST(FrameRecord, a_truncated_record_is_refused) {
  std::array<std::byte, FrameRecord::kBytes> wire{};
  encode(sample(), wire);
  for (std::size_t size = 0; size < wire.size(); ++size) {
    EXPECT_FALSE(decode_frame_record(std::span(wire).first(size)).has_value());
  }
}

TEST(FrameRecord, immediate_holds_dtp_and_index) { EXPECT_EQ(immediate_of(0xAB, 0x1'23456789ULL), 0xAB456789U); }

}  // namespace
}  // namespace rashpa
