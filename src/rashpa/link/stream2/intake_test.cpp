// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/stream2/intake.hpp"

#include <gtest/gtest.h>

#include "rashpa/core/error.hpp"
#include "rashpa/link/stream2/testing/testing.hpp"
#include "rashpa/link/testing/testing.hpp"

namespace rashpa::link::stream2 {
namespace {

using testing::Bytes;
using testing::ImageSays;

class Stream2Intake : public ::testing::Test {
 protected:
  Stream2Intake() {
    for (std::uint32_t module = 0; module < 2; ++module) {
      ReceiverDtp dtp = link::testing::small_dtp(module + 1, 5000, 2, 8, 8);
      dtp.slice = {1, 0};
      dtp.module = module;
      memory_.resize(link::testing::end_of(dtp));
      known_.push_back(dtp);
    }
    for (std::uint32_t module = 0; module < 2; ++module) {
      dtps_.push_back(std::make_unique<StreamDtp>(known_[module], module, 16, memory_, counters_));
    }
    intake_.emplace(std::vector<StreamDtp*>{dtps_[0].get(), dtps_[1].get()}, false, counters_);
  }
  Intake::Verdict offer(const Bytes& bytes, std::int64_t now = 1) {
    bytes_ = bytes;
    EXPECT_TRUE(read_message(bytes_, message_));
    return intake_->offer(message_, 0, now, parts_);
  }
  Intake::Verdict image(std::uint64_t number, std::vector<std::string> channels = {"low", "high"}) {
    return offer(testing::image_message({.image = number, .channels = std::move(channels)}));
  }
  void start() { EXPECT_EQ(offer(testing::start_message(1, {"low", "high"})), Intake::Verdict::done); }
  [[nodiscard]] std::uint64_t count(std::string_view name) const {
    Counts counts;
    counters_.add_to(counts);
    return counts[name];
  }

  std::vector<ReceiverDtp> known_;
  std::vector<std::byte> memory_;
  StreamCounters counters_;
  std::vector<std::unique_ptr<StreamDtp>> dtps_;
  std::optional<Intake> intake_;
  Bytes bytes_;
  Message message_;
  Parts parts_;
};

TEST_F(Stream2Intake, a_module_is_the_channel_of_its_number_in_the_start) {
  start();
  ASSERT_EQ(image(0, {"high", "low"}), Intake::Verdict::unpack);
  ASSERT_EQ(parts_.count, 2U);
  EXPECT_EQ(parts_.parts[0].dtp, dtps_[0].get());
  EXPECT_EQ(parts_.parts[0].packed.channel, "low");
  EXPECT_EQ(parts_.parts[1].packed.channel, "high");
  ASSERT_EQ(image(1, {"high"}), Intake::Verdict::unpack);
  EXPECT_EQ(parts_.count, 1U);
  EXPECT_EQ(count("no_channel"), 1U);
}

TEST_F(Stream2Intake, images_wait_for_their_start_and_not_for_ever) {
  const Bytes first = testing::image_message({.image = 0, .channels = {"low", "high"}});
  EXPECT_EQ(offer(first, 1), Intake::Verdict::held);
  EXPECT_EQ(offer(first, 1'000'000'000), Intake::Verdict::held);
  EXPECT_EQ(offer(first, 3'000'000'000), Intake::Verdict::unpack);
}

TEST_F(Stream2Intake, messages_of_another_series_are_counted_and_change_nothing) {
  start();
  EXPECT_EQ(offer(testing::start_message(2)), Intake::Verdict::done);
  EXPECT_EQ(offer(testing::image_message({.series = 2, .channels = {"low", "high"}})), Intake::Verdict::done);
  EXPECT_EQ(offer(testing::end_message(2)), Intake::Verdict::done);
  EXPECT_FALSE(intake_->ended());
  EXPECT_EQ(count("other_series"), 3U);
  EXPECT_EQ(image(0), Intake::Verdict::unpack);
  EXPECT_EQ(offer(testing::end_message(1)), Intake::Verdict::done);
  EXPECT_TRUE(intake_->ended());
}

TEST_F(Stream2Intake, an_image_without_a_time_of_its_own_counts_from_the_begin_of_its_series) {
  Message start;
  start.type = Type::start;
  start.series = 1;
  start.timestamp_ns = 5'000;
  EXPECT_EQ(intake_->offer(start, 0, 1, parts_), Intake::Verdict::done);
  Message image;
  image.type = Type::image;
  image.series = 1;
  image.since_ns = 70;
  image.data[0] = {.channel = "", .rows = 2, .columns = 4, .pixel = PixelType::u16};
  image.channels_of_data = 1;
  ASSERT_EQ(intake_->offer(image, 0, 1, parts_), Intake::Verdict::unpack);
  EXPECT_EQ(parts_.timestamp_ns, 5'070U);
}

TEST_F(Stream2Intake, repeated_images_are_taken_once) {
  start();
  EXPECT_EQ(image(3), Intake::Verdict::unpack);
  EXPECT_EQ(image(3), Intake::Verdict::done);
  EXPECT_EQ(count("duplicate_packets"), 2U);
}

TEST_F(Stream2Intake, an_image_without_a_slot_is_held_until_it_has_one) {
  start();
  EXPECT_EQ(image(8), Intake::Verdict::held);
  EXPECT_EQ(image(8), Intake::Verdict::held);
  EXPECT_EQ(count("no_frame"), 0U);
  EXPECT_EQ(dtps_[0]->passed(), 7U) << "two of eight slots are waited for";
}

TEST_F(Stream2Intake, one_wrong_number_ends_no_images_and_three_do) {
  start();
  EXPECT_EQ(image(0), Intake::Verdict::unpack);
  EXPECT_EQ(image(4000), Intake::Verdict::done);
  EXPECT_EQ(image(1), Intake::Verdict::unpack);
  EXPECT_EQ(dtps_[0]->passed(), 0U);
  EXPECT_EQ(image(3000), Intake::Verdict::done);
  EXPECT_EQ(image(3001), Intake::Verdict::done);
  EXPECT_EQ(image(3002), Intake::Verdict::done);
  EXPECT_EQ(dtps_[0]->passed(), 3001U);
  EXPECT_EQ(image(5000), Intake::Verdict::done) << "no frame of the run";
  EXPECT_EQ(offer(testing::image_message({.image = ~std::uint64_t{0}, .channels = {"low", "high"}})),
            Intake::Verdict::done);
}

TEST_F(Stream2Intake, images_of_another_size_or_type_are_counted) {
  start();
  const ImageSays types{.dtype = 77, .channels = {"low", "high"}};
  const ImageSays sides{.image = 1, .rows = 4, .columns = 2, .channels = {"low", "high"}};
  for (const ImageSays& says : {types, sides}) {
    EXPECT_EQ(offer(testing::image_message(says)), Intake::Verdict::done);
  }
  EXPECT_EQ(count("wrong_shape"), 4U);
}

TEST_F(Stream2Intake, what_the_sender_has_lost_in_part_is_not_taken_for_whole) {
  start();
  const ImageSays says{.channels = {"low", "high"}, .completeness = "partial"};
  EXPECT_EQ(offer(testing::image_message(says)), Intake::Verdict::done);
  EXPECT_EQ(count("partial_before"), 2U);
}

/// A module of two, each of a port of its own.
class PortIntake : public Stream2Intake {
 protected:
  PortIntake() { begin(10); }
  void begin(std::uint64_t first) {
    intake_.emplace(std::vector<StreamDtp*>{dtps_[0].get(), dtps_[1].get()}, false, counters_,
                    std::make_unique<PortCounts>(first, 2));
  }
  Intake::Verdict image(std::uint64_t number, std::uint32_t module, std::uint64_t series = 1) {
    message_ = {};
    message_.type = Type::image;
    message_.series = series;
    message_.image = number;
    message_.module = module;
    message_.partial = partial_;
    message_.words[0] = number;
    message_.data[0] = {.channel = "", .rows = 2, .columns = 4, .pixel = PixelType::u16};
    message_.channels_of_data = 1;
    return intake_->offer(message_, module & 1U, 1, parts_);
  }
  Intake::Verdict end(std::size_t port) {
    message_ = {};
    message_.type = Type::end;
    return intake_->offer(message_, port, 1, parts_);
  }
  bool partial_ = false;
};

TEST_F(PortIntake, each_message_feeds_the_module_at_its_place) {
  for (std::uint32_t module = 0; module < 2; ++module) {
    ASSERT_EQ(image(12, module), Intake::Verdict::unpack);
    ASSERT_EQ(parts_.count, 1U);
    EXPECT_EQ(parts_.parts[0].dtp, dtps_[module].get());
    EXPECT_EQ(parts_.parts[0].index, 2U);
    EXPECT_EQ(parts_.words[0], 12U);
  }
  EXPECT_EQ(image(12, 0), Intake::Verdict::done);
  EXPECT_EQ(count("duplicate_packets"), 1U);
  EXPECT_EQ(image(12, 2), Intake::Verdict::done);
  EXPECT_EQ(count("no_channel"), 1U) << "the run file has two modules";
  EXPECT_EQ(image(9, 0), Intake::Verdict::done);
  EXPECT_EQ(count("no_frame"), 1U) << "from before the run";
  partial_ = true;
  EXPECT_EQ(image(13, 1), Intake::Verdict::done);
  EXPECT_EQ(count("partial_before"), 1U);
}

TEST_F(PortIntake, images_wait_until_all_ports_have_said_where_they_begin) {
  begin(0);
  EXPECT_EQ(image(101, 0), Intake::Verdict::held);
  EXPECT_EQ(image(100, 1), Intake::Verdict::unpack);
  EXPECT_EQ(image(101, 0), Intake::Verdict::unpack);
  EXPECT_EQ(parts_.parts[0].index, 1U);
}

TEST_F(PortIntake, an_end_before_the_first_image_holds_for_a_port_that_then_sends_nothing) {
  EXPECT_EQ(end(1), Intake::Verdict::done);
  EXPECT_EQ(image(10, 0), Intake::Verdict::unpack);
  EXPECT_FALSE(intake_->ended());
  end(0);
  EXPECT_TRUE(intake_->ended());
  EXPECT_TRUE(intake_->ended_before()) << "it may have been the end of an earlier acquisition";
  EXPECT_EQ(image(10, 1), Intake::Verdict::unpack);
  EXPECT_FALSE(intake_->ended()) << "and it was";
  end(1);
  EXPECT_TRUE(intake_->ended());
  EXPECT_FALSE(intake_->ended_before());
}

TEST_F(PortIntake, a_series_is_a_file_index_and_ends_when_all_ports_have) {
  EXPECT_EQ(end(0), Intake::Verdict::done);
  EXPECT_EQ(end(1), Intake::Verdict::done);
  EXPECT_FALSE(intake_->ended()) << "those of an acquisition before the first image";
  EXPECT_EQ(image(10, 0), Intake::Verdict::unpack);
  EXPECT_EQ(image(11, 1, 2), Intake::Verdict::done);
  EXPECT_EQ(count("other_series"), 1U);
  end(0);
  EXPECT_FALSE(intake_->ended());
  end(1);
  EXPECT_TRUE(intake_->ended());
}

TEST_F(PortIntake, a_stream_of_ports_may_have_more_modules_than_one_has_channels) {
  std::vector<std::unique_ptr<StreamDtp>> many;
  std::vector<StreamDtp*> all;
  for (std::uint32_t module = 0; module < 40; ++module) {
    ReceiverDtp dtp = known_[0];
    dtp.module = module;
    many.push_back(std::make_unique<StreamDtp>(dtp, module, 16, memory_, counters_));
    all.push_back(many.back().get());
  }
  EXPECT_NO_THROW(Intake(all, false, counters_, std::make_unique<PortCounts>(0, 40)));
  EXPECT_THROW(Intake(all, false, counters_), ConfigError);
}

}  // namespace
}  // namespace rashpa::link::stream2
