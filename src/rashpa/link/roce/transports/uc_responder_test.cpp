// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/roce/transports/uc_responder.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace rashpa::link::roce {
namespace {

constexpr std::uint32_t kPmtu = 256;
constexpr std::uint32_t kKey = 0x1234;
constexpr std::uint64_t kRegion = 4096;

struct Sent {
  std::uint8_t opcode = wire::write_only;
  std::uint32_t psn = 0;
  std::uint64_t address = 0;
  std::uint32_t key = kKey;
  std::uint32_t length = 0;
  std::uint32_t payload = 0;
  int pad = -1;
};

bool has_reth(std::uint8_t opcode) {
  return opcode == wire::write_first || opcode == wire::write_only || opcode == wire::write_only_imm;
}
bool has_immediate(std::uint8_t opcode) { return opcode == wire::write_last_imm || opcode == wire::write_only_imm; }

class Responder : public ::testing::Test {
 protected:
  UcVerdict give(const Sent& sent) {
    const std::uint32_t pad = sent.pad < 0 ? wire::pad_of(sent.payload) : static_cast<std::uint32_t>(sent.pad);
    bytes_.assign(wire::kBth, std::byte{});
    wire::store_bth(bytes_.data(), sent.opcode, pad, 16, sent.psn);
    if (has_reth(sent.opcode)) {
      bytes_.resize(bytes_.size() + wire::kReth);
      wire::store_reth(bytes_.data() + wire::kBth, {sent.address, sent.key, sent.length});
    }
    if (has_immediate(sent.opcode)) {
      bytes_.resize(bytes_.size() + 4);
      wire::store_be<std::uint32_t>(&bytes_[bytes_.size() - 4], 0xAABBCCDD);
    }
    bytes_.resize(bytes_.size() + sent.payload + pad + wire::kIcrc, std::byte{7});
    out_ = {};
    return responder_.receive(wire::load_bth(bytes_.data()), bytes_, out_);
  }
  UcVerdict first(std::uint32_t psn, std::uint32_t length, std::uint64_t address = 0) {
    return give({.opcode = wire::write_first, .psn = psn, .address = address, .length = length, .payload = kPmtu});
  }
  UcVerdict middle(std::uint32_t psn) { return give({.opcode = wire::write_middle, .psn = psn, .payload = kPmtu}); }
  UcVerdict last(std::uint32_t psn, std::uint32_t payload) {
    return give({.opcode = wire::write_last, .psn = psn, .payload = payload});
  }
  UcVerdict only(std::uint32_t psn, std::uint32_t payload = 8) {
    return give({.psn = psn, .length = payload, .payload = payload});
  }

  UcResponder responder_{kPmtu, kKey, kRegion};
  std::vector<std::byte> bytes_;
  AcceptedWrite out_;
};

TEST_F(Responder, only_is_accepted_at_any_psn) {
  EXPECT_EQ(only(5), UcVerdict::accepted);
  EXPECT_EQ(only(5), UcVerdict::accepted);
  EXPECT_EQ(only(0xFFFFFF), UcVerdict::accepted);
  EXPECT_EQ(out_.payload.size(), 8U);
  EXPECT_TRUE(out_.starts_message);
}

TEST_F(Responder, a_message_goes_to_consecutive_addresses_and_psn_wraps) {
  ASSERT_EQ(first(0xFFFFFE, 2 * kPmtu + 10, 100), UcVerdict::accepted);
  EXPECT_EQ(out_.offset, 100U);
  EXPECT_EQ(out_.message_bytes, 2 * kPmtu + 10);
  ASSERT_EQ(middle(0xFFFFFF), UcVerdict::accepted);
  EXPECT_EQ(out_.offset, 100U + kPmtu);
  ASSERT_EQ(last(0, 10), UcVerdict::accepted);
  EXPECT_EQ(out_.offset, 100U + 2 * kPmtu);
  EXPECT_EQ(out_.payload.size(), 10U);
}

TEST_F(Responder, after_a_gap_everything_is_dropped_until_the_next_first_or_only) {
  ASSERT_EQ(first(1, 4 * kPmtu), UcVerdict::accepted);
  EXPECT_EQ(middle(3), UcVerdict::sequence_drop);
  EXPECT_EQ(middle(2), UcVerdict::sequence_drop);  // the missing one comes late: still dropped
  EXPECT_EQ(last(4, kPmtu), UcVerdict::sequence_drop);
  EXPECT_EQ(first(9, 2 * kPmtu), UcVerdict::accepted);
  EXPECT_EQ(last(10, kPmtu), UcVerdict::accepted);
}

TEST_F(Responder, a_duplicated_middle_kills_the_rest_of_its_message) {
  ASSERT_EQ(first(1, 4 * kPmtu), UcVerdict::accepted);
  ASSERT_EQ(middle(2), UcVerdict::accepted);
  EXPECT_EQ(middle(2), UcVerdict::sequence_drop);
  EXPECT_EQ(middle(3), UcVerdict::sequence_drop);
  EXPECT_EQ(last(4, kPmtu), UcVerdict::sequence_drop);
}

TEST_F(Responder, a_duplicated_first_starts_the_message_again) {
  ASSERT_EQ(first(1, 2 * kPmtu), UcVerdict::accepted);
  ASSERT_EQ(first(1, 2 * kPmtu), UcVerdict::accepted);
  EXPECT_EQ(last(2, kPmtu), UcVerdict::accepted);
}

TEST_F(Responder, middle_or_last_without_an_open_message_is_dropped) {
  ASSERT_EQ(only(1), UcVerdict::accepted);
  EXPECT_EQ(middle(2), UcVerdict::sequence_drop);
  ASSERT_EQ(only(3), UcVerdict::accepted);
  EXPECT_EQ(last(4, 8), UcVerdict::sequence_drop);
}

TEST_F(Responder, an_only_abandons_the_open_message) {
  ASSERT_EQ(first(1, 3 * kPmtu), UcVerdict::accepted);
  ASSERT_EQ(only(2), UcVerdict::accepted);
  EXPECT_EQ(middle(3), UcVerdict::sequence_drop);
}

TEST_F(Responder, first_and_middle_are_alike_and_no_longer_than_the_path_mtu) {
  ASSERT_EQ(give({.opcode = wire::write_first, .psn = 7, .length = 2 * kPmtu, .payload = kPmtu - 4}),
            UcVerdict::accepted);
  EXPECT_EQ(give({.opcode = wire::write_middle, .psn = 8, .payload = kPmtu - 4}), UcVerdict::accepted);
  EXPECT_EQ(give({.opcode = wire::write_last, .psn = 9, .payload = 8}), UcVerdict::accepted);
  ASSERT_EQ(give({.opcode = wire::write_first, .psn = 7, .length = 2 * kPmtu, .payload = kPmtu - 4}),
            UcVerdict::accepted);
  EXPECT_EQ(give({.opcode = wire::write_middle, .psn = 8, .payload = kPmtu - 8}), UcVerdict::malformed);
  EXPECT_EQ(give({.opcode = wire::write_first, .length = 3 * kPmtu, .payload = kPmtu + 4}), UcVerdict::malformed);
  EXPECT_EQ(give({.opcode = wire::write_first, .length = kPmtu, .payload = kPmtu}), UcVerdict::malformed);
  ASSERT_EQ(first(1, 3 * kPmtu), UcVerdict::accepted);
  EXPECT_EQ(give({.opcode = wire::write_middle, .psn = 2, .payload = kPmtu - 4}), UcVerdict::malformed);
  EXPECT_EQ(middle(3), UcVerdict::sequence_drop) << "a malformed packet ends its message";
}

TEST_F(Responder, a_message_ends_exactly_at_its_length) {
  ASSERT_EQ(first(1, 2 * kPmtu), UcVerdict::accepted);
  EXPECT_EQ(last(2, 8), UcVerdict::malformed);
  ASSERT_EQ(first(1, 2 * kPmtu), UcVerdict::accepted);
  EXPECT_EQ(middle(2), UcVerdict::malformed) << "nothing would be left for LAST";
  ASSERT_EQ(first(1, 3 * kPmtu), UcVerdict::accepted);
  EXPECT_EQ(last(2, kPmtu), UcVerdict::malformed);
}

TEST_F(Responder, padding_must_fit_the_length) {
  for (std::uint32_t payload = 1; payload < 9; ++payload) EXPECT_EQ(only(1, payload), UcVerdict::accepted) << payload;
  EXPECT_EQ(give({.length = 5, .payload = 5, .pad = 2}), UcVerdict::malformed);
  EXPECT_EQ(give({.length = 8, .payload = 4}), UcVerdict::malformed) << "RETH length and payload differ";
  EXPECT_EQ(only(1, kPmtu + 4), UcVerdict::malformed);
}

TEST_F(Responder, a_write_of_no_bytes_skips_the_key_check) {
  EXPECT_EQ(give({.opcode = wire::write_only_imm, .address = ~0ULL, .key = 0}), UcVerdict::accepted);
  EXPECT_TRUE(out_.has_immediate);
  EXPECT_EQ(out_.immediate, 0xAABBCCDDU);
}

TEST_F(Responder, wrong_key_or_bounds_are_refused) {
  EXPECT_EQ(give({.key = kKey + 1, .length = 8, .payload = 8}), UcVerdict::refused);
  EXPECT_EQ(give({.address = kRegion - 4, .length = 8, .payload = 8}), UcVerdict::refused);
  EXPECT_EQ(give({.address = ~0ULL - 3, .length = 8, .payload = 8}), UcVerdict::refused);
  EXPECT_EQ(give({.address = kRegion - 8, .length = 8, .payload = 8}), UcVerdict::accepted);
  EXPECT_EQ(first(1, 4 * kPmtu, kRegion - 3 * kPmtu), UcVerdict::refused) << "the whole message must fit";
  EXPECT_EQ(middle(2), UcVerdict::sequence_drop);
}

TEST_F(Responder, last_with_immediate_completes_in_network_order) {
  ASSERT_EQ(first(1, kPmtu + 8), UcVerdict::accepted);
  EXPECT_FALSE(out_.has_immediate);
  ASSERT_EQ(give({.opcode = wire::write_last_imm, .psn = 2, .payload = 8}), UcVerdict::accepted);
  EXPECT_TRUE(out_.has_immediate);
  EXPECT_EQ(out_.immediate, 0xAABBCCDDU);
}

TEST_F(Responder, other_operations_and_short_packets_are_malformed) {
  EXPECT_EQ(give({.opcode = 0x24, .payload = 8}), UcVerdict::malformed);
  EXPECT_EQ(give({.opcode = 0x0A, .payload = 8}), UcVerdict::malformed);
  std::vector<std::byte> shortest(wire::kBth + wire::kIcrc + wire::kReth - 1, std::byte{});
  wire::store_bth(shortest.data(), wire::write_only, 0, 16, 1);
  EXPECT_EQ(responder_.receive(wire::load_bth(shortest.data()), shortest, out_), UcVerdict::malformed);
}

}  // namespace
}  // namespace rashpa::link::roce
