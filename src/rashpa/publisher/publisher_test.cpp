// SPDX-License-Identifier: Apache-2.0
/// Sockets of the process to which strangers connect, and attacks there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zmq.h>

#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "rashpa/core/error.hpp"
#include "rashpa/core/testing/testing.hpp"
#include "rashpa/publish/listener.hpp"
#include "rashpa/publisher/outlet.hpp"
#include "rashpa/publisher/pub_socket.hpp"

namespace rashpa::publisher {
namespace {

using publish::Listener;
using ::testing::HasSubstr;

/// A socket of libzmq that subscribes, or sends.
class Peer {
 public:
  Peer(int type, const std::string& endpoint, int room = 0) : socket_(zmq_socket(context_, type)) {
    const int timeout_ms = 20'000, none = 0;
    zmq_setsockopt(socket_, ZMQ_RCVTIMEO, &timeout_ms, sizeof timeout_ms);
    zmq_setsockopt(socket_, ZMQ_LINGER, &none, sizeof none);
    zmq_setsockopt(socket_, ZMQ_RCVHWM, &room, sizeof room);
    zmq_setsockopt(socket_, ZMQ_SNDHWM, &none, sizeof none);  // of subscriptions, too
    EXPECT_EQ(zmq_connect(socket_, endpoint.c_str()), 0);
  }
  ~Peer() {
    zmq_close(socket_);
    zmq_ctx_term(context_);
  }
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;
  void subscribe(const std::string& topic) { zmq_setsockopt(socket_, ZMQ_SUBSCRIBE, topic.data(), topic.size()); }
  std::string receive() {
    std::string text(1 << 20, ' ');
    const int bytes = zmq_recv(socket_, text.data(), text.size(), 0);
    text.resize(bytes < 0 ? 0 : static_cast<std::size_t>(bytes));
    return text;
  }
  bool has_message() {
    zmq_pollitem_t item{.socket = socket_, .fd = 0, .events = ZMQ_POLLIN, .revents = 0};
    return zmq_poll(&item, 1, 0) == 1;
  }

 private:
  void* context_ = zmq_ctx_new();
  void* socket_;
};

class Sockets : public ::testing::Test {
 protected:
  const ZeromqLibrary zeromq_ = load_zeromq();
  const Listener listener_{"tcp://127.0.0.1:0", "test"};
};

bool send(PubSocket& socket, const std::string& text) {
  const std::span<const std::byte> part = std::as_bytes(std::span(text));
  return socket.send(std::array{part});
}

TEST_F(Sockets, a_subscriber_that_is_full_is_told_of_and_never_waited_for) {
  PubSocket socket(zeromq_, listener_.file(), 4);
  Peer slow(ZMQ_SUB, listener_.endpoint(), 1);
  slow.subscribe("");
  const std::string big(1 << 20, 'x');
  EXPECT_EVENTUALLY((socket.look(), !send(socket, big)));
}

TEST_F(Sockets, a_long_subscription_ends_its_connection_alone) {
  PubSocket socket(zeromq_, listener_.file(), 4);
  Peer hostile(ZMQ_SUB, listener_.endpoint()), good(ZMQ_SUB, listener_.endpoint());
  hostile.subscribe(std::string(2 * kMostBytesFromOutside, 'h'));
  good.subscribe("");
  EXPECT_EVENTUALLY((socket.look(), send(socket, "hello"), good.has_message()));
  EXPECT_EQ(good.receive(), "hello");
}

TEST_F(Sockets, more_subscriptions_than_anybody_needs_are_an_error_in_words) {
  PubSocket socket(zeromq_, listener_.file(), 4);
  Peer hostile(ZMQ_SUB, listener_.endpoint());
  for (std::uint64_t n = 0; n <= kMostSubscriptions; ++n) hostile.subscribe(std::to_string(n));
  std::string said;
  EXPECT_EVENTUALLY([&] {
    try {
      socket.look();
    } catch (const ResourceError& error) {
      said = error.what();
    }
    return !said.empty();
  }());
  EXPECT_THAT(said, HasSubstr("more than 4096 subscriptions"));
}

TEST_F(Sockets, who_is_one_too_many_waits_until_another_one_goes) {
  void* context = zeromq_.ctx_new();
  void* socket = zeromq_.socket(context, zeromq::kXpub);
  {
    Entrance entrance(zeromq_, context, socket, listener_.file(), 2);
    auto one = std::make_unique<Peer>(ZMQ_SUB, listener_.endpoint());
    const Peer two(ZMQ_SUB, listener_.endpoint());
    EXPECT_EVENTUALLY((entrance.look(), entrance.connections() == 2));
    std::vector<std::unique_ptr<Peer>> more;
    for (int n = 0; n < 20; ++n) more.push_back(std::make_unique<Peer>(ZMQ_SUB, listener_.endpoint()));
    entrance.look();
    // Shutting takes a moment, in which somebody may slip in.
    EXPECT_LT(entrance.connections(), 20U);
    one.reset();
    more.resize(1);
    more[0]->subscribe("");
    EXPECT_EVENTUALLY((entrance.look(), zeromq_.send(socket, "late", 4, zeromq::kDontWait), more[0]->has_message()));
    EXPECT_EQ(more[0]->receive(), "late");
  }
  zeromq_.close(socket);
  zeromq_.ctx_term(context);
}

TEST_F(Sockets, a_message_is_one_for_all_sockets) {
  void* context = zeromq_.ctx_new();
  {
    Outlet outlet(zeromq_, context, listener_.file(), Pattern::push, 16, 0, 8);
    Peer peer(ZMQ_PULL, listener_.endpoint());
    const std::string text = "an image";
    const Message message(zeromq_, std::as_bytes(std::span(text)));
    EXPECT_EVENTUALLY((outlet.look(), outlet.send_image(message).all));
    EXPECT_TRUE(outlet.send_end(message));
    EXPECT_EQ(peer.receive(), text);
    EXPECT_EQ(peer.receive(), text);
  }
  zeromq_.ctx_term(context);
}

TEST(Zeromq, a_machine_without_it_is_told_what_to_install) {
  try {
    static_cast<void>(load_zeromq("libzmq-that-is-not-here.so"));
    FAIL();
  } catch (const ResourceError& error) {
    EXPECT_THAT(error.what(), HasSubstr("install libzmq5"));
  }
}

}  // namespace
}  // namespace rashpa::publisher
