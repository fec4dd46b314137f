// SPDX-License-Identifier: Apache-2.0
/// The sender over a device that works late, in a thread of its own, or breaks; lines in memory of a device, records
/// elsewhere.
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <optional>
#include <thread>
#include <vector>

#include "rashpa/core/error.hpp"
#include "rashpa/core/testing/testing.hpp"
#include "rashpa/link/pcie/copy_engine_testing.hpp"
#include "rashpa/link/pcie/receiver.hpp"
#include "rashpa/link/pcie/sender-inl.hpp"
#include "rashpa/link/pcie/sender.hpp"
#include "rashpa/link/testing/testing.hpp"

namespace rashpa::link::pcie {
namespace {

using link::testing::small_dtp;
using link::testing::Source;
using testing::Desk;
using testing::FakeDevice;

/// The sender with a device that works in a thread of its own, later than it is told.
class LateDevice : public ::testing::Test {
 protected:
  void make(const ReceiverDtp& dtp, ReceiverConfig config = {}) {
    dtp_ = dtp;
    region_ = memory::Buffer(link::testing::end_of(dtp), memory::MemoryKind::pageable, memory::Sharing::machine);
    config.region_file = region_.shared_file();
    const memory::DmaBlock there{.data = lines_.data(), .bytes = lines_.size(), .accelerator = true};
    const ReceiverMemory memory =
        lines_.empty() ? ReceiverMemory(region_.bytes()) : ReceiverMemory(there, region_.bytes());
    receiver_.emplace(config, memory, std::vector{dtp}, queues_, bell_);
    remote_ = RemoteMemory::open(receiver_->endpoints()[0]);
    desk_.memory = remote_->region();
    if (!lines_.empty()) {
      desk_.memory = {remote_->lines()->address, remote_->lines()->bytes};
      desk_.records = remote_->region();
    }
    sender_.emplace(SenderConfig{.memory = remote_, .destination = receiver_->endpoints()[0], .flow = config.flow},
                    CopyEngine(std::make_unique<FakeDevice>(desk_)));
    thread_ = std::jthread([this](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        std::this_thread::sleep_for(std::chrono::microseconds(50));  // wait: the device's pace
        desk_.work(1);
      }
    });
    receiver_->start();
  }
  Arrival next() {
    Arrival arrival;
    const std::int64_t start = now_ns();
    while (!queues_.try_pop(arrival)) {
      if (now_ns() - start > 20'000'000'000) {
        ADD_FAILURE() << "no arrival";
        break;
      }
      bell_.wait(bell_.count(), std::chrono::milliseconds(1));
    }
    return arrival;
  }
  const link::testing::Patience late_{};

  ReceiverDtp dtp_;
  memory::Buffer region_;
  std::vector<std::byte> lines_;  // a device's memory, in host memory; empty: lines lie in the region
  ArrivalQueues queues_{1, 1024};
  Doorbell bell_;
  std::optional<PcieReceiver> receiver_;
  std::shared_ptr<const RemoteMemory> remote_;
  Desk desk_;
  std::optional<PcieCopySender> sender_;
  std::jthread thread_;
};

TEST_F(LateDevice, images_arrive_whole_and_their_receiver_is_woken_when_they_are_there) {
  make(small_dtp(1, 300, 33, 100, 4, 28));
  Source source(dtp_, *sender_);
  for (std::uint64_t k = 0; k < 300; ++k) {
    if (k % 5 == 0) {
      ASSERT_EVENTUALLY(remote_->thread_of(0).receiver.asleep());
    }
    ASSERT_TRUE(source.send(k, late_));
    const Arrival arrival = next();
    EXPECT_EQ(arrival.index, k);
    EXPECT_EQ(arrival.completeness, Completeness::complete);
    EXPECT_EQ(arrival.proof, Proof::crc);
    receiver_->release(0, k + 1);
  }
  EXPECT_EQ(sender_->pending(), 0U);
  EXPECT_EQ(sender_->stats()["send_errors"], 0U);
  EXPECT_EQ(sender_->stats()["payload_bytes"], 300U * (std::size_t{33} * 100 + FrameRecord::kBytes));
  EXPECT_EQ(desk_.copies.size(), 300U) << "one copy an image";
  receiver_->stop();
}

TEST_F(LateDevice, a_poll_waits_for_the_device_and_not_longer_than_asked) {
  make(small_dtp(1, 10, 4, 64, 4));
  thread_ = {};  // it does nothing at all
  const std::array<std::byte, 64> line{};
  const BufferDescriptor write{line.data(), 0, 64};
  EXPECT_EQ(sender_->granted(), 4U);
  ASSERT_EQ(sender_->post({&write, 1}), 1U);
  const std::int64_t start = now_ns();
  EXPECT_EQ(sender_->poll(20'000), 0U);
  EXPECT_GE(now_ns() - start, 20'000'000);
  EXPECT_EQ(sender_->pending(), 1U);
  desk_.work();
  EXPECT_EQ(sender_->poll(1'000'000), 1U);
  receiver_->stop();
}

TEST_F(LateDevice, one_that_breaks_is_counted_and_its_source_comes_to_its_end) {
  make(small_dtp(1, 100, 4, 64, 4));
  Source source(dtp_, *sender_);
  for (std::uint64_t k = 0; k < 4; ++k) {
    ASSERT_TRUE(source.send(k, late_));
    EXPECT_EQ(next().completeness, Completeness::complete);
  }
  desk_.lost = true;
  const std::int64_t until = now_ns() + 10'000'000'000;
  receiver_->release(0, 4);
  for (std::uint64_t k = 4; k < 100; ++k) ASSERT_TRUE(source.send(k, [&] { return now_ns() > until; })) << k;
  EXPECT_EQ(sender_->granted(), kUnlimited);
  EXPECT_EQ(sender_->stats()["send_errors"], 96U * 2) << "a run and an event each";
  receiver_->close(0, 100);
  for (std::uint64_t k = 4; k < 100; ++k) EXPECT_EQ(next().completeness, Completeness::missing);
  receiver_->stop();
}

TEST_F(LateDevice, without_credits_it_is_the_same) {
  make(small_dtp(2, 40, 3, 512, 8, 64), {.flow = Flow::paced});
  Source source(dtp_, *sender_);
  for (std::uint64_t k = 0; k < 40; ++k) {
    ASSERT_TRUE(source.send(k, late_));
    EXPECT_EQ(next().completeness, Completeness::complete);
    receiver_->release(0, k + 1);
  }
  receiver_->stop();
}

/// Lines in memory of a device, records in a region of their own that holds nothing else.
class LinesElsewhere : public LateDevice {
 protected:
  void make_apart(ReceiverDtp dtp, Flow flow = Flow::credits) {
    lines_.assign(dtp.placement.pixels_offset + dtp.placement.slots * dtp.placement.slot_bytes, std::byte{0xA5});
    dtp.placement.records_offset = 64;
    make(dtp, {.options = {.verify = Verify::off}, .flow = flow});
  }
};

TEST_F(LinesElsewhere, lines_go_to_the_device_and_records_to_the_host) {
  make_apart(small_dtp(1, 50, 9, 300, 4, 20));
  Source source(dtp_, *sender_);
  const Placement& p = dtp_.placement;
  for (std::uint64_t k = 0; k < 50; ++k) {
    ASSERT_TRUE(source.send(k, late_));
    const Arrival arrival = next();
    EXPECT_EQ(arrival.completeness, Completeness::complete);
    EXPECT_EQ(arrival.proof, Proof::none) << "nobody here has seen a line";
    EXPECT_EQ(arrival.record.index, k);
    std::uint32_t crc = 0;
    for (std::uint32_t n = 0; n < p.lines; ++n) {
      crc = crc32c({lines_.data() + p.image_offset(k) + n * p.pitch, p.line_bytes}, crc);
    }
    EXPECT_EQ(crc, arrival.record.payload_crc32c);
    receiver_->release(0, k + 1);
  }
  for (std::uint32_t n = 0; n < p.first_line_offset; ++n) EXPECT_EQ(lines_[n], std::byte{0xA5}) << n;
  receiver_->stop();
}

TEST_F(LinesElsewhere, bounds_of_lines_are_those_of_the_device_and_bounds_of_records_those_of_the_host) {
  make_apart(small_dtp(1, 8, 4, 4096, 4));
  ASSERT_GT(lines_.size(), region_.size()) << "or it is no test";
  const std::array<std::byte, 64> line{};
  const std::array<BufferDescriptor, 3> writes{
      {{line.data(), lines_.size() - 63, 64}, {line.data(), ~0ULL, 64}, {line.data(), lines_.size() - 64, 64}}};
  EXPECT_EQ(sender_->post(writes), 3U);
  EXPECT_EQ(sender_->stats()["send_errors"], 2U);
  EXPECT_TRUE(sender_->post_event({line.data(), 64, immediate_of(1, 0)})) << "withheld";
  const std::uint64_t errors = sender_->stats()["send_errors"];
  EXPECT_TRUE(sender_->post_event({line.data(), lines_.size() - 64, immediate_of(1, 1)}));
  EXPECT_EQ(sender_->stats()["send_errors"], errors + 1) << "a place for lines is none for records";
  receiver_->stop();
}

TEST_F(LinesElsewhere, without_credits_an_overwritten_image_is_found) {
  make_apart(small_dtp(3, 100, 3, 64, 4), Flow::paced);
  Source source(dtp_, *sender_);
  for (std::uint64_t k = 0; k < 4; ++k) {
    ASSERT_TRUE(source.send(k, late_));
    EXPECT_EQ(next().completeness, Completeness::complete);
  }
  EXPECT_FALSE(receiver_->overwritten(0, 0));
  receiver_->release(0, 1);
  ASSERT_TRUE(source.send(4, late_));
  EXPECT_TRUE(receiver_->overwritten(0, 0));
  EXPECT_FALSE(receiver_->overwritten(0, 1));
  receiver_->stop();
}

TEST_F(LinesElsewhere, what_the_processor_cannot_do_there_is_refused) {
  make_apart(small_dtp(1, 8, 4, 64, 4));
  EXPECT_THROW(PcieSender({.memory = remote_, .destination = receiver_->endpoints()[0]}), ConfigError);
  for (const Verify verify : {Verify::all, Verify::sampled}) {
    const memory::DmaBlock there{.data = lines_.data(), .bytes = lines_.size(), .accelerator = true};
    const ReceiverConfig config{.region_file = region_.shared_file(), .options = {.verify = verify}};
    ArrivalQueues queues(1, 16);
    EXPECT_THROW(PcieReceiver(config, {there, region_.bytes()}, {dtp_}, queues, bell_), ConfigError);
  }
  receiver_->stop();
}

}  // namespace
}  // namespace rashpa::link::pcie
