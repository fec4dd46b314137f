// SPDX-License-Identifier: Apache-2.0
/// The RNIC's part is played by a socket of another port.
#include "rashpa/link/roce/credits/credit_listener.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <thread>

namespace rashpa::link::roce {
namespace {

class CreditListenerTest : public testing::TestWithParam<const char*> {
 protected:
  CreditListenerTest() : address_(GetParam()), listener_(address_, 0), rnic_(wire::Address(address_, 0).v6()) {
    rnic_.bind(wire::Address(address_, 0));
  }
  Endpoint source(std::uint32_t qpn, std::uint32_t rkey) { return {address_, listener_.port(), qpn, rkey, 64}; }
  void send(const Endpoint& to, const CreditWords& words) {
    CreditWriter writer(rnic_.local(), wire::Address(to.address, to.port), to);
    const auto packet = writer.packet(words);
    ASSERT_EQ(sendto(rnic_.fd(), packet.data(), packet.size(), 0, writer.to().get(), writer.to().bytes()),
              static_cast<ssize_t>(packet.size()));
    pollfd ready{listener_.fd(), POLLIN, 0};
    ASSERT_EQ(poll(&ready, 1, 5000), 1);
    listener_.take();
  }

  std::string address_;
  CreditListener listener_;
  UdpSocket rnic_;
};

TEST_P(CreditListenerTest, words_go_to_the_source_whose_queue_pair_is_named_whatever_port_they_come_from) {
  const Endpoint receiver{address_, 4791};
  const Endpoint one = source(17, 5);
  const Endpoint two = source(18, 6);
  const CreditListener::Source& first = listener_.add(one, receiver);
  const CreditListener::Source& second = listener_.add(two, receiver);
  send(two, {.images = 8, .bytes = 100});
  send(one, {.images = 3, .bytes = 30});
  EXPECT_EQ(first.words().images, 3U);
  EXPECT_EQ(second.words().images, 8U);
  EXPECT_EQ(second.words().bytes, 100U);
}

TEST_P(CreditListenerTest, a_wrong_key_changes_nothing) {
  const Endpoint right = source(17, 5);
  Endpoint wrong = right;
  wrong.rkey = 4;
  const CreditListener::Source& place = listener_.add(right, {address_, 4791});
  send(right, {.images = 3, .bytes = 30});
  send(wrong, {.images = 9, .bytes = 90});
  EXPECT_EQ(place.words().images, 3U);
  EXPECT_EQ(place.words().bytes, 30U);
}

// Members of a group join while images are sent.
TEST_P(CreditListenerTest, sources_come_while_others_take) {
  const Endpoint receiver{address_, 4791};
  const CreditListener::Source& first = listener_.add(source(17, 5), receiver);
  std::atomic<bool> stop{false};
  std::uint64_t seen = 0;
  std::thread taking([&] {
    while (!stop.load()) {
      listener_.take();
      seen += first.words().images;
    }
  });
  for (std::uint32_t qpn = 100; qpn < 2100; ++qpn) listener_.add(source(qpn, 5), receiver);
  stop.store(true);
  taking.join();
  EXPECT_EQ(seen, 0U);
}

INSTANTIATE_TEST_SUITE_P(Loopback, CreditListenerTest, testing::Values("127.0.0.1", "::1"),
                         [](const auto& test) { return std::string(test.param) == "::1" ? "v6" : "v4"; });

}  // namespace
}  // namespace rashpa::link::roce
