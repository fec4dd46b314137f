// SPDX-License-Identifier: Apache-2.0
#include "rashpa/feedback/publisher.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zmq.h>

#include <array>
#include <chrono>
#include <cstring>
#include <optional>
#include <thread>
#include <vector>

#include "rashpa/core/error.hpp"
#include "rashpa/core/temporary_folder.hpp"
#include "rashpa/core/testing.hpp"
#include "rashpa/feedback/ring_reader.hpp"
#include "rashpa/feedback/testing.hpp"

namespace rashpa::feedback {
namespace {

using ::testing::HasSubstr;
using testing::is_image;
using testing::Numbered;
using ::testing::StartsWith;

Described described() {
  Described what{.run = 7, .buffer = "full", .width = 16, .height = 8, .stack = 1, .images = 100};
  what.results.reasons.add("too_dim");
  what.results.columns = {{.name = "a"}, {.name = "b", .type = Column::Type::f64, .unit = "photons"}, {.name = "c"}};
  Table peaks;
  peaks.name = "peaks";
  peaks.capacity = testing::kShape.capacity;
  for (const char* name : {"x", "y", "intensity", "snr"}) peaks.columns.push_back({.name = name});
  what.results.tables = {peaks};
  return what;
}

/// A stack with image n alone.
class Stacks {
 public:
  const Stack& stack(std::uint64_t n) {
    stack_.count = 1;
    stack_.images = {numbered_.image(n)};
    return stack_;
  }

 private:
  Numbered numbered_;
  Stack stack_;
};

class Subscriber {
 public:
  Subscriber(const std::string& endpoint, const char* topic, int room = 0) {
    const int timeout_ms = 20'000;
    zmq_setsockopt(socket_, ZMQ_RCVTIMEO, &timeout_ms, sizeof timeout_ms);
    zmq_setsockopt(socket_, ZMQ_RCVHWM, &room, sizeof room);
    EXPECT_EQ(zmq_connect(socket_, endpoint.c_str()), 0);
    zmq_setsockopt(socket_, ZMQ_SUBSCRIBE, topic, std::char_traits<char>::length(topic));
  }
  ~Subscriber() {
    zmq_close(socket_);
    zmq_ctx_term(context_);
  }
  Subscriber(const Subscriber&) = delete;
  Subscriber& operator=(const Subscriber&) = delete;

  std::vector<std::string> receive() {
    std::vector<std::string> parts;
    for (int more = 1; more != 0;) {
      zmq_msg_t message;
      zmq_msg_init(&message);
      if (zmq_msg_recv(&message, socket_, 0) < 0) return {};
      parts.emplace_back(static_cast<const char*>(zmq_msg_data(&message)), zmq_msg_size(&message));
      more = zmq_msg_more(&message);
      zmq_msg_close(&message);
    }
    return parts;
  }

 private:
  void* context_ = zmq_ctx_new();
  void* socket_ = zmq_socket(context_, ZMQ_SUB);
};

TEST(Description, says_what_entries_hold) {
  const std::string text = describe(described());
  EXPECT_THAT(text, StartsWith(R"({"format": "rashpa feedback", "version": 1, "run": 7, "buffer": "full", )"));
  EXPECT_THAT(text, HasSubstr(R"("veto_reasons": ["none", "too_few", "too_many", "dark", "partial", "too_dim"])"));
  EXPECT_THAT(text, HasSubstr(R"({"name": "b", "type": "float64", "unit": "photons", "doc": ""})"));
  EXPECT_THAT(text, HasSubstr(R"("tables": [{"name": "peaks", "capacity": 20, "columns": [{"name": "x", )"));
}

TEST(Publisher, counts_what_it_has_published_and_how_long_it_took) {
  const TemporaryFolder folder;
  Publisher publisher({.ring = folder.file("a"), .entries = 64}, described());
  RingReader reader(folder.file("a"), Begin::oldest);
  Stacks stacks;
  for (std::uint64_t n = 0; n < 10; ++n) publisher.publish(stacks.stack(n));
  publisher.end();
  for (std::uint64_t n = 0; n < 10; ++n) {
    ASSERT_EQ(reader.next(), Got::record);
    EXPECT_TRUE(is_image(reader.record(), n));
  }
  EXPECT_EQ(reader.next(), Got::ended);
  const PublisherStatus status = publisher.status();
  EXPECT_EQ(status.published, 10U);
  EXPECT_EQ(status.in_ring->count(), 10U);
  EXPECT_EQ(status.zmq, "");
  EXPECT_EQ(status.sent, 0U);
}

TEST(Publisher, subscribers_get_every_image_and_the_end) {
  Publisher publisher({.zmq = "tcp://127.0.0.1:0"}, described());
  EXPECT_THAT(publisher.status().zmq, StartsWith("tcp://127.0.0.1:"));
  EXPECT_THAT(publisher.status().zmq, ::testing::Not(::testing::EndsWith(":0")));
  Subscriber subscriber(publisher.status().zmq, "full");
  Subscriber other(publisher.status().zmq, "another buffer");
  Stacks stacks;
  // A subscription takes its time: what is published before it is there goes nowhere.
  std::uint64_t n = 0;
  std::optional<std::uint64_t> first;
  std::atomic<std::uint64_t> received{0};
  std::jthread sender([&] {
    EXPECT_EVENTUALLY((publisher.publish(stacks.stack(n++)), received > 0));
    for (const std::uint64_t end = n + 2000; n < end; ++n) publisher.publish(stacks.stack(n));
    publisher.end();
  });
  for (;;) {
    const std::vector<std::string> parts = subscriber.receive();
    ASSERT_EQ(parts.size(), 3U);
    EXPECT_EQ(parts[0], "full");
    EXPECT_EQ(parts[1], describe(described()));
    if (parts[2].empty()) break;
    std::vector<std::uint64_t> record(parts[2].size() / kWordBytes);
    std::memcpy(record.data(), parts[2].data(), parts[2].size());
    if (!first) first = record[entry::kIndex];
    ASSERT_TRUE(is_image(record, *first + received));
    ++received;
  }
  sender.join();
  ASSERT_TRUE(first);
  EXPECT_GT(received, 2000U);
  EXPECT_EQ(*first + received, n);
  const PublisherStatus status = publisher.status();
  EXPECT_EQ(status.sent, n);
  EXPECT_EQ(status.dropped, 0U);
  EXPECT_EQ(status.by_zmq->count(), n);
}

TEST(PubSocket, a_subscriber_that_is_full_is_told_of_and_never_waited_for) {
  PubSocket socket("tcp://127.0.0.1:0", 4);
  Subscriber slow(socket.endpoint(), "", 1);
  const std::string big(1 << 20, 'x');
  const std::span<const std::byte> part = std::as_bytes(std::span(big));
  EXPECT_EVENTUALLY(!socket.send(std::array{part}));
}

TEST(PubSocket, what_cannot_be_bound_is_refused) {
  EXPECT_THROW(PubSocket("tcp://203.0.113.1:4000", 4), ConfigError);
  EXPECT_THROW(PubSocket("nothing", 4), ConfigError);
  const PubSocket taken("tcp://127.0.0.1:0", 4);
  EXPECT_THROW(PubSocket(taken.endpoint(), 4), ConfigError);
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
}  // namespace rashpa::feedback
