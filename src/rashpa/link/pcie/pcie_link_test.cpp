// SPDX-License-Identifier: Apache-2.0
/// Behaviour of pcie beside the contract (link_conformance_test.cpp): hostile peers, flow without credits, sleep,
/// bounds.
#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <thread>

#include "rashpa/core/error.hpp"
#include "rashpa/core/frame/last_word_testing.hpp"
#include "rashpa/core/testing/testing.hpp"
#include "rashpa/link/pcie/receiver.hpp"
#include "rashpa/link/pcie/sender-inl.hpp"
#include "rashpa/link/pcie/sender.hpp"
#include "rashpa/link/testing/testing.hpp"

namespace rashpa::link::pcie {
namespace {

using testing::small_dtp;
using testing::Source;

class PcieLinkTest : public ::testing::Test {
 protected:
  void make(const ReceiverDtp& dtp, ReceiverConfig config = {}) {
    dtp_ = dtp;
    region_ = memory::Buffer(testing::end_of(dtp), memory::MemoryKind::pageable, memory::Sharing::machine);
    config.region_file = region_.shared_file();
    receiver_.emplace(config, region_.bytes(), std::vector{dtp}, queues_, bell_);
    remote_ = RemoteMemory::open(receiver_->endpoints()[0]);
    sender_.emplace(SenderConfig{.memory = remote_, .destination = receiver_->endpoints()[0], .flow = config.flow});
  }
  /// The next arrival; fails after 20 s.
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
  SharedDtp& dtp() { return remote_->dtp(0); }
  const link::testing::Patience late_{};

  ReceiverDtp dtp_;
  memory::Buffer region_;
  ArrivalQueues queues_{1, 1024};
  Doorbell bell_;
  std::optional<PcieReceiver> receiver_;
  std::shared_ptr<const RemoteMemory> remote_;
  std::optional<PcieSender> sender_;
};

TEST_F(PcieLinkTest, the_link_makes_the_checksum_of_lines_with_gaps_in_the_copy) {
  make(small_dtp(4, 3, 7, 5000, 3, 24));
  receiver_->start();
  Source source(dtp_, *sender_);
  source.prepare(0);
  const Placement& p = dtp_.placement;
  for (std::uint32_t line = 0; line < p.lines; ++line) {
    const BufferDescriptor write{source.payload().data() + std::size_t{line} * p.line_bytes,
                                 p.image_offset(0) + line * p.pitch, p.line_bytes};
    ASSERT_EQ(sender_->post({&write, 1}), 1U);
  }
  EXPECT_EQ(sender_->poll(0), p.lines);
  EXPECT_EQ(sender_->payload_crc32c(), crc32c(source.payload()));
  source.send(0, late_);
  const Arrival arrival = next();
  EXPECT_EQ(arrival.proof, Proof::crc);
  EXPECT_EQ(sender_->payload_crc32c(), 0U) << "an event begins anew";
}

TEST_F(PcieLinkTest, without_credits_an_image_is_overwritten_from_the_first_line_of_a_later_one) {
  make(small_dtp(4, 100, 3, 64, 4), {.flow = Flow::paced});
  receiver_->start();
  Source source(dtp_, *sender_);
  for (std::uint64_t index = 0; index < 4; ++index) {
    source.send(index, late_);
    EXPECT_EQ(next().completeness, Completeness::complete);
  }
  for (std::uint64_t index = 0; index < 4; ++index) EXPECT_FALSE(receiver_->overwritten(0, index)) << index;
  receiver_->release(0, 1);
  const BufferDescriptor line{source.payload().data(), dtp_.placement.image_offset(4), 64};
  ASSERT_EQ(sender_->post({&line, 1}), 1U);
  EXPECT_EQ(sender_->poll(0), 1U);
  EXPECT_TRUE(receiver_->overwritten(0, 0));
  EXPECT_FALSE(receiver_->overwritten(0, 1));
  source.send(4, late_);
  EXPECT_EQ(next().index, 4U);
  EXPECT_FALSE(receiver_->overwritten(0, 1)) << "begins with the next line";
  EXPECT_FALSE(receiver_->overwritten(0, 4));
  source.send(7, late_);  // 5 and 6 are left out
  EXPECT_TRUE(receiver_->overwritten(0, 3));
  receiver_->stop();
}

TEST_F(PcieLinkTest, last_words_and_records_show_a_device_what_was_written) {
  make(small_dtp(4, 100, 3, 64, 4), {.options = {.verify = Verify::off}});
  receiver_->start();
  const std::vector<LastWord> words = receiver_->last_words();
  ASSERT_EQ(words.size(), 1U);
  const LastWord& last = words[0];
  EXPECT_LE(last.block, reinterpret_cast<const std::byte*>(last.word));
  EXPECT_LT(reinterpret_cast<const std::byte*>(last.word), last.block + last.block_bytes);
  Source source(dtp_, *sender_);
  for (std::uint64_t index = 0; index < 10; ++index) {
    EXPECT_FALSE(has_written(*last.word, last.dtp, index));
    EXPECT_FALSE(record_words::all_good(last, index)) << "of an older image, or none";
    source.send(index, late_);
    EXPECT_TRUE(has_written(*last.word, last.dtp, index));
    EXPECT_TRUE(record_words::all_good(last, index));
    EXPECT_EQ(next().completeness, Completeness::complete);
    receiver_->release(0, index + 1);
  }
  receiver_->stop();
}

TEST_F(PcieLinkTest, last_words_prove_nothing_without_credits_or_where_the_link_compares) {
  make(small_dtp(4, 100, 3, 64, 4), {.options = {.verify = Verify::sampled}});
  EXPECT_TRUE(receiver_->last_words().empty());
  make(small_dtp(4, 100, 3, 64, 4), {.options = {.verify = Verify::off}, .flow = Flow::paced});
  EXPECT_TRUE(receiver_->last_words().empty());
}

TEST_F(PcieLinkTest, writes_out_of_bounds_are_not_done_and_their_image_is_not_announced) {
  make(small_dtp(1, 5, 2, 64, 5));
  receiver_->start();
  const std::array<std::byte, 64> line{};
  const std::uint64_t end = region_.size();
  const std::array<BufferDescriptor, 4> writes{{{line.data(), testing::end_of(dtp_), 64},
                                                {line.data(), end - 63, 64},
                                                {line.data(), ~0ULL, 64},
                                                {line.data(), ~0ULL - 32, 64}}};
  EXPECT_EQ(sender_->post(writes), 4U);
  EXPECT_EQ(sender_->poll(0), 4U);
  Source source(dtp_, *sender_);
  source.send(0, late_);  // its event belongs to the refused writes
  EXPECT_EQ(sender_->stats()["send_errors"], 5U);
  source.send(1, late_);
  EXPECT_EQ(next().loss, Loss::event);
  EXPECT_EQ(next().completeness, Completeness::complete);
  const std::array<std::byte, FrameRecord::kBytes> record{};
  EXPECT_TRUE(sender_->post_event({record.data(), testing::end_of(dtp_) - 127, 0}));
  EXPECT_EQ(sender_->stats()["send_errors"], 6U);
  receiver_->stop();
}

TEST_F(PcieLinkTest, a_call_copies_a_bounded_amount) {
  make(small_dtp(1, 5, 16, 1U << 20, 2));
  std::vector<std::byte> line(1U << 20);
  std::array<BufferDescriptor, 16> writes{};
  for (std::uint32_t i = 0; i < 16; ++i)
    writes[i] = {line.data(), dtp_.placement.image_offset(0) + i * line.size(), 1U << 20};
  const std::size_t taken = sender_->post(writes);
  EXPECT_GE(taken, 1U);
  EXPECT_LT(taken, 16U);
  EXPECT_EQ(sender_->poll(1'000'000), taken) << "and its caller need not wait";
  EXPECT_EQ(sender_->pending(), 0U);
}

TEST_F(PcieLinkTest, without_credits_a_source_that_is_too_fast_makes_counted_overruns) {
  make(small_dtp(2, 100, 1, 512, 4), {.flow = Flow::paced});
  Source source(dtp_, *sender_);
  EXPECT_EQ(sender_->granted(), kUnlimited);
  for (std::uint64_t k = 0; k < 20; ++k) source.send(k, late_);  // the receiver does not run yet
  receiver_->start();
  for (std::uint64_t k = 0; k < 20; ++k) {
    const Arrival arrival = next();
    ASSERT_EQ(arrival.index, k);
    EXPECT_EQ(arrival.completeness, Completeness::missing) << "each was overwritten, or found its slot not free";
    EXPECT_EQ(arrival.loss, Loss::overrun) << k;
  }
  EXPECT_EQ(receiver_->stats()["overrun_packets"], 20U);
  receiver_->release(0, 20);
  source.send(20, late_);
  EXPECT_EQ(next().completeness, Completeness::complete) << "the link goes on";
  receiver_->stop();
}

TEST_F(PcieLinkTest, a_receiver_that_sleeps_is_woken_by_an_event_and_a_source_by_a_credit) {
  make(small_dtp(1, 400, 1, 64, 2));
  receiver_->start();
  Source source(dtp_, *sender_);
  for (std::uint64_t k = 0; k < 400; ++k) {
    if (k % 3 == 0) {
      ASSERT_EVENTUALLY(remote_->thread_of(0).receiver.asleep());
    }
    std::jthread consumer;
    if (k >= 2) {
      consumer = std::jthread([&, k] {
        if (k % 5 == 0) {
          EXPECT_EVENTUALLY(dtp().source.asleep());
        }
        receiver_->release(0, k - 1);
      });
    }
    source.send(k, late_);
    EXPECT_EQ(next().index, k);
  }
  receiver_->stop();
  EXPECT_EQ(receiver_->stats()["events"], 400U);
}

/// Does one thing at a time, and nothing before it is asked whether it is done.
class SlowEngine final : public Engine {
 public:
  explicit SlowEngine(std::span<std::byte> memory) : memory_(memory) {}
  std::size_t copy(std::span<const BufferDescriptor> writes) noexcept override {
    if (busy_) return 0;
    write_ = writes.front();
    busy_ = true;
    return 1;
  }
  Progress take_done() noexcept override {
    const std::size_t seen = std::exchange(announced_, 0);
    if (!busy_) return {.announced = seen};
    std::memcpy(memory_.data() + write_.destination, write_.source, write_.bytes);
    busy_ = false;
    return {.writes = 1, .announced = seen};
  }
  bool announce(const Event& event, std::atomic<std::uint32_t>& lock) noexcept override {
    if (busy_) return false;
    std::memcpy(memory_.data() + event.destination, event.record, FrameRecord::kBytes);
    lock.exchange(event.immediate);
    ++announced_;
    return true;
  }
  [[nodiscard]] std::size_t pending() const noexcept override { return busy_ ? 1 : 0; }
  [[nodiscard]] bool makes_crc32c() const noexcept override { return false; }
  [[nodiscard]] std::optional<std::uint32_t> crc32c() const noexcept override { return std::nullopt; }
  void drop_image() noexcept override {}

 private:
  std::span<std::byte> memory_;
  BufferDescriptor write_{};
  bool busy_ = false;
  std::size_t announced_ = 0;
};

TEST_F(PcieLinkTest, an_engine_may_take_its_time) {
  make(small_dtp(1, 50, 5, 64, 4, 32));
  receiver_->start();
  const Endpoint destination = sender_->endpoint();
  SenderWith<SlowEngine> slow({.memory = remote_, .destination = destination});
  EXPECT_FALSE(slow.makes_payload_crc32c());
  Source source(dtp_, slow);
  for (std::uint64_t k = 0; k < 50; ++k) {
    source.send(k, late_);
    const Arrival arrival = next();
    EXPECT_EQ(arrival.index, k);
    EXPECT_EQ(arrival.completeness, Completeness::complete);
    receiver_->release(0, k + 1);
  }
  EXPECT_EQ(slow.pending(), 0U);
  EXPECT_EQ(slow.stats()["payload_bytes"], 50U * (5 * 64 + FrameRecord::kBytes));
  receiver_->stop();
}

TEST_F(PcieLinkTest, no_words_of_a_hostile_peer_hang_or_crash_the_receiver) {
  make(small_dtp(3, 50'000, 2, 64, 8));
  receiver_->start();
  std::atomic<bool> stop{false};
  std::jthread consumer([&] {
    Arrival arrival;
    std::uint64_t index = 0;
    while (!stop) {
      while (queues_.try_pop(arrival)) {
        EXPECT_EQ(arrival.index, index++);
        if (arrival.index % 3 != 0) receiver_->release(0, arrival.index + 1);
      }
      std::this_thread::yield();  // wait: until it is stopped
    }
  });
  std::uint64_t state = 99;
  const auto random = [&] { return state = state * 6364136223846793005U + 1442695040888963407U; };
  const std::span<std::byte> records = remote_->region().subspan(dtp_.placement.records_offset);
  const std::int64_t until = now_ns() + 300'000'000;
  while (now_ns() < until) {
    const std::uint64_t value = random();
    dtp().lock = (value & 1U) != 0 ? static_cast<std::uint32_t>(value >> 32) : immediate_of(3, (value >> 32) % 64);
    dtp().granted = random();
    if ((value & 6U) == 0) remote_->thread_of(0).receiver.wake();
    testing::fill(remote_->region().first(dtp_.placement.records_offset), value);
    for (std::size_t i = 0; i < 16; ++i) records[random() % records.size()] = static_cast<std::byte>(random() >> 56);
    // A process that shares the words may also write the flags.
    reinterpret_cast<std::atomic<std::uint32_t>&>(remote_->thread_of(0).receiver) =
        static_cast<std::uint32_t>(random() >> 62);
    reinterpret_cast<std::atomic<std::uint32_t>&>(dtp().source) = static_cast<std::uint32_t>(random() >> 62);
  }
  const std::int64_t start = now_ns();
  receiver_->stop();
  EXPECT_LT(now_ns() - start, 5'000'000'000);
  stop = true;
  consumer.join();
  EXPECT_GT(receiver_->stats()["bad_records"], 0U);
}

TEST_F(PcieLinkTest, sources_of_another_receiver_are_refused) {
  make(small_dtp(1, 5, 1, 64, 2));
  Endpoint source = sender_->endpoint();
  EXPECT_NO_THROW(receiver_->connect({&source, 1}));
  source.rkey ^= 1U;
  EXPECT_THROW(receiver_->connect({&source, 1}), ConfigError);
  EXPECT_THROW(receiver_->connect({}), ConfigError);
  receiver_->start();
  EXPECT_THROW(receiver_->connect({&source, 1}), StateError);
  EXPECT_THROW(receiver_->start(), StateError);
}

}  // namespace
}  // namespace rashpa::link::pcie
