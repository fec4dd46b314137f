// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/roce/credits/credits.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include "rashpa/link/roce/receiver.hpp"
#include "rashpa/link/roce/sender.hpp"
#include "rashpa/link/roce/sockets/udp_socket.hpp"
#include "rashpa/link/testing/testing.hpp"

namespace rashpa::link::roce {
namespace {

using Taken = CreditReader::Taken;

std::vector<std::byte> copy_of(std::span<const std::byte> bytes) { return {bytes.begin(), bytes.end()}; }

TEST(Credits, the_latest_words_count_and_only_of_packets_meant_for_us) {
  const wire::Address receiver("127.0.0.1", 4791);
  const wire::Address local("127.0.0.1", 50000);
  const Endpoint self{"127.0.0.1", 50000, 17, 0xABCD, 64};
  CreditWriter writer(receiver, local, self);
  CreditReader reader(self, receiver, local);
  auto older = copy_of(writer.packet({5, 1000}));
  auto newer = copy_of(writer.packet({9, 5000}));
  EXPECT_EQ(reader.take(older, receiver), Taken::credit);
  EXPECT_EQ(reader.words().images, 5U);
  EXPECT_EQ(reader.take(newer, receiver), Taken::credit);
  EXPECT_EQ(reader.words().images, 9U);
  EXPECT_EQ(reader.words().bytes, 5000U);

  const auto refused = [&](const Endpoint& target, const wire::Address& from) {
    CreditWriter other(from, local, target);
    auto packet = copy_of(other.packet({100, 100000}));
    return reader.take(packet, from) == Taken::nothing;
  };
  Endpoint wrong = self;
  wrong.rkey ^= 1;
  EXPECT_TRUE(refused(wrong, receiver));
  wrong = self;
  wrong.qpn ^= 1;
  EXPECT_TRUE(refused(wrong, receiver));
  wrong = self;
  wrong.credit_offset += 8;
  EXPECT_TRUE(refused(wrong, receiver));
  EXPECT_TRUE(refused(self, wire::Address("127.0.0.1", 4792)));
  EXPECT_TRUE(refused(self, wire::Address("127.0.0.2", 4791)));
  auto damaged = copy_of(writer.packet({200, 1}));
  damaged[30] ^= std::byte{1};
  EXPECT_EQ(reader.take(damaged, receiver), Taken::nothing);
  for (std::size_t size = 0; size < newer.size(); ++size) {
    EXPECT_EQ(reader.take(std::span(newer).first(size), receiver), Taken::nothing);
  }
  EXPECT_EQ(reader.words().images, 9U);
  EXPECT_EQ(reader.refused(), 6U + newer.size()) << "each is in a counter";
}

TEST(Credits, are_repeated_so_that_a_lost_one_heals) {
  const auto dtp = testing::small_dtp(1, 10, 4, 64, 6);
  std::vector<std::byte> region(testing::end_of(dtp));
  ArrivalQueues queues(1, 16);
  Doorbell bell;
  RoceReceiver receiver({}, region, {dtp}, queues, bell);
  UdpSocket socket(false);
  socket.bind(wire::Address("127.0.0.1", 0));
  const wire::Address local = socket.local();
  const Endpoint self{"127.0.0.1", local.port(), 40, 0x77, 0};
  receiver.connect(std::span(&self, 1));
  receiver.start();
  const wire::Address from("127.0.0.1", receiver.endpoints()[0].port);
  CreditReader reader(self, from, local);
  for (int i = 0; i < 4; ++i) {  // the first three are as if lost
    pollfd ready{socket.fd(), POLLIN, 0};
    ASSERT_EQ(::poll(&ready, 1, 5000), 1);
    std::array<std::byte, 256> bytes{};
    const auto size = recv(socket.fd(), bytes.data(), bytes.size(), 0);
    ASSERT_GT(size, 0);
    if (i == 3) {
      EXPECT_EQ(reader.take(std::span(bytes).first(static_cast<std::size_t>(size)), from), Taken::credit);
    }
  }
  EXPECT_EQ(reader.words().images, 6U);
  receiver.stop();
}

TEST(Credits, lost_bytes_leave_the_window_when_the_receiver_repeats_itself) {
  const auto dtp = testing::small_dtp(1, 10, 4, 64, 6);
  std::vector<std::byte> region(testing::end_of(dtp));
  ArrivalQueues queues(1, 16);
  Doorbell bell;
  RoceReceiver receiver({}, region, {dtp}, queues, bell);
  SenderConfig config;
  config.destination = receiver.endpoints()[0];
  config.destination.rkey ^= 1;  // the QP that answers is another's: nothing is counted as received
  config.destination.qpn += 1;
  config.options.pmtu = 1024;
  config.options.window_bytes = 8192;
  const auto sender_owner = make_sender(config);
  RoceSender& sender = *sender_owner;
  const Endpoint self = sender.endpoint();
  receiver.connect(std::span(&self, 1));
  receiver.start();
  const std::vector<std::byte> pixels(1024, std::byte{1});
  const std::vector<BufferDescriptor> writes(20, {pixels.data(), 0, 1024});
  std::size_t taken = 0;
  const std::int64_t start = now_ns();
  while (taken < writes.size() && now_ns() - start < 30'000'000'000) {
    taken += sender.post(std::span(writes).subspan(taken));
    sender.poll(500);
  }
  EXPECT_EQ(taken, writes.size());
  EXPECT_EQ(sender.stats()["window_timeouts"], 2U);
  receiver.stop();
}

TEST(Credits, the_destination_says_what_its_socket_has_room_for_and_the_source_keeps_to_it) {
  const auto dtp = testing::small_dtp(1, 10, 4, 64, 6);
  std::vector<std::byte> region(testing::end_of(dtp));
  ArrivalQueues queues(1, 16);
  Doorbell bell;
  ReceiverConfig small;
  small.options.socket_buffer = 16'384;
  RoceReceiver receiver(small, region, {dtp}, queues, bell);
  const Endpoint destination = receiver.endpoints()[0];
  ASSERT_GT(destination.window_bytes, 0U);
  ASSERT_LE(destination.window_bytes, 16'384U);
  SenderConfig config;
  config.destination = destination;
  config.options.pmtu = 1024;
  config.options.window_bytes = 1 << 20;
  const auto sender_owner = make_sender(config);
  RoceSender& sender = *sender_owner;
  const std::vector<std::byte> pixels(1024, std::byte{1});
  const std::vector<BufferDescriptor> writes(64, {pixels.data(), 0, 1024});
  EXPECT_EQ(sender.post(writes), destination.window_bytes / 1024);
}

TEST(Credits, a_receiver_that_stands_still_is_sent_the_window_and_no_more) {
  UdpSocket silent(false);
  silent.bind(wire::Address("127.0.0.1", 0));
  SenderConfig config;
  config.destination = {"127.0.0.1", silent.local().port(), 20, 1, 0};
  config.options.pmtu = 1024;
  config.options.window_bytes = 8192;
  const auto sender_owner = make_sender(config);
  RoceSender& sender = *sender_owner;
  EXPECT_EQ(sender.granted(), 0U);
  const std::vector<std::byte> pixels(1024, std::byte{1});
  const std::vector<BufferDescriptor> writes(20, {pixels.data(), 0, 1024});
  std::size_t taken = sender.post(writes);
  EXPECT_EQ(taken, 8U) << "the window";
  const std::int64_t start = now_ns();
  while (now_ns() - start < 2 * std::int64_t{SenderWindow::kSilenceUs} * 1000) {
    sender.poll(500);
    taken += sender.post(std::span(writes).subspan(taken));
  }
  EXPECT_EQ(taken, 8U) << "its socket has room for no more";
  EXPECT_EQ(sender.stats()["window_timeouts"], 0U);
}

}  // namespace
}  // namespace rashpa::link::roce
