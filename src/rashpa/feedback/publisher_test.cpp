// SPDX-License-Identifier: Apache-2.0
#include "rashpa/feedback/publisher.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zmq.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstring>
#include <optional>
#include <thread>
#include <vector>

#include "rashpa/core/error.hpp"
#include "rashpa/core/testing/temporary_folder.hpp"
#include "rashpa/core/testing/testing.hpp"
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
  // A subscription takes its time: earlier messages go nowhere.
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

TEST(Publisher, what_cannot_be_bound_is_refused) {
  for (const char* endpoint : {"nothing", "tcp://203.0.113.1:4000", "tcp://127.0.0.1", "tcp://127.0.0.1:65536"})
    EXPECT_THROW(Publisher({.zmq = endpoint}, described()), ConfigError) << endpoint;
  const Publisher taken({.zmq = "tcp://127.0.0.1:0"}, described());
  EXPECT_THROW(Publisher({.zmq = taken.status().zmq}, described()), ConfigError);
}

TEST(Publisher, one_that_is_killed_costs_its_subscribers_what_they_are_told) {
  Publisher publisher({.zmq = "tcp://127.0.0.1:0"}, described());
  const std::string endpoint = publisher.status().zmq;
  Subscriber subscriber(endpoint, "full");
  Stacks stacks;
  std::atomic<std::uint64_t> last{0};
  std::atomic<std::uint64_t> received{0};
  std::atomic<bool> over{false};
  std::jthread reading([&] {
    for (std::vector<std::string> parts = subscriber.receive(); parts.size() == 3; parts = subscriber.receive()) {
      if (parts[2].empty()) break;
      std::vector<std::uint64_t> record(parts[2].size() / kWordBytes);
      std::memcpy(record.data(), parts[2].data(), parts[2].size());
      last = record[entry::kIndex];
      EXPECT_TRUE(is_image(record, last));
      ++received;
    }
    over = true;
  });
  std::uint64_t n = 0;
  for (std::uint64_t deaths = 1; deaths <= 3; ++deaths) {
    const std::uint64_t before = received;
    EXPECT_EVENTUALLY((publisher.publish(stacks.stack(n++)), received > before + 5));
    ASSERT_EQ(::kill(publisher.process()->pid(), SIGKILL), 0);
    EXPECT_EVENTUALLY(publisher.status().restarts == deaths);
    EXPECT_EQ(publisher.status().zmq, endpoint);
  }
  const std::uint64_t before = received;
  EXPECT_EVENTUALLY((publisher.publish(stacks.stack(n++)), received > before + 5));
  publisher.end();
  EXPECT_EVENTUALLY(over.load());
  EXPECT_EQ(last, n - 1);
  const PublisherStatus status = publisher.status();
  EXPECT_EQ(status.published, n);
  // One that dies between sending and counting sends an image again.
  EXPECT_GE(status.sent + status.dropped, n);
  EXPECT_LE(status.sent + status.dropped, n + 3);
}

TEST(Publisher, one_that_stands_still_holds_up_nobody) {
  Publisher publisher({.zmq = "tcp://127.0.0.1:0", .entries = 64}, described());
  ASSERT_EQ(::kill(publisher.process()->pid(), SIGSTOP), 0);
  Stacks stacks;
  constexpr std::uint64_t kImages = 1000;
  for (std::uint64_t n = 0; n < kImages; ++n) publisher.publish(stacks.stack(n));
  publisher.end();
  const PublisherStatus status = publisher.status();
  EXPECT_EQ(status.published, kImages);
  EXPECT_EQ(status.sent + status.dropped, kImages);
  EXPECT_EQ(status.restarts, 0U);
}

}  // namespace
}  // namespace rashpa::feedback
