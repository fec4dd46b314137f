// SPDX-License-Identifier: Apache-2.0
/// What an engine makes of a device that works beside it, with a device that works when it is told to, or late in a
/// thread of its own, or breaks. No GPU is needed for that.
#include "rashpa/link/pcie/copy_engine.hpp"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "rashpa/core/error.hpp"
#include "rashpa/link/pcie/receiver.hpp"
#include "rashpa/link/pcie/sender-inl.hpp"
#include "rashpa/link/pcie/sender.hpp"
#include "rashpa/link/testing.hpp"

namespace rashpa::link::pcie {
namespace {

using testing::small_dtp;
using testing::Source;

struct Mark {
  std::uint64_t number = 0;
  std::optional<std::array<std::byte, FrameRecord::kBytes>> record;
  std::uint64_t destination = 0;
  std::uint32_t immediate = 0;
  std::atomic<std::uint32_t>* lock = nullptr;
};

/// What a device was told and has not done, and what is wrong with it. Shared with the test.
struct Desk {
  std::span<std::byte> memory;
  std::span<std::byte> records;  // where they go, unless into `memory`
  std::mutex mutex;
  std::deque<std::variant<Rectangle, Mark>> todo;
  std::vector<Rectangle> copies;  // all that were told
  std::size_t marks = 0;
  std::atomic<std::uint64_t> reached{0};
  std::atomic<bool> broken{false};  // whatever it is told now is refused
  std::atomic<bool> lost{false};    // it does nothing any more, and says so when it is asked
  std::atomic<std::size_t> most_todo{0};
  std::size_t may_wait = 0;  // looks in which it was told that more may come
  std::size_t shall_begin = 0;

  /// Does the next `count` things; how many were left to do.
  std::size_t work(std::size_t count = ~std::size_t{0}) {
    while (count-- != 0) {
      std::variant<Rectangle, Mark> next;
      {
        const std::lock_guard lock(mutex);
        if (todo.empty() || lost) return todo.size();
        next = todo.front();
      }
      if (const auto* all = std::get_if<Rectangle>(&next)) {
        for (std::uint32_t row = 0; row < all->rows; ++row) {
          std::memcpy(memory.data() + all->destination + row * all->destination_stride,
                      all->source + row * all->source_stride, all->width);
        }
      } else {
        const Mark& mark = std::get<Mark>(next);
        if (mark.record) {
          std::byte* const to = records.empty() ? memory.data() : records.data();
          std::memcpy(to + mark.destination, mark.record->data(), mark.record->size());
          mark.lock->store(mark.immediate, std::memory_order_seq_cst);
        }
        reached.store(mark.number, std::memory_order_release);
      }
      const std::lock_guard lock(mutex);
      todo.pop_front();
    }
    const std::lock_guard lock(mutex);
    return todo.size();
  }
  void tell(const std::variant<Rectangle, Mark>& one) {
    const std::lock_guard lock(mutex);
    todo.push_back(one);
    most_todo = std::max(most_todo.load(), todo.size());
  }
};

class FakeDevice final : public CopyDevice {
 public:
  explicit FakeDevice(Desk& desk) : desk_(&desk) {}
  bool copy(const Rectangle& rectangle) noexcept override {
    if (desk_->broken) return false;
    desk_->copies.push_back(rectangle);
    desk_->tell(rectangle);
    return true;
  }
  bool mark(std::uint64_t number, const Event* event, std::atomic<std::uint32_t>* lock) noexcept override {
    if (desk_->broken) return false;
    Mark mark;
    mark.number = number;
    if (event != nullptr) {
      mark.record.emplace();
      std::memcpy(mark.record->data(), event->record, FrameRecord::kBytes);
      mark.destination = event->destination;
      mark.immediate = event->immediate;
      mark.lock = lock;
    }
    ++desk_->marks;
    desk_->tell(mark);
    return true;
  }
  bool go_on(Company company) noexcept override {
    ++(company == Company::none ? desk_->shall_begin : desk_->may_wait);
    return !desk_->broken;
  }
  [[nodiscard]] std::uint64_t reached() const noexcept override {
    return desk_->reached.load(std::memory_order_acquire);
  }
  bool sound() noexcept override { return !desk_->lost; }

 private:
  Desk* desk_;
};

class CopyEngineTest : public ::testing::Test {
 protected:
  CopyEngineTest() : source_(1U << 20), memory_(1U << 20) {
    testing::fill(source_, 5);
    desk_.memory = memory_;
  }
  [[nodiscard]] BufferDescriptor line(std::uint64_t from, std::uint64_t to, std::uint32_t bytes) const {
    return {source_.data() + from, to, bytes};
  }
  [[nodiscard]] std::vector<BufferDescriptor> lines(std::uint32_t count, std::uint32_t bytes, std::uint64_t from_pitch,
                                                    std::uint64_t to_pitch) const {
    std::vector<BufferDescriptor> all;
    for (std::uint32_t i = 0; i < count; ++i) all.push_back(line(i * from_pitch, i * to_pitch, bytes));
    return all;
  }
  std::size_t give(const std::vector<BufferDescriptor>& writes) { return engine_.copy(writes); }
  bool announce(std::uint32_t immediate) {
    record_.fill(static_cast<std::byte>(immediate));
    const bool taken = engine_.announce({record_.data(), kRecord, immediate}, lock_);
    record_.fill(std::byte{0xEE});  // it was the caller's only during the call
    return taken;
  }
  static constexpr std::uint64_t kRecord = (1U << 20) - 128;

  std::vector<std::byte> source_;
  std::vector<std::byte> memory_;
  std::array<std::byte, FrameRecord::kBytes> record_{};
  std::atomic<std::uint32_t> lock_{0};
  Desk desk_;
  CopyEngine engine_{std::make_unique<FakeDevice>(desk_)};
};

TEST_F(CopyEngineTest, lines_at_equal_distances_are_one_copy_over_several_calls) {
  const auto all = lines(96, 512, 2048, 640);
  EXPECT_EQ(give({all.begin(), all.begin() + 32}), 32U);
  EXPECT_EQ(engine_.take_done().writes, 0U) << "a look in between begins nothing";
  EXPECT_EQ(give({all.begin() + 32, all.end()}), 64U);
  EXPECT_TRUE(desk_.copies.empty());
  EXPECT_TRUE(announce(7));
  ASSERT_EQ(desk_.copies.size(), 1U);
  EXPECT_EQ(desk_.copies[0].rows, 96U);
  EXPECT_EQ(desk_.copies[0].width, 512U);
  EXPECT_EQ(desk_.copies[0].source_stride, 2048U);
  EXPECT_EQ(desk_.copies[0].destination_stride, 640U);
  EXPECT_FALSE(desk_.copies[0].contiguous());
  EXPECT_EQ(desk_.marks, 1U) << "the event is all that says that it is done";
  EXPECT_EQ(engine_.pending(), 97U);
  desk_.work();
  for (std::uint32_t i = 0; i < 96; ++i) {
    ASSERT_EQ(std::memcmp(memory_.data() + std::size_t{i} * 640, source_.data() + std::size_t{i} * 2048, 512), 0) << i;
  }
  const Progress progress = engine_.take_done();
  EXPECT_EQ(progress.writes, 96U);
  EXPECT_EQ(progress.announced, 1U);
  EXPECT_EQ(progress.lost, 0U);
  EXPECT_EQ(engine_.pending(), 0U);
}

TEST_F(CopyEngineTest, what_does_not_fit_begins_a_copy_of_its_own) {
  give({line(0, 0, 64), line(128, 64, 64),         // a distance
        line(256, 192, 64),                        // another one at the destination
        line(512, 256, 32),                        // another length
        line(448, 288, 32),                        // before it
        line(448, 320, 32),                        // the same source again
        line(480, 340, 32), line(512, 330, 32)});  // a destination that would overlap
  announce(1);
  desk_.work();
  std::vector<std::uint32_t> rows;
  for (const Rectangle& copy : desk_.copies) rows.push_back(copy.rows);
  EXPECT_EQ(rows, (std::vector<std::uint32_t>{2, 1, 1, 1, 1, 1, 1}));
  EXPECT_EQ(engine_.take_done().writes, 8U);
  // Every one of them, compared with what the processor's engine writes.
  std::vector<std::byte> expected(1U << 20);
  CpuEngine cpu{expected};
  const std::array all{line(0, 0, 64),     line(128, 64, 64),  line(256, 192, 64), line(512, 256, 32),
                       line(448, 288, 32), line(448, 320, 32), line(480, 340, 32), line(512, 330, 32)};
  cpu.copy(all);
  std::memset(memory_.data() + kRecord, 0, FrameRecord::kBytes);
  EXPECT_EQ(memory_, expected);
}

TEST_F(CopyEngineTest, lines_without_gaps_are_one_run) {
  give(lines(16, 4096, 4096, 4096));
  announce(1);
  ASSERT_EQ(desk_.copies.size(), 1U);
  EXPECT_TRUE(desk_.copies[0].contiguous());
  EXPECT_EQ(desk_.copies[0].bytes(), 65536U);
}

TEST_F(CopyEngineTest, the_lock_word_is_written_behind_the_record_and_the_record_behind_the_lines) {
  give(lines(4, 100, 100, 200));
  announce(3);
  EXPECT_EQ(lock_, 0U);
  EXPECT_EQ(desk_.work(1), 1U);
  EXPECT_EQ(lock_, 0U) << "lines alone";
  EXPECT_EQ(engine_.take_done().writes, 0U) << "nobody has said that they are done";
  desk_.work(1);
  EXPECT_EQ(lock_, 3U);
  EXPECT_EQ(memory_[kRecord], std::byte{3}) << "as it was when the call was made";
  EXPECT_EQ(engine_.take_done().writes, 4U);
}

TEST_F(CopyEngineTest, who_asks_twice_has_what_was_given_begun_without_an_event) {
  give(lines(4, 100, 100, 200));
  engine_.take_done();
  EXPECT_TRUE(desk_.copies.empty());
  engine_.take_done();
  EXPECT_EQ(desk_.copies.size(), 1U);
  EXPECT_EQ(desk_.marks, 1U);
  engine_.take_done();
  EXPECT_EQ(desk_.marks, 1U) << "once";
  desk_.work();
  const Progress progress = engine_.take_done();
  EXPECT_EQ(progress.writes, 4U);
  EXPECT_EQ(progress.announced, 0U);
}

TEST_F(CopyEngineTest, a_device_may_wait_for_company_until_nothing_is_given_between_two_looks) {
  give(lines(4, 100, 100, 200));
  announce(1);
  engine_.take_done();
  EXPECT_EQ(desk_.may_wait, 1U);
  give(lines(4, 100, 100, 200));
  engine_.take_done();
  EXPECT_EQ(desk_.may_wait, 2U);
  EXPECT_EQ(desk_.shall_begin, 0U);
  announce(2);
  engine_.take_done();
  EXPECT_EQ(desk_.may_wait, 3U) << "an event is something given, too";
  EXPECT_EQ(desk_.shall_begin, 0U);
  engine_.take_done();
  EXPECT_EQ(desk_.shall_begin, 1U);
  desk_.broken = true;
  engine_.take_done();
  EXPECT_TRUE(engine_.failed()) << "it has said so";
  EXPECT_EQ(engine_.take_done().lost, 0U);
  EXPECT_EQ(engine_.pending(), 0U);
}

TEST_F(CopyEngineTest, so_much_and_no_more_is_on_its_way) {
  std::size_t taken = 0;
  for (std::size_t i = 0; i < 2000; ++i) taken += give({line(i % 7 * 100, i % 5 * 100, 50 + i % 2)});
  EXPECT_LT(taken, 300U);
  EXPECT_LE(desk_.most_todo, CopyEngine::kMostCopies);
  EXPECT_FALSE(announce(1)) << "no room";
  std::size_t done = 0;
  for (int round = 0; round < 1000 && done < taken; ++round) {
    desk_.work(3);
    done += engine_.take_done().writes;
  }
  EXPECT_EQ(done, taken);
  EXPECT_TRUE(announce(1));
  EXPECT_EQ(engine_.pending(), 1U);
  desk_.work();
  EXPECT_EQ(engine_.take_done().announced, 1U);
  // Events alone are bounded, too.
  std::size_t events = 0;
  while (announce(2) && events < 1000) ++events;
  EXPECT_GT(events, 16U);
  EXPECT_LT(events, 1000U);
  desk_.work();
  EXPECT_EQ(engine_.take_done().announced, events);
}

TEST_F(CopyEngineTest, a_copy_is_bounded) {
  const std::vector<std::byte> large(10U << 20);
  std::vector<BufferDescriptor> all;
  for (std::uint64_t at = 0; at < large.size(); at += 1U << 20) all.push_back({large.data() + at, at, 1U << 20});
  give(all);
  announce(1);
  ASSERT_EQ(desk_.copies.size(), 3U);
  for (const Rectangle& copy : desk_.copies) EXPECT_LE(copy.bytes(), CopyEngine::kLargestCopy);
}

TEST_F(CopyEngineTest, a_device_that_refuses_loses_everything_and_nobody_waits) {
  give(lines(4, 100, 100, 200));
  announce(1);
  give(lines(3, 100, 100, 200));
  desk_.broken = true;
  EXPECT_TRUE(announce(2));
  EXPECT_TRUE(engine_.failed());
  EXPECT_EQ(engine_.pending(), 0U);
  Progress progress = engine_.take_done();
  EXPECT_EQ(progress.writes, 7U) << "their source is free";
  EXPECT_EQ(progress.lost, 9U);
  EXPECT_EQ(progress.announced, 0U);
  EXPECT_EQ(give(lines(5, 100, 100, 200)), 5U);
  EXPECT_TRUE(announce(3));
  progress = engine_.take_done();
  EXPECT_EQ(progress.writes, 5U);
  EXPECT_EQ(progress.lost, 6U);
  EXPECT_EQ(lock_, 0U) << "none of them was announced";
}

TEST_F(CopyEngineTest, a_device_that_falls_silent_is_asked_and_given_up) {
  give(lines(4, 100, 100, 200));
  announce(1);
  std::this_thread::sleep_for(std::chrono::milliseconds(3));
  engine_.take_done();
  EXPECT_FALSE(engine_.failed()) << "slow is not broken";
  desk_.lost = true;
  const std::int64_t until = now_ns() + 5'000'000'000;
  while (!engine_.failed() && now_ns() < until) engine_.take_done();
  EXPECT_TRUE(engine_.failed());
  EXPECT_EQ(engine_.pending(), 0U);
}

/// The sender with a device that works in a thread of its own, later than it is told.
class LateDevice : public ::testing::Test {
 protected:
  void make(const ReceiverDtp& dtp, ReceiverConfig config = {}) {
    dtp_ = dtp;
    region_ = memory::Buffer(testing::end_of(dtp), memory::MemoryKind::pageable, memory::Sharing::machine);
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
        std::this_thread::sleep_for(std::chrono::microseconds(50));
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
  static bool never() { return false; }

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
    while (k % 5 == 0 && !remote_->thread_of(0).receiver.asleep()) std::this_thread::yield();
    ASSERT_TRUE(source.send(k, never));
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
    ASSERT_TRUE(source.send(k, never));
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
    ASSERT_TRUE(source.send(k, never));
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
    ASSERT_TRUE(source.send(k, never));
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
    ASSERT_TRUE(source.send(k, never));
    EXPECT_EQ(next().completeness, Completeness::complete);
  }
  EXPECT_FALSE(receiver_->overwritten(0, 0));
  receiver_->release(0, 1);
  ASSERT_TRUE(source.send(4, never));
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
