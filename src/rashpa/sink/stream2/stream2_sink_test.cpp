// SPDX-License-Identifier: Apache-2.0
#include "rashpa/sink/stream2/stream2_sink.hpp"

#include <gtest/gtest.h>
#include <zmq.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "rashpa/core/error.hpp"
#include "rashpa/core/testing/testing.hpp"
#include "rashpa/kernel/bitshuffle_lz4/bitshuffle_lz4.hpp"
#include "rashpa/kernel/bitshuffle_lz4/runs_testing.hpp"
#include "rashpa/sink/stream2/stream2_testing.hpp"

namespace rashpa::sink {
namespace {

TEST(Stream2Sink, a_consumer_gets_start_every_accepted_image_from_then_on_and_end) {
  Stream2Sink sink(config_of(1), output_of(100));
  Client client(sink.consumers().front().endpoint);
  sink.begin();
  Images images;
  const std::uint64_t first = put_until_connected(sink, images);
  for (std::uint64_t n = first; n < first + 20; ++n) {
    ErrorReason result = ErrorReason::none;
    EXPECT_EQ(sink.put(images.stack(n), {&result, 1}), Put::done);
    EXPECT_EQ(result, ErrorReason::none) << n;
  }
  const std::uint64_t written = sink.stats().images_written;
  std::thread closing([&] { sink.close({}); });
  const std::vector<std::string> types = client.all();
  closing.join();
  ASSERT_EQ(types.size(), written + 2);
  EXPECT_EQ(types.front(), "start");
  EXPECT_EQ(types.back(), "end");
  EXPECT_EQ(std::count(types.begin(), types.end(), "image"), static_cast<std::ptrdiff_t>(written));
  EXPECT_EQ(sink.consumers().front().sent, written);
}

TEST(Stream2Sink, messages_count_the_images_of_each_fate_and_the_end_has_the_books) {
  Stream2Config config = config_of(1);
  config.wait_s = 10;
  Stream2Sink sink(config, output_of(100));
  Client client(sink.consumers().front().endpoint);
  sink.begin();
  Images images;
  const auto put = [&](std::uint64_t n, std::uint64_t timestamp_ns) {
    Stack stack = images.stack(n);
    stack.images[0].timestamp_ns = timestamp_ns;
    if (n == 3) stack.images[0].decision = Decision::errored;
    ErrorReason result{};
    sink.put(stack, {&result, 1});
    EXPECT_EQ(result, ErrorReason::none) << n;
  };
  put(0, 0);
  for (std::uint64_t n = 1; n < 6; ++n) put(n, 1'700'000'000'000'000'000 + n);  // 3 is errored, 4 is vetoed
  const std::array<SkippedImage, 3> dropped{SkippedImage{.index = 6, .decision = Decision::vetoed},
                                            {.index = 7, .decision = Decision::errored},
                                            {.index = 8, .decision = Decision::none}};
  sink.skip(dropped);
  put(10, 1'700'000'000'000'000'010);
  EXPECT_EQ(sink.stats().bytes_written, 5U * kPixels * sizeof(std::uint16_t));
  std::thread closing([&] { sink.close({.expected = 11, .complete = 8, .partial = 2, .missing = 1, .vetoed = 3}); });
  EXPECT_EQ(number_of(client.next(), "series_id"), 7U) << "the number of the run";
  std::vector<std::uint64_t> ids, vetoed, errored;
  std::vector<bool> dated;
  for (int n = 0; n < 5; ++n) {
    const std::string message = client.next();
    EXPECT_EQ(number_of(message, "series_id"), 7U);
    ids.push_back(number_of(message, "image_id").value_or(99));
    vetoed.push_back(number_of(message, "vetoed_before").value_or(99));
    errored.push_back(number_of(message, "errored_before").value_or(99));
    dated.push_back(message.find("series_date") != std::string::npos);
  }
  EXPECT_EQ(ids, (std::vector<std::uint64_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(vetoed, (std::vector<std::uint64_t>{0, 0, 0, 1, 2}));
  EXPECT_EQ(errored, (std::vector<std::uint64_t>{0, 0, 0, 1, 2}));
  EXPECT_EQ(dated, (std::vector<bool>{false, true, true, true, true})) << "the first one has no time";
  const std::string end = client.next();
  closing.join();
  EXPECT_EQ(number_of(end, "images"), 5U);
  EXPECT_EQ(number_of(end, "images_sent"), 5U);
  EXPECT_EQ(number_of(end, "expected"), 11U);
  EXPECT_EQ(number_of(end, "vetoed"), 3U);
}

TEST(Stream2Sink, the_start_comes_before_any_image_and_has_the_number_of_the_run_or_of_its_file) {
  for (const std::uint32_t run : {0U, 1U, 7U}) {
    Stream2Config config = config_of(1);
    config.wait_s = 10;
    config.metadata.run_number = 5;
    Output output = output_of(10);
    output.run = run;
    Stream2Sink sink(config, output);
    Client client(sink.consumers().front().endpoint);
    sink.begin();
    EXPECT_EQ(number_of(client.next(), "series_id"), run == 0 ? 5U : run);
  }
}

TEST(Stream2Sink, who_is_waited_for_gets_the_first_image_too) {
  Stream2Config config = config_of(2);
  config.wait_s = 10;
  Stream2Sink sink(config, output_of(100));
  const auto outlets = sink.consumers();
  Client one(outlets[0].endpoint), other(outlets[1].endpoint);
  sink.begin();
  Images images;
  ErrorReason result{};
  sink.put(images.stack(0), {&result, 1});
  EXPECT_EQ(result, ErrorReason::none);
  for (const ConsumerStatus& consumer : sink.consumers()) EXPECT_EQ(consumer.sent, 1U);
  std::thread closing([&] { sink.close({}); });
  for (Client* client : {&one, &other}) EXPECT_EQ(client->all(), (std::vector<std::string>{"start", "image", "end"}));
  closing.join();
}

TEST(Stream2Sink, the_chunk_of_the_file_is_sent_as_it_is) {
  Output output = output_of(100);
  output.chunks = std::make_shared<ChunkBoard>(100, 1);
  Stream2Config config = config_of(1);
  config.wait_s = 10;
  Stream2Sink sink(config, output);
  Client client(sink.consumers().front().endpoint);
  sink.begin();
  Images images;
  const std::string chunk = "bytes that no compressor makes";
  for (std::uint64_t n = 0; n < 100; ++n) output.chunks->offer(n, std::as_bytes(std::span(chunk)));
  put_until_connected(sink, images);
  EXPECT_EQ(Client::type_of(client.next()), "start");
  EXPECT_TRUE(client.next().ends_with(chunk));
  std::thread closing([&] { sink.close({}); });
  client.all();
  closing.join();
}

TEST(Stream2Sink, the_chunk_of_the_unit_is_sent_as_it_is) {
  Output output = output_of(100);
  output.chunked = true;
  Stream2Config config = config_of(1);
  config.wait_s = 10;
  Stream2Sink sink(config, output);
  Client client(sink.consumers().front().endpoint);
  sink.begin();
  Images images;
  Stack stack = images.stack(3);
  StackImage& image = stack.images[0];
  const std::vector<std::byte> chunk =
      kernel::bitshuffle_lz4::chunk_of_runs({image.pixels, kPixels * sizeof(std::uint16_t)}, sizeof(std::uint16_t));
  image.pixels = nullptr;
  image.chunk = chunk;
  ErrorReason result{};
  sink.put(stack, {&result, 1});
  EXPECT_EQ(result, ErrorReason::none);
  image.chunk = std::span(chunk).first(5);
  sink.put(stack, {&result, 1});
  EXPECT_EQ(result, ErrorReason::storage) << "that is no chunk of such an image";
  EXPECT_EQ(sink.stats().bytes_stored, chunk.size());
  EXPECT_EQ(Client::type_of(client.next()), "start");
  EXPECT_TRUE(client.next().ends_with(std::string(reinterpret_cast<const char*>(chunk.data()), chunk.size())));
  std::thread closing([&] { sink.close({}); });
  client.all();
  closing.join();
}

TEST(Stream2Sink, what_nobody_takes_is_dropped_and_the_run_goes_on) {
  Stream2Sink sink(config_of(2), output_of(10));
  Images images;
  for (std::uint64_t n = 0; n < 4; ++n) {
    ErrorReason result = ErrorReason::none;
    sink.put(images.stack(n), {&result, 1});
    EXPECT_EQ(result, ErrorReason::dropped);
  }
  sink.close({});
  EXPECT_EQ(sink.stats().images_written, 0U);
  for (const ConsumerStatus& one : sink.consumers()) EXPECT_EQ(one.missed, 4U);
}

TEST(Stream2Sink, a_consumer_that_reads_nothing_costs_the_others_nothing) {
  Stream2Sink sink(config_of(2, 4), output_of(2000));
  const auto outlets = sink.consumers();
  Client reading(outlets[0].endpoint);
  Client standing(outlets[1].endpoint, ZMQ_PULL, 1);
  sink.begin();
  Images images;
  std::uint64_t n = put_until_connected(sink, images);
  const std::uint64_t missed_before = sink.consumers()[0].missed;
  // Until both were there, one may have had images that the other one had not.
  const std::uint64_t alone = sink.stats().images_written - sink.consumers()[0].sent;
  std::uint64_t read = 0;
  ErrorReason result{};
  // The one that stands still has room in its sockets: it is full after some megabytes.
  EXPECT_TRUE(eventually(
      [&] {
        for (int i = 0; i < 100; ++i, ++n) {
          sink.put(images.stack(n), {&result, 1});
          while (read < sink.consumers()[0].sent) {
            const std::string message = reading.next();
            if (message.empty()) return true;
            read += Client::type_of(message) == "image" ? 1U : 0U;
          }
        }
        return sink.consumers()[1].missed > 100;
      },
      "the one that stands still is full"));
  const auto after = sink.consumers();
  EXPECT_EQ(after[0].missed, missed_before);
  EXPECT_GT(after[1].missed, 100U);
  EXPECT_EQ(sink.stats().images_written, after[0].sent + alone);
  EXPECT_EQ(after[0].sent, read);
}

TEST(Stream2Sink, who_comes_later_gets_the_start_first) {
  Stream2Sink sink(config_of(1), output_of(1000));
  sink.begin();
  Images images;
  std::uint64_t n = 0;
  {
    Client first(sink.consumers().front().endpoint);
    n = put_until_connected(sink, images);
    EXPECT_EQ(Client::type_of(first.next()), "start");
    EXPECT_EQ(Client::type_of(first.next()), "image");
  }
  ErrorReason result{};
  EXPECT_TRUE(eventually(
      [&] {
        sink.put(images.stack(n++), {&result, 1});
        return sink.consumers().front().connected == 0;
      },
      "the first client has gone"));
  const std::uint64_t sent = sink.consumers().front().sent;
  Client second(sink.consumers().front().endpoint);
  EXPECT_TRUE(eventually(
      [&] {
        sink.put(images.stack(n++), {&result, 1});
        return sink.consumers().front().connected == 1 && sink.consumers().front().sent > sent;
      },
      "the second client has an image"));
  EXPECT_EQ(Client::type_of(second.next()), "start");
  EXPECT_EQ(Client::type_of(second.next()), "image");
}

/// Sends without a pause while the test does something else.
class Sending {
 public:
  explicit Sending(Stream2Sink& sink)
      : thread_([this, &sink](const std::stop_token& stop) {
          ErrorReason result{};
          for (std::uint64_t n = 0; !stop.stop_requested(); ++n) sink.put(images_.stack(n), {&result, 1});
        }) {}

 private:
  Images images_;
  std::jthread thread_;
};

TEST(Stream2Sink, a_process_that_is_killed_costs_images_and_comes_back_with_the_start) {
  Stream2Sink sink(config_of(2), output_of(1 << 30));
  const std::string endpoint = sink.consumers().front().endpoint;
  Client client(endpoint);
  sink.begin();
  const Sending sending(sink);
  for (std::uint64_t deaths = 1; deaths <= 3; ++deaths) {
    while (Client::type_of(client.next()) != "start") {
    }
    EXPECT_EQ(Client::type_of(client.next()), "image");
    ASSERT_EQ(::kill(sink.process().pid(), SIGKILL), 0);
    EXPECT_EVENTUALLY(sink.restarts() == deaths);
  }
  while (Client::type_of(client.next()) != "start") {
  }
  EXPECT_EQ(Client::type_of(client.next()), "image");
  EXPECT_EQ(sink.consumers().front().endpoint, endpoint);
}

class EachPattern : public testing::TestWithParam<stream2::Pattern> {};

TEST_P(EachPattern, whoever_comes_gets_the_start_first_while_others_come_and_go) {
  const int type = GetParam() == stream2::Pattern::push ? ZMQ_PULL : ZMQ_SUB;
  Stream2Sink sink(config_of(1, 256, GetParam()), output_of(1 << 30));
  const std::string endpoint = sink.consumers().front().endpoint;
  sink.begin();
  const Sending sending(sink);
  auto before = std::make_unique<Client>(endpoint, type);
  for (int n = 0; n < 200; ++n) {
    if (n % 2 == 0) before.reset();  // gone when the next one comes, or just going
    auto next = std::make_unique<Client>(endpoint, type);
    ASSERT_EQ(Client::type_of(next->next()), "start") << n;
    before = std::move(next);
  }
}

INSTANTIATE_TEST_SUITE_P(Stream2Sink, EachPattern, testing::Values(stream2::Pattern::push, stream2::Pattern::pub));

TEST(Stream2Sink, of_pub_every_consumer_of_one_port_gets_every_image) {
  Stream2Sink sink(config_of(1, 256, stream2::Pattern::pub), output_of(1000));
  const std::string endpoint = sink.consumers().front().endpoint;
  Client one(endpoint, ZMQ_SUB), other(endpoint, ZMQ_SUB);
  sink.begin();
  Images images;
  std::uint64_t n = 0;
  ErrorReason result{};
  EXPECT_TRUE(eventually(
      [&] {
        sink.put(images.stack(n++), {&result, 1});
        return sink.consumers().front().connected == 2;
      },
      "both are connected"));
  for (std::uint64_t end = n + 10; n < end; ++n) sink.put(images.stack(n), {&result, 1});
  std::thread closing([&] { sink.close({}); });
  for (Client* client : {&one, &other}) {
    const std::vector<std::string> types = client->all();
    EXPECT_EQ(types.front(), "start");
    EXPECT_EQ(types.back(), "end");
    EXPECT_GE(std::count(types.begin(), types.end(), "image"), 8);
  }
  closing.join();
}

TEST(Stream2Sink, the_end_is_sent_when_the_run_is_left_early) {
  std::optional<Stream2Sink> sink;
  sink.emplace(config_of(1), output_of(100));
  Client client(sink->consumers().front().endpoint);
  sink->begin();
  Images images;
  put_until_connected(*sink, images);
  std::thread leaving([&] { sink.reset(); });
  EXPECT_EQ(client.all().back(), "end");
  leaving.join();
}

TEST(Stream2Sink, a_process_that_stands_still_is_waited_for_once) {
  Stream2Sink sink(config_of(1), output_of(1 << 20));
  Client client(sink.consumers().front().endpoint);
  sink.begin();
  Images images;
  std::uint64_t n = put_until_connected(sink, images);
  const std::uint64_t sent = sink.consumers().front().sent;
  const std::uint64_t missed = sink.consumers().front().missed;
  const int pid = sink.process().pid();
  ASSERT_EQ(::kill(pid, SIGSTOP), 0);
  constexpr std::uint64_t kImages = 500;
  const auto begun = std::chrono::steady_clock::now();
  ErrorReason result{};
  std::uint64_t accepted = 0;
  for (std::uint64_t i = 0; i < kImages; ++i, ++n) {
    result = ErrorReason::none;
    sink.put(images.stack(n), {&result, 1});
    if (n % 5 == 4) continue;
    EXPECT_EQ(result, ErrorReason::dropped);
    ++accepted;
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(5));
  EXPECT_EQ(sink.consumers().front().sent, sent);
  EXPECT_EQ(sink.consumers().front().missed, missed + accepted);
  ASSERT_EQ(::kill(pid, SIGCONT), 0);
  EXPECT_EVENTUALLY((sink.put(images.stack(n++), {&result, 1}), sink.consumers().front().sent > sent));
  EXPECT_EQ(sink.restarts(), 0U);
}

TEST(Stream2Sink, what_cannot_be_is_refused_before_the_run) {
  Output lists = output_of(10);
  lists.sparse = true;
  EXPECT_THROW(Stream2Sink(config_of(1), lists), ConfigError);
  for (const char* endpoint : {"nothing", "tcp://127.0.0.1", "tcp://127.0.0.1:65536", "tcp://203.0.113.1:31001"}) {
    Stream2Config config = config_of(1);
    config.endpoint = endpoint;
    EXPECT_THROW(Stream2Sink(config, output_of(10)), ConfigError) << endpoint;
  }
  Stream2Config many = config_of(10);
  many.endpoint = "tcp://127.0.0.1:65530";
  EXPECT_THROW(Stream2Sink(many, output_of(10)), ConfigError);
}

}  // namespace
}  // namespace rashpa::sink
