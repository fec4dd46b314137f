// SPDX-License-Identifier: Apache-2.0
/// Senders that are not ours: packets cut to the MTU that they see, events without a frame record of ours.
#include <gtest/gtest.h>

#include <cstring>

#include "rashpa/core/error.hpp"
#include "rashpa/link/roce/packet_handler.hpp"
#include "rashpa/link/testing/testing.hpp"
#include "rashpa/wire/packet/packet.hpp"

namespace rashpa::link::roce {
namespace {

constexpr std::uint32_t kQpn = 300;
constexpr std::uint32_t kKey = 0x1234;

class ForeignWriter : public ::testing::Test, public ArrivalOutput {
 protected:
  [[nodiscard]] bool ready(std::uint32_t /*dtp*/) noexcept override { return true; }
  bool emit(const Arrival& arrival) noexcept override {
    arrivals_.push_back(arrival);
    return true;
  }

  void make(std::uint32_t lines, std::uint32_t line_bytes, NotFree not_free = NotFree::late) {
    dtp_ = testing::small_dtp(9, 100, lines, line_bytes, 3);
    region_.assign(testing::end_of(dtp_), std::byte{0xEE});
    port_ = std::make_unique<PacketDtp>(dtp_, 0, options_, kKey, region_, not_free, counters_);
    handler_ = std::make_unique<PacketHandler>(options_, kQpn, std::vector<PacketDtp*>{port_.get()}, counters_);
    payload_.resize(dtp_.placement.payload_bytes());
    testing::fill(payload_, 5);
  }

  struct Sent {
    std::uint8_t opcode = wire::write_only;
    std::uint64_t linear = 0;   ///< first byte, in the image's payload
    std::uint32_t bytes = 0;    ///< of the packet
    std::uint32_t message = 0;  ///< 0: as the packet
    std::optional<std::uint32_t> immediate{};
    bool record = false;  ///< to the place of the image's record
  };
  void give(std::uint64_t image, const Sent& sent) {
    wire::Packet made;
    made.ipv4.emplace();
    made.ipv4->source = made.ipv4->destination = {127, 0, 0, 1};
    made.udp = wire::UdpHeader{5000, 6000, {}, {}};
    made.bth.opcode = sent.opcode;
    made.bth.destination_qp = kQpn;
    made.bth.psn = psn_++;
    if (sent.opcode != wire::write_middle && sent.opcode != wire::write_last && sent.opcode != wire::write_last_imm) {
      const std::uint64_t record = dtp_.placement.record_offset(image);
      made.reth = wire::RethHeader{sent.record ? record : dtp_.placement.image_offset(image) + sent.linear, kKey,
                                   sent.message != 0 ? sent.message : sent.bytes};
    }
    made.immediate = sent.immediate;
    const auto part = std::span(payload_).subspan(sent.bytes == 0 ? 0 : sent.linear, sent.bytes);
    made.payload.assign(part.begin(), part.end());
    std::vector<std::byte> ip = encode(made);
    const wire::Address from("127.0.0.1", 5000);
    const wire::Address to("127.0.0.1", 6000);
    handler_->handle({std::span(ip).subspan(28), 0, &from, &to, ++now_}, *this);
    handler_->decide_touched(now_, *this);
  }
  // The whole image as ONLY packets of at most `most` bytes, line by line; packet number `lost` is not sent.
  void lines(std::uint64_t image, std::uint32_t most, int lost = -1) {
    int number = 0;
    const Placement& p = dtp_.placement;
    for (std::uint64_t line = 0; line < p.lines; ++line) {
      for (std::uint32_t at = 0; at < p.line_bytes; at += most) {
        const std::uint32_t bytes = std::min(most, p.line_bytes - at);
        if (number++ != lost) give(image, {.linear = line * p.line_bytes + at, .bytes = bytes});
      }
    }
  }
  // As some libraries end a transfer: a write of nothing with an immediate of their own.
  void end_of_image(std::uint64_t image) { give(image, {.opcode = wire::write_only_imm, .immediate = 0x00C0FFEE}); }
  Counts stats() const {
    Counts sum;
    counters_.add_to(sum);
    return sum;
  }
  void expect_whole(std::size_t arrival, std::uint64_t image) {
    ASSERT_GT(arrivals_.size(), arrival);
    EXPECT_EQ(arrivals_[arrival].index, image);
    EXPECT_EQ(arrivals_[arrival].completeness, Completeness::complete);
    EXPECT_EQ(arrivals_[arrival].proof, Proof::lines);
    EXPECT_EQ(arrivals_[arrival].record.frame_number, dtp_.slice.frame(image));
    EXPECT_EQ(arrivals_[arrival].record.index, image);
    EXPECT_EQ(std::memcmp(&region_[dtp_.placement.image_offset(image)], payload_.data(), payload_.size()), 0);
  }

  Options options_{.pmtu = 4096};
  ReceiverDtp dtp_;
  std::vector<std::byte> region_;
  std::vector<std::byte> payload_;
  PacketCounters counters_;
  std::unique_ptr<PacketDtp> port_;
  std::unique_ptr<PacketHandler> handler_;
  std::vector<Arrival> arrivals_;
  std::uint32_t psn_ = 0;
  std::int64_t now_ = 1000;
};

TEST_F(ForeignWriter, packets_of_1408_bytes_behind_an_mtu_of_1500_fill_lines_of_2048) {
  make(4, 2048);
  lines(0, 1408);
  end_of_image(0);
  expect_whole(0, 0);
  EXPECT_EQ(stats()["refused_key"] + stats()["refused_alignment"] + stats()["bad_records"], 0U);
  EXPECT_EQ(stats()["payload_bytes"], payload_.size());
}

TEST_F(ForeignWriter, packets_of_1024_bytes_fill_lines_of_2048_with_a_pmtu_of_4096) {
  make(4, 2048);
  lines(0, 1024);
  end_of_image(0);
  expect_whole(0, 0);
}

TEST_F(ForeignWriter, messages_may_be_cut_shorter_than_the_path_mtu) {
  options_.packetisation = Packetisation::first_middle_last;
  make(4, 2048);
  const auto whole = static_cast<std::uint32_t>(payload_.size());
  give(0, {.opcode = wire::write_first, .linear = 0, .bytes = 1408, .message = whole});
  std::uint32_t at = 1408;
  for (; at + 1408 < whole; at += 1408) give(0, {.opcode = wire::write_middle, .linear = at, .bytes = 1408});
  give(0, {.opcode = wire::write_last_imm, .linear = at, .bytes = whole - at, .immediate = 1});
  expect_whole(0, 0);
  EXPECT_EQ(stats()["malformed"] + stats()["sequence_drops"], 0U);
}

TEST_F(ForeignWriter, a_lost_packet_costs_its_line_and_no_other) {
  make(4, 2048);
  lines(0, 1408, 3);
  end_of_image(0);
  EXPECT_TRUE(arrivals_.empty()) << "it may only be late";
  lines(1, 1408);
  end_of_image(1);
  ASSERT_EQ(arrivals_.size(), 2U);
  EXPECT_EQ(arrivals_[0].completeness, Completeness::partial);
  EXPECT_EQ(arrivals_[0].loss, Loss::lines);
  EXPECT_EQ(arrivals_[0].lines_missing, 1U);
  EXPECT_FALSE(arrivals_[0].map->line_arrived(1));
  expect_whole(1, 1);
}

TEST_F(ForeignWriter, what_came_before_the_map_grew_finer_is_not_forgotten) {
  make(4, 2048);
  give(0, {.linear = 2048, .bytes = 2048});  // as our own sender would
  give(1, {.linear = 0, .bytes = 4096});
  lines(0, 1408);
  end_of_image(0);
  expect_whole(0, 0);
  EXPECT_EQ(stats()["duplicate_packets"], 2U) << "both packets of the line that was there";
  give(1, {.linear = 4096, .bytes = 4096});
  end_of_image(1);
  expect_whole(1, 1);
}

TEST_F(ForeignWriter, what_no_unit_holds_is_refused_and_counted_for_what_it_is) {
  make(4, 2048);
  lines(0, 1000);  // 1000, 1000, 48
  EXPECT_EQ(stats()["refused_alignment"], 12U);
  EXPECT_EQ(stats()["refused_key"], 0U);
  EXPECT_EQ(stats()["payload_bytes"], 0U);
  EXPECT_EQ(region_[0], std::byte{0xEE});
}

TEST_F(ForeignWriter, the_unit_can_be_chosen_and_must_divide_a_line) {
  options_.unit_bytes = 8;
  make(4, 2048);
  lines(0, 1000);
  end_of_image(0);
  expect_whole(0, 0);
  options_.unit_bytes = 96;
  EXPECT_THROW(make(4, 2048), ConfigError);
}

TEST_F(ForeignWriter, our_own_packets_leave_the_unit_as_it_was) {
  const Placement p = testing::small_dtp(1, 1, 4, 2048, 2).placement;
  EXPECT_EQ(map_unit(p, options_).bytes, 2048U);
  EXPECT_EQ(map_unit(p, options_).finest, 64U);
  EXPECT_EQ(map_unit(testing::small_dtp(1, 1, 4, 1030, 2).placement, options_).finest, 1030U)
      << "a map of units of two bytes would cost more than it is worth unasked";
}

TEST_F(ForeignWriter, an_event_can_come_with_the_last_lines) {
  make(2, 2048);
  give(0, {.linear = 0, .bytes = 2048});
  give(0, {.opcode = wire::write_only_imm, .linear = 2048, .bytes = 2048, .immediate = 7});
  expect_whole(0, 0);
  EXPECT_EQ(stats()["events"], 1U);
}

TEST_F(ForeignWriter, an_event_before_any_line_says_nothing) {
  make(2, 2048);
  end_of_image(0);
  EXPECT_EQ(stats()["bad_records"], 1U);
  EXPECT_TRUE(arrivals_.empty());
}

TEST_F(ForeignWriter, packets_that_nobody_checks_prove_nothing) {
  options_.icrc = IcrcMode::off;
  make(2, 2048);
  lines(0, 2048);
  end_of_image(0);
  ASSERT_EQ(arrivals_.size(), 1U);
  EXPECT_EQ(arrivals_[0].completeness, Completeness::complete);
  EXPECT_EQ(arrivals_[0].proof, Proof::none);
}

class WithoutRecords : public ForeignWriter {
 protected:
  WithoutRecords() { options_.records = false; }
};

TEST_F(WithoutRecords, an_image_is_complete_when_its_last_line_has_come) {
  make(4, 2048);
  lines(0, 1408);
  expect_whole(0, 0);
  EXPECT_EQ(stats()["events"], 0U);
}

// As Holoscan Sensor Bridge does: metadata of its own behind each frame.
TEST_F(WithoutRecords, events_behind_whole_images_end_none_a_ring_ahead) {
  make(4, 2048);
  for (std::uint64_t image = 0; image < 30; ++image) {
    lines(image, 1408);
    give(image, {.opcode = wire::write_only_imm, .bytes = 128, .immediate = 5, .record = true});
    ASSERT_EQ(arrivals_.size(), image + 1);
    expect_whole(image, image);
    port_->release(image + 1);
  }
  EXPECT_EQ(stats()["late_packets"], 0U);
}

TEST_F(WithoutRecords, one_with_lost_lines_waits_for_late_packets_and_then_is_partial) {
  make(4, 2048);
  lines(0, 2048, 2);
  lines(1, 2048);
  EXPECT_TRUE(arrivals_.empty()) << "packets may be reordered";
  lines(2, 2048);
  ASSERT_EQ(arrivals_.size(), 3U);
  EXPECT_EQ(arrivals_[0].completeness, Completeness::partial);
  EXPECT_EQ(arrivals_[0].lines_missing, 1U);
  EXPECT_EQ(arrivals_[0].record.index, 0U);
  expect_whole(1, 1);
  expect_whole(2, 2);
}

TEST_F(WithoutRecords, one_of_which_nothing_came_is_missing) {
  make(4, 2048);
  lines(1, 2048);
  lines(2, 2048);
  ASSERT_EQ(arrivals_.size(), 3U);
  EXPECT_EQ(arrivals_[0].completeness, Completeness::missing);
  expect_whole(1, 1);
}

TEST_F(WithoutRecords, a_slot_that_is_not_free_is_an_overrun_without_flow_control) {
  make(2, 2048, NotFree::overrun);
  for (std::uint64_t image = 0; image < 3; ++image) lines(image, 2048);
  ASSERT_EQ(arrivals_.size(), 3U);
  lines(3, 2048);  // the slot of image 0, which nobody has released
  ASSERT_EQ(arrivals_.size(), 4U);
  EXPECT_EQ(arrivals_[3].completeness, Completeness::missing);
  EXPECT_EQ(arrivals_[3].loss, Loss::overrun);
  EXPECT_EQ(stats()["overrun_packets"], 2U);
}

TEST_F(WithoutRecords, whatever_an_event_brings_is_no_record) {
  make(2, 2048);
  lines(0, 2048, 1);
  give(0, {.opcode = wire::write_only_imm,
           .linear = dtp_.placement.record_offset(0) - dtp_.placement.image_offset(0),
           .bytes = 0,
           .immediate = 1});
  EXPECT_EQ(stats()["bad_records"], 0U);
  give(0, {.linear = 2048, .bytes = 2048});
  expect_whole(0, 0);
}

TEST_F(WithoutRecords, packets_must_be_checked) {
  options_.icrc = IcrcMode::off;
  EXPECT_THROW(check(options_), ConfigError);
}

}  // namespace
}  // namespace rashpa::link::roce
