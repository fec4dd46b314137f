// SPDX-License-Identifier: Apache-2.0
/// Both ends over TCP of this machine: pixels, faults, senders that go away, and hostile ones.
#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include "rashpa/core/testing/testing.hpp"
#include "rashpa/link/stream2/receiver.hpp"
#include "rashpa/link/stream2/sending/outlet.hpp"
#include "rashpa/link/stream2/sending/sender.hpp"
#include "rashpa/link/stream2/testing/testing.hpp"
#include "rashpa/link/testing/testing.hpp"

namespace rashpa::link::stream2 {
namespace {

using link::testing::end_of;
using link::testing::small_dtp;
using link::testing::Source;
using testing::Bytes;

class Stream2Link : public ::testing::Test {
 protected:
  static bool failed() { return HasFailure(); }

  ReceiverDtp dtp(std::uint64_t images, std::uint32_t slots, std::uint32_t gap = 0) {
    ReceiverDtp one = small_dtp(1, images, 40, 128, slots, gap);
    one.slice = {1, 0};
    return one;
  }
  void receive(const ReceiverDtp& one, const Options& options = {}) {
    dtp_ = one;
    region_.assign(end_of(one), std::byte{0});
    queues_ = ArrivalQueues(1, 2 * one.placement.slots);
    receiver_ = std::make_unique<Stream2Receiver>(ReceiverConfig{.threads = 3, .options = options},
                                                  std::span<std::byte>(region_), std::vector{one}, queues_, bell_);
  }
  std::unique_ptr<Stream2Sender> sender(std::optional<FaultConfig> faults = std::nullopt) {
    return std::make_unique<Stream2Sender>(SenderConfig{.destination = receiver_->endpoints()[0],
                                                        .dtp = 1,
                                                        .images = dtp_.images,
                                                        .payload_bytes = dtp_.placement.payload_bytes(),
                                                        .faults = faults});
  }
  Arrival next() {
    Arrival arrival;
    const std::int64_t start = now_ns();
    while (now_ns() - start < 20'000'000'000) {
      const auto seen = bell_.count();
      if (queues_.try_pop(arrival)) return arrival;
      bell_.wait(seen, std::chrono::milliseconds(5));
    }
    ADD_FAILURE() << "no arrival";
    return arrival;
  }
  [[nodiscard]] std::uint32_t crc(std::uint64_t index) const {
    const Placement& p = dtp_.placement;
    std::uint32_t sum = 0;
    for (std::uint32_t line = 0; line < p.lines; ++line) {
      sum = crc32c({region_.data() + p.image_offset(index) + line * p.pitch, p.line_bytes}, sum);
    }
    return sum;
  }

  ReceiverDtp dtp_;
  std::vector<std::byte> region_;
  ArrivalQueues queues_;
  Doorbell bell_;
  std::unique_ptr<Stream2Receiver> receiver_;
};

TEST_F(Stream2Link, each_image_arrives_once_in_order_with_its_pixels) {
  for (const std::uint32_t gap : {0U, 12U}) {
    receive(dtp(100, 8, gap));
    auto link = sender();
    receiver_->connect(std::vector{link->endpoint()});
    receiver_->start();
    Source source(dtp_, *link);
    std::vector<std::uint32_t> sums(100);
    std::jthread sending([&] {
      for (std::uint64_t k = 0; k < 100; ++k) {
        source.prepare(k);
        sums[k] = source.record(k).payload_crc32c;
        if (!source.write(k, failed)) return;
      }
      source.drain(failed);
    });
    for (std::uint64_t k = 0; k < 100; ++k) {
      const Arrival arrival = next();
      ASSERT_EQ(arrival.index, k);
      ASSERT_EQ(arrival.completeness, Completeness::complete);
      EXPECT_EQ(arrival.proof, Proof::lines);
      EXPECT_EQ(arrival.record.frame_number, k);
      EXPECT_EQ(crc(k), sums[k]);
      receiver_->release(0, k + 1);
    }
    sending.join();
    receiver_->stop();
    EXPECT_EQ(receiver_->stats()["events"], 100U);
    EXPECT_EQ(receiver_->descriptions().size(), 1U);
  }
}

TEST_F(Stream2Link, losses_are_those_of_the_injectors_log) {
  constexpr std::uint64_t kImages = 400;
  receive(dtp(kImages, 24));
  auto link = sender(FaultConfig{.seed = 5, .drop = 0.05, .duplicate = 0.05, .reorder = 0.1, .corrupt = 0.05});
  receiver_->connect(std::vector{link->endpoint()});
  receiver_->start();
  std::jthread sending([&] {
    Source source(dtp_, *link);
    for (std::uint64_t k = 0; k < kImages; ++k) {
      if (!source.write(k, failed)) return;
    }
    source.drain(failed);
  });
  std::vector<Completeness> found;
  for (std::uint64_t k = 0; k < kImages; ++k) {
    const Arrival arrival = next();
    ASSERT_EQ(arrival.index, k);
    found.push_back(arrival.completeness);
    receiver_->release(0, k + 1);
  }
  sending.join();
  receiver_->stop();
  for (std::uint64_t k = 0; k < kImages; ++k) EXPECT_EQ(found[k], link->fates()->fate(k)) << "image " << k;
  const FaultCounts made = link->injected();
  EXPECT_GT(made.drop * made.duplicate * made.reorder * made.corrupt, 0U);
  const Counts counts = receiver_->stats();
  EXPECT_EQ(counts["malformed"], made.corrupt);
  EXPECT_EQ(counts["duplicate_packets"] + counts["late_packets"], made.duplicate);
}

TEST_F(Stream2Link, a_sender_is_held_up_while_no_slot_is_free) {
  receive(dtp(20, 4));
  auto link = sender();
  receiver_->connect(std::vector{link->endpoint()});
  receiver_->start();
  std::jthread sending([&] {
    Source source(dtp_, *link);
    for (std::uint64_t k = 0; k < 20; ++k) {
      if (!source.write(k, failed)) return;
    }
    source.drain(failed);
  });
  for (std::uint64_t k = 0; k < 4; ++k) EXPECT_EQ(next().index, k);
  const std::int64_t until = now_ns() + 50'000'000;
  Arrival more;
  while (now_ns() < until) ASSERT_FALSE(queues_.try_pop(more)) << "there is no slot for image 4";
  for (std::uint64_t k = 4; k < 20; ++k) {
    receiver_->release(0, k - 3);
    const Arrival arrival = next();
    EXPECT_EQ(arrival.index, k);
    EXPECT_EQ(arrival.completeness, Completeness::complete);
  }
  sending.join();
  receiver_->stop();
}

TEST_F(Stream2Link, close_emits_what_is_undecided_and_later_images_still_come) {
  receive(dtp(20, 8));
  auto link = sender();
  receiver_->connect(std::vector{link->endpoint()});
  receiver_->start();
  Source source(dtp_, *link);
  ASSERT_TRUE(source.write(0, failed));
  source.drain(failed);
  EXPECT_EQ(next().completeness, Completeness::complete);
  receiver_->close(0, 3);
  for (std::uint64_t k = 1; k < 3; ++k) EXPECT_EQ(next().loss, Loss::deadline);
  ASSERT_TRUE(source.write(3, failed));
  source.drain(failed);
  EXPECT_EQ(next().completeness, Completeness::complete);
  receiver_->close(0, ~0ULL);
  for (std::uint64_t k = 4; k < 20; ++k) EXPECT_EQ(next().completeness, Completeness::missing);
  receiver_->stop();
}

/// A sender that sends anything.
class Hostile {
 public:
  Hostile() : outlet_("127.0.0.1") {}
  [[nodiscard]] Endpoint endpoint() const {
    return {.address = outlet_.local().text(), .port = outlet_.local().port()};
  }
  void send(const Bytes& message) { ASSERT_EVENTUALLY(outlet_.send(message)); }
  void send_frames(const std::vector<std::string>& frames) {
    for (std::size_t n = 0; n < frames.size(); ++n) {
      ASSERT_EVENTUALLY(outlet_.send(std::as_bytes(std::span(frames[n])), n + 1 < frames.size()));
    }
  }

 private:
  Outlet outlet_;
};

TEST_F(Stream2Link, hostile_messages_are_counted_and_the_series_goes_on) {
  ReceiverDtp one = dtp(6, 8);
  one.placement.lines = 2;
  one.placement.pitch = 8;
  one.placement.line_bytes = 8;
  receive(one);
  Hostile hostile;
  receiver_->connect(std::vector{hostile.endpoint()});
  receiver_->start();
  hostile.send(testing::start_message(1));
  hostile.send({});
  hostile.send(Bytes(100, std::byte{0x81}));
  hostile.send(testing::image_message({.image = 0, .rows = 3}));
  hostile.send(testing::image_message({.image = 1, .packing = "bslz4"}));
  hostile.send(testing::image_message({.image = 2, .packing = "zstd"}));
  hostile.send(testing::image_message({.image = 3, .dtype = 70, .data = Bytes(32)}));
  hostile.send(testing::image_message({.image = 4}));
  hostile.send(testing::end_message(1));
  for (std::uint64_t k = 0; k < 6; ++k) {
    const Arrival arrival = next();
    EXPECT_EQ(arrival.index, k);
    EXPECT_EQ(arrival.completeness, k == 4 ? Completeness::complete : Completeness::missing) << k;
  }
  receiver_->stop();
  const Counts counts = receiver_->stats();
  EXPECT_EQ(counts["malformed"], 3U);
  EXPECT_EQ(counts["bad_chunks"], 2U);
  EXPECT_EQ(counts["wrong_shape"], 1U);
}

TEST_F(Stream2Link, a_series_of_version_1_has_its_pixels_times_and_all_frames_of_its_start) {
  ReceiverDtp one = dtp(1, 8);
  one.placement.lines = 2;
  one.placement.pitch = 8;
  one.placement.line_bytes = 8;
  receive(one);
  Hostile sender;
  receiver_->connect(std::vector{sender.endpoint()});
  receiver_->start();
  const std::string head = R"({"htype":"dheader-1.0","series":4})";
  const std::string about = R"({"data_collection_date":"2023-11-14T22:13:20Z"})";
  sender.send_frames({head, about, std::string("mask")});
  sender.send_frames({std::string(R"({"htype":"dimage-1.0","series":4,"frame":0})"),
                      std::string(R"({"htype":"dimage_d-1.0","shape":[4,2],"type":"uint16","encoding":"<"})"),
                      std::string(16, 'p'), std::string(R"({"htype":"dconfig-1.0","start_time":1000000001})")});
  const Arrival arrival = next();
  EXPECT_EQ(arrival.completeness, Completeness::complete);
  EXPECT_EQ(arrival.record.timestamp_ns, 1'700'000'038'000'000'001U);
  receiver_->stop();
  EXPECT_EQ(region_[one.placement.image_offset(0) + 15], static_cast<std::byte>('p'));
  const std::string frames = "\x83\x58" + std::string(1, static_cast<char>(head.size())) + head + "\x58" +
                             std::string(1, static_cast<char>(about.size())) + about + "\x44mask";
  EXPECT_EQ(receiver_->descriptions(), std::vector{frames});
}

TEST_F(Stream2Link, a_message_larger_than_any_is_refused_before_memory_is_taken) {
  receive(dtp(2, 8));
  Hostile hostile;
  receiver_->connect(std::vector{hostile.endpoint()});
  receiver_->start();
  hostile.send(testing::start_message(1));
  ASSERT_EVENTUALLY(receiver_->stats()["packets"] == 1);
  receiver_->stop();
  EXPECT_FALSE(zmtp::head_of(zmtp::long_head(~std::uint64_t{0}, false)).more);
}

TEST_F(Stream2Link, a_sender_that_comes_again_is_found_again) {
  receive(dtp(4, 8));
  auto link = sender();
  receiver_->connect(std::vector{link->endpoint()});
  receiver_->start();
  Source source(dtp_, *link);
  ASSERT_TRUE(source.write(0, failed));
  source.drain(failed);
  EXPECT_EQ(next().completeness, Completeness::complete);
  link.reset();
  ASSERT_EVENTUALLY(receiver_->stats()["reconnects"] > 0);
  receiver_->stop();
}

std::string sls_header(const std::string& words) {
  return R"({"jsonversion":5,"bitmode":16,"fileIndex":6,"detshape":[1,1],"shape":[4,2],"size":16,"data":1,)"
         R"("completeImage":1,"row":0,"column":0,"flipRows":1,)" +
         words + "}\n";
}

TEST_F(Stream2Link, images_of_an_sls_receiver_have_pixels_and_words_and_hostile_headers_are_counted) {
  Hostile sender;
  ReceiverDtp one = dtp(4, 8);
  one.placement.lines = 2;
  one.placement.pitch = 8;
  one.placement.line_bytes = 8;
  receive(one, {.dialect = Dialect::sls,
                .address = "tcp://127.0.0.1:" + std::to_string(sender.endpoint().port),
                .first_frame = 100});
  EXPECT_FALSE(receiver_->header_columns().empty());
  receiver_->connect(std::vector{Endpoint{}});
  receiver_->start();
  const std::string pixels = "aaaaaaaabbbbbbbb";
  sender.send_frames({R"({"jsonversion":5,"data":0})"});
  sender.send_frames({sls_header(R"("frameNumber":100,"detSpec1":9)"), pixels});
  sender.send_frames({sls_header(R"("frameNumber":101,"bitmode":1)").substr(0, 60), pixels});
  sender.send_frames({sls_header(R"("frameNumber":-101)"), pixels});
  sender.send_frames({sls_header(R"("frameNumber":103)"), pixels});
  sender.send_frames({sls_header(R"("frameNumber":103)"), pixels});
  sender.send_frames({sls_header(R"("frameNumber":102)"), pixels});
  sender.send_frames({sls_header(R"("frameNumber":99)"), pixels});
  sender.send_frames({R"({"jsonversion":5,"data":0})"});
  for (std::uint64_t k = 0; k < 4; ++k) {
    const Arrival arrival = next();
    EXPECT_EQ(arrival.index, k);
    EXPECT_EQ(arrival.completeness, k == 1 ? Completeness::missing : Completeness::complete) << k;
    EXPECT_EQ(arrival.record.user[0], k == 1 ? 0 : 100 + k);
  }
  receiver_->stop();
  EXPECT_EQ(region_[one.placement.image_offset(0)], static_cast<std::byte>('b')) << "rows come last one first";
  const Counts counts = receiver_->stats();
  EXPECT_EQ(counts["malformed"], 2U);
  EXPECT_EQ(counts["duplicate_packets"], 1U);
  EXPECT_EQ(counts["no_frame"], 1U);
}

TEST_F(Stream2Link, no_emulator_speaks_as_an_sls_receiver) {
  receive(dtp(1, 8), {.dialect = Dialect::sls, .address = "tcp://127.0.0.1:9"});
  EXPECT_THROW(receiver_->connect(std::vector{Endpoint{.address = "127.0.0.1", .port = 9}}), ConfigError);
}

TEST(Stream2Options, ports_of_sls_receivers_count_on_from_that_of_the_address) {
  Options options{.dialect = Dialect::sls, .address = "tcp://h:30001", .connections = 3};
  const auto places = places_of(options);
  ASSERT_EQ(places.size(), 3U);
  EXPECT_EQ(places[0].port, "30001");
  EXPECT_EQ(places[2].port, "30003");
  options.address = "tcp://h:65534";
  EXPECT_THROW(check(options), ConfigError);
  options.dialect = Dialect::dectris;
  EXPECT_EQ(places_of(options)[2].port, "65534");
}

TEST(Stream2Options, addresses_that_are_none_are_refused_with_the_right_form) {
  EXPECT_EQ(place_of("tcp://10.0.0.1:31001").host, "10.0.0.1");
  EXPECT_EQ(place_of("tcp://[::1]:9").host, "::1");
  for (const char* bad : {"", "10.0.0.1:31001", "tcp://:1", "tcp://a", "tcp://a:", "tcp://a:0", "tcp://a:70000",
                          "tcp://a:1x", "udp://a:1"}) {
    EXPECT_THROW(place_of(bad), ConfigError) << bad;
  }
  Options both;
  both.pattern = Pattern::pub;
  both.connections = 2;
  EXPECT_THROW(check(both), ConfigError);
}

}  // namespace
}  // namespace rashpa::link::stream2
