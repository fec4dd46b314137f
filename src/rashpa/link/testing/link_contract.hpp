// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The promises of all links (link.hpp), as tests over a table of makers. A program includes this once and instantiates
/// LinkContract with its links.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "rashpa/core/end.hpp"
#include "rashpa/core/testing/testing.hpp"
#include "rashpa/link/arrival_queue.hpp"
#include "rashpa/link/testing/testing.hpp"
#include "rashpa/memory/buffer.hpp"

namespace rashpa::link {

using testing::end_of;
using testing::small_dtp;
using testing::Source;

/// A receiver with one sender for each DTP.
struct Pair {
  std::shared_ptr<void> memory;  ///< of a device that stands behind the region; null: none does
  std::unique_ptr<Receiver> receiver;
  std::vector<std::unique_ptr<Sender>> senders;
};

using Maker = Pair (*)(const memory::Buffer&, const std::vector<ReceiverDtp>&, ArrivalQueues&, Doorbell&);

/// A link of the table. If its detector has only images of one shape, `lines` and `line_bytes` give it for all DTPs; 0:
/// any shape. Without `credits`, nothing returns to its sources, and events bring no records.
struct ContractLink {
  const char* name;
  Maker make;
  std::uint32_t lines = 0;
  std::uint32_t line_bytes = 0;
  bool credits = true;
};

class LinkContract : public ::testing::TestWithParam<ContractLink> {
 protected:
  static constexpr std::size_t kEntries = 16;  // of each queue, more than twice the slots

  /// Makes a DTP like testing::small_dtp(), in the shape that the link requires.
  static ReceiverDtp shaped(std::uint32_t id, std::uint64_t images, std::uint32_t lines, std::uint32_t line_bytes,
                            std::uint32_t slots, std::uint32_t gap = 0, std::uint64_t base = 0) {
    const ContractLink& link = GetParam();
    return small_dtp(id, images, link.lines != 0 ? link.lines : lines,
                     link.line_bytes != 0 ? link.line_bytes : line_bytes, slots, gap, base);
  }

  void make(std::vector<ReceiverDtp> dtps) {
    prepare(std::move(dtps));
    pair_.receiver->start();
  }
  void prepare(std::vector<ReceiverDtp> dtps) {
    dtps_ = std::move(dtps);
    region_ = memory::Buffer(end_of(dtps_.back()), memory::MemoryKind::pageable, memory::Sharing::machine);
    queues_ = ArrivalQueues(dtps_.size(), kEntries);
    pair_ = GetParam().make(region_, dtps_, queues_, bell_);
    if (const auto* registering = able<const Registering>(*pair_.receiver)) {
      for (ReceiverDtp& dtp : dtps_) dtp.placement.records_offset += registering->base_of_records();  // for sources
    }
    released_ = std::vector<std::atomic<std::uint64_t>>(dtps_.size());
  }
  /// Returns the next arrival; fails after 20 s.
  Arrival next() {
    Arrival arrival;
    const std::int64_t start = now_ns();
    while (true) {
      const auto seen = bell_.count();
      if (queues_.try_pop(arrival)) return arrival;
      if (now_ns() - start > 20'000'000'000) break;
      bell_.wait(seen, std::chrono::milliseconds(5));
    }
    const Counts stats = pair_.receiver->stats();
    ADD_FAILURE() << "no arrival; packets " << stats["packets"] << ", bad ICRC " << stats["icrc_bad"] << ", malformed "
                  << stats["malformed"] << ", unknown queue pair " << stats["unknown_qp"] << ", granted "
                  << pair_.senders[0]->granted();
    return arrival;
  }
  /// Returns true when the test has failed; sources never give up before.
  static bool failed() { return HasFailure(); }
  void release(std::uint32_t dtp, std::uint64_t end) {
    pair_.receiver->release(dtp, end);
    released_[dtp].store(end);
  }
  /// Sends all images of a DTP, each when a slot is free: by credits, or without credits by released slots.
  void send_all(std::uint32_t dtp) {
    Source source(dtps_[dtp], *pair_.senders[dtp]);
    for (std::uint64_t k = 0; k < dtps_[dtp].images; ++k) {
      const auto no_slot = [&] { return k >= released_[dtp].load() + dtps_[dtp].placement.slots; };
      while (!GetParam().credits && no_slot() && !failed()) pair_.senders[dtp]->poll(500);
      source.send(k, failed);
    }
  }

  std::vector<ReceiverDtp> dtps_;
  memory::Buffer region_;  // the needs of pcie suit all
  ArrivalQueues queues_;
  Doorbell bell_;
  Pair pair_;
  std::vector<std::atomic<std::uint64_t>> released_;
};

/// The promises of links with credits and records.
class LinkCreditContract : public LinkContract {};

TEST_P(LinkContract, each_image_arrives_once_in_order_with_its_pixels) {
  const auto one = shaped(1, 200, 9, 1500, 4);
  make({one, shaped(2, 200, 5, 700, 3, 20, end_of(one))});
  std::vector<std::jthread> threads;
  for (std::uint32_t d = 0; d < 2; ++d) threads.emplace_back([&, d] { send_all(d); });
  std::vector<Source> sent = {Source(dtps_[0], *pair_.senders[0]), Source(dtps_[1], *pair_.senders[1])};
  std::uint64_t expected[2] = {0, 0};
  for (int i = 0; i < 400; ++i) {
    const Arrival arrival = next();
    ASSERT_LT(arrival.dtp, 2U);
    ASSERT_EQ(arrival.index, expected[arrival.dtp]++);
    EXPECT_EQ(arrival.completeness, Completeness::complete);
    EXPECT_EQ(arrival.loss, Loss::none);
    EXPECT_EQ(arrival.record.index, arrival.index);
    EXPECT_EQ(arrival.record.dtp, dtps_[arrival.dtp].id);
    EXPECT_EQ(arrival.record.frame_number, dtps_[arrival.dtp].slice.frame(arrival.index));
    const Placement& p = dtps_[arrival.dtp].placement;
    std::uint32_t crc = 0;
    for (std::uint32_t line = 0; line < p.lines; ++line) {
      crc = crc32c({region_.data() + p.image_offset(arrival.index) + line * p.pitch, p.line_bytes}, crc);
    }
    sent[arrival.dtp].prepare(arrival.index);
    EXPECT_EQ(crc, crc32c(sent[arrival.dtp].payload()));
    if (GetParam().credits) {
      EXPECT_EQ(crc, arrival.record.payload_crc32c);
    }
    release(arrival.dtp, arrival.index + 1);
  }
  threads.clear();
  pair_.receiver->stop();
  Arrival more;
  EXPECT_FALSE(queues_.try_pop(more));
}

TEST_P(LinkCreditContract, the_source_is_granted_no_more_than_the_free_slots) {
  make({shaped(1, 50, 2, 512, 3)});
  Source source(dtps_[0], *pair_.senders[0]);
  for (std::uint64_t k = 0; k < 3; ++k) source.send(k, failed);
  for (std::uint64_t k = 0; k < 3; ++k) EXPECT_EQ(next().index, k);
  for (int i = 0; i < 20; ++i) pair_.senders[0]->poll(500);
  EXPECT_EQ(pair_.senders[0]->granted(), 3U);
  pair_.receiver->release(0, 2);
  const std::int64_t start = now_ns();
  while (pair_.senders[0]->granted() < 5 && now_ns() - start < 10'000'000'000) pair_.senders[0]->poll(500);
  EXPECT_EQ(pair_.senders[0]->granted(), 5U);
  pair_.receiver->stop();
}

TEST_P(LinkContract, close_emits_what_is_undecided_and_later_images_still_come) {
  make({shaped(1, 50, 2, 512, 4)});
  Source source(dtps_[0], *pair_.senders[0]);
  source.send(0, failed);
  EXPECT_EQ(next().completeness, Completeness::complete);
  pair_.receiver->close(0, 3);
  for (std::uint64_t k = 1; k < 3; ++k) {
    const Arrival arrival = next();
    EXPECT_EQ(arrival.index, k);
    EXPECT_EQ(arrival.completeness, Completeness::missing);
    EXPECT_EQ(arrival.loss, Loss::deadline);
    EXPECT_EQ(arrival.lines_missing, dtps_[0].placement.lines);
  }
  source.send(3, failed);
  const Arrival arrival = next();
  EXPECT_EQ(arrival.index, 3U);
  EXPECT_EQ(arrival.completeness, Completeness::complete);
  pair_.receiver->close(0, ~0ULL);
  for (std::uint64_t k = 4; k < 50; ++k) EXPECT_EQ(next().index, k);
  pair_.receiver->stop();
  Arrival more;
  EXPECT_FALSE(queues_.try_pop(more)) << "nothing behind the run's last image";
}

TEST_P(LinkContract, an_image_that_was_given_up_is_not_written_afterwards) {
  const auto one = shaped(1, 50, 3, 512, 4);
  make({one, shaped(2, 50, 3, 512, 4, 0, end_of(one))});
  Source late(dtps_[0], *pair_.senders[0]);
  Source other(dtps_[1], *pair_.senders[1]);
  const std::size_t bytes = dtps_[0].placement.slot_bytes * dtps_[0].placement.slots;
  const auto untouched = [&] {
    return std::all_of(region_.data(), region_.data() + bytes, [](std::byte byte) { return byte == std::byte{0xFF}; });
  };
  std::fill_n(region_.data(), bytes, std::byte{0xFF});  // as the scheduler fills what is lost
  pair_.receiver->close(0, 4);
  for (std::uint64_t k = 0; k < 4; ++k) EXPECT_EQ(next().loss, Loss::deadline);
  for (std::uint64_t k = 0; k < 4; ++k) late.send(k, failed);  // it has its credits still
  late.drain(failed);
  other.send(0, failed);
  EXPECT_EQ(next().dtp, 1U);
  EXPECT_TRUE(untouched());
  pair_.receiver->release(0, 4);
  late.send(4, failed);
  EXPECT_EQ(next().completeness, Completeness::complete) << "and goes on with those that are waited for";
  std::fill_n(region_.data(), bytes, std::byte{0xFF});
  pair_.receiver->stop();
  const std::int64_t until = now_ns() + 50'000'000;
  for (std::uint64_t k = 5; k < 8; ++k) late.send(k, [until] { return now_ns() > until; });
  EXPECT_TRUE(untouched()) << "nor what was open when the link ended";
}

TEST_P(LinkContract, what_has_arrived_when_images_are_closed_is_taken_first) {
  prepare({shaped(1, 50, 3, 512, 8)});
  Sender& sender = *pair_.senders[0];
  std::vector<Source> sources(8, Source(dtps_[0], sender));  // each with memory of its own: nobody says when it is read
  for (std::uint64_t k = 0; k < 8; ++k) ASSERT_TRUE(sources[k].write(k, failed));
  const std::int64_t until = now_ns() + 20'000'000;
  while (sender.pending() > 0 && now_ns() < until) sender.poll(500);
  pair_.receiver->close(0, 9);  // they have been there for long: its threads did not run
  pair_.receiver->start();
  for (std::uint64_t k = 0; k < 8; ++k) EXPECT_EQ(next().completeness, Completeness::complete) << "image " << k;
  EXPECT_EQ(next().loss, Loss::deadline);
  pair_.receiver->stop();
}

TEST_P(LinkContract, a_run_of_unknown_length_ends_where_it_is_closed) {
  make({shaped(1, kMostImages, 2, 512, 4)});
  Source source(dtps_[0], *pair_.senders[0]);
  for (std::uint64_t k = 0; k < 10; ++k) {
    source.send(k, failed);
    EXPECT_EQ(next().index, k);
    pair_.receiver->release(0, k + 1);
  }
  pair_.receiver->close(0, 12);
  for (std::uint64_t k = 10; k < 12; ++k) {
    const Arrival arrival = next();
    EXPECT_EQ(arrival.index, k);
    EXPECT_EQ(arrival.completeness, Completeness::missing);
  }
  pair_.receiver->stop();
  Arrival more;
  EXPECT_FALSE(queues_.try_pop(more)) << "nobody said that there are more";
}

TEST_P(LinkContract, arrivals_that_nobody_takes_hold_up_no_other_dtp) {
  constexpr std::uint64_t kMissing = 5000;  // far more than the queue has entries
  const auto idle = shaped(1, kMissing, 1, 64, 4);
  make({idle, shaped(2, 300, 3, 512, 4, 0, end_of(idle))});
  pair_.receiver->close(0, kMissing);
  ASSERT_EVENTUALLY(queues_[0].entries() >= kEntries);
  std::jthread thread([&] { send_all(1); });
  const std::int64_t until = now_ns() + 20'000'000'000;
  for (std::uint64_t k = 0; k < dtps_[1].images; ++k) {
    const Arrival* arrival = queues_[1].front();
    for (; arrival == nullptr && now_ns() < until; arrival = queues_[1].front()) {
      bell_.wait(bell_.count(), std::chrono::milliseconds(1));
    }
    ASSERT_NE(arrival, nullptr) << "image " << k << " waits behind another DTP's";
    ASSERT_EQ(arrival->index, k);
    ASSERT_EQ(arrival->completeness, Completeness::complete);
    queues_[1].pop();
    release(1, k + 1);
  }
  for (std::uint64_t k = 0; k < kMissing; ++k) {
    const Arrival arrival = next();
    ASSERT_EQ(arrival.dtp, 0U);
    ASSERT_EQ(arrival.index, k);
    ASSERT_EQ(arrival.completeness, Completeness::missing);
    ASSERT_EQ(arrival.loss, Loss::deadline);
    pair_.receiver->release(0, k + 1);
  }
  pair_.receiver->stop();
}

TEST_P(LinkContract, a_gap_is_closed_at_once_when_a_later_image_shows_it) {
  make({shaped(1, 50, 2, 512, 8)});
  Source source(dtps_[0], *pair_.senders[0]);
  source.send(5, failed);  // and none before it
  for (std::uint64_t k = 0; k < 6; ++k) {
    const Arrival arrival = next();
    EXPECT_EQ(arrival.index, k);
    EXPECT_EQ(arrival.completeness, k < 5 ? Completeness::missing : Completeness::complete);
  }
  pair_.receiver->stop();
}

TEST_P(LinkCreditContract, a_source_that_left_out_many_rings_is_granted_slots_again) {
  make({shaped(1, 1000, 2, 512, 4)});
  Source source(dtps_[0], *pair_.senders[0]);
  std::uint64_t next_index = 0;
  const auto expect_next = [&](Completeness completeness) {
    const Arrival arrival = next();
    ASSERT_EQ(arrival.index, next_index++);
    ASSERT_EQ(arrival.completeness, completeness) << "image " << arrival.index;
    EXPECT_EQ(arrival.loss, completeness == Completeness::missing ? Loss::event : Loss::none);
  };
  for (std::uint64_t round = 0; round < 5 && !HasFailure(); ++round) {
    const std::uint64_t first = round * 200;
    for (std::uint64_t k = first; k < first + 4; ++k) source.send(k, failed);
    for (int i = 0; i < 4; ++i) expect_next(Completeness::complete);
    // No slot is free: all of this is left out, and told of now and then.
    for (std::uint64_t k = first + 4; k < first + 196; k += 64) {
      EXPECT_LE(pair_.senders[0]->granted(), k);
      ASSERT_TRUE(source.skip(k + 63, 64, failed));
    }
    for (int i = 0; i < 192; ++i) expect_next(Completeness::missing);
    pair_.receiver->release(0, next_index);
    for (std::uint64_t k = first + 196; k < first + 200; ++k) ASSERT_TRUE(source.send(k, failed));
    for (int i = 0; i < 4; ++i) expect_next(Completeness::complete);
    pair_.receiver->release(0, next_index);
  }
  pair_.receiver->stop();
  const Counts stats = pair_.receiver->stats();
  EXPECT_EQ(stats["bad_records"], 0U);
  EXPECT_EQ(stats["refused_key"], 0U);
  EXPECT_EQ(stats["events"], 40U);
}

TEST_P(LinkContract, stop_is_bounded_even_when_nobody_takes_the_arrivals) {
  make({shaped(1, 5000, 1, 64, 4)});
  pair_.receiver->close(0, 5000);  // more arrivals than the queue has entries
  ASSERT_EVENTUALLY(queues_[0].entries() >= kEntries);
  const std::int64_t start = now_ns();
  pair_.receiver->stop();
  EXPECT_LT(now_ns() - start, 1'000'000'000);
}

}  // namespace rashpa::link
