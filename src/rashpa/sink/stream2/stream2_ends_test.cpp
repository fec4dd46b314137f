// SPDX-License-Identifier: Apache-2.0
/// The begin and the end of a stream, the texts of its series, and the fate of single images.
#include <gtest/gtest.h>
#include <zmq.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <regex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "rashpa/core/numbers/checksum.hpp"
#include "rashpa/core/testing/testing.hpp"
#include "rashpa/kernel/bitshuffle_lz4/bitshuffle_lz4.hpp"
#include "rashpa/sink/stream2/stream2_sink.hpp"
#include "rashpa/sink/stream2/stream2_testing.hpp"

namespace rashpa::sink {
namespace {

using Types = std::vector<std::string>;
constexpr double kLongS = 60;  // until consumers are there

/// A sink whose one consumer is there from the first image on.
class Stream {
 public:
  explicit Stream(const Output& output = output_of(100), const NxmxMetadata& metadata = {})
      : sink({.endpoint = "tcp://127.0.0.1:0", .wait_s = kLongS, .metadata = metadata}, output),
        client(sink.consumers().front().endpoint) {
    sink.begin();
  }
  ErrorReason put(const Stack& stack) {
    ErrorReason result{};
    sink.put(stack, {&result, 1});
    return result;
  }
  /// The messages that have not been read, the end among them.
  std::vector<std::string> rest() {
    std::vector<std::string> messages;
    std::thread closing([this] { sink.close({}); });
    do {
      messages.push_back(client.next());
    } while (Client::type_of(messages.back()) == "start" || Client::type_of(messages.back()) == "image");
    closing.join();
    return messages;
  }
  Stream2Sink sink;
  Client client;
  Images images;
};

bool is_connected(const Stream2Sink& sink, std::size_t outlet) { return sink.consumers()[outlet].connected == 1; }

/// A part of a message that matches; nothing where there is none.
std::string found_in(const std::string& message, const char* expression) {
  std::smatch match;
  return std::regex_search(message, match, std::regex(expression)) ? match[1].str() : "";
}

TEST(Stream2Series, has_an_id_of_its_own_in_all_messages_and_the_time_of_its_start) {
  std::set<std::string> ids;
  for (int n = 0; n < 2; ++n) {
    Stream stream;
    EXPECT_EQ(stream.put(stream.images.stack(0)), ErrorReason::none);
    const std::vector<std::string> messages = stream.rest();
    ASSERT_EQ(messages.size(), 3U);
    const std::string id = found_in(messages[0], "series_unique_id\x78\x1A([0-9A-Z]{26})");
    EXPECT_NE(id, "");
    for (const std::string& message : messages) EXPECT_NE(message.find(id), std::string::npos);
    ids.insert(id);
    EXPECT_NE(found_in(messages[0], "arm_date.{1,4}(20\\d\\d-\\d\\d-\\d\\dT\\d\\d:\\d\\d)"), "");
  }
  EXPECT_EQ(ids.size(), 2U);
}

TEST(Stream2Series, times_of_images_count_from_the_first_that_has_one) {
  Stream stream;
  constexpr std::uint64_t kFirst = 1'700'000'000'000'000'000;
  const std::array<std::uint64_t, 4> times{0, kFirst, kFirst + 4, kFirst + 9};
  for (std::uint64_t n = 0; n < times.size(); ++n) {
    Stack stack = stream.images.stack(n);
    stack.images[0].timestamp_ns = times[n];
    EXPECT_EQ(stream.put(stack), ErrorReason::none);
  }
  std::vector<std::optional<std::uint64_t>> told;
  std::set<std::string> dates;
  for (const std::string& message : stream.rest()) {
    if (Client::type_of(message) != "image") continue;
    told.push_back(number_of(message, "start_time", 1));
    dates.insert(found_in(message, "series_date.{1,4}(20\\d\\d-\\d\\d-\\d\\dT\\d\\d:\\d\\d)"));
  }
  EXPECT_EQ(told, (std::vector<std::optional<std::uint64_t>>{std::nullopt, 0, 4, 9}));
  EXPECT_EQ(dates, (std::set<std::string>{"", "2023-11-14T22:12"})) << "TAI is 37 s before";
}

TEST(Stream2Series, a_mask_that_does_not_compress_has_room_in_the_start) {
  Output output = output_of(10);
  output.width = 4096;
  output.height = 2200;
  NxmxMetadata metadata;
  std::mt19937 random(1);
  metadata.pixel_mask.resize(std::size_t{output.width} * output.height);
  for (std::uint32_t& pixel : metadata.pixel_mask) pixel = static_cast<std::uint32_t>(random());
  Stream stream(output, metadata);
  const std::vector<std::string> messages = stream.rest();
  ASSERT_EQ(messages.size(), 2U);
  EXPECT_EQ(Client::type_of(messages[0]), "start");
  EXPECT_GT(messages[0].size(), 4 * metadata.pixel_mask.size());
}

TEST(Stream2Begin, waits_as_long_as_it_is_told_where_any_outlet_has_nobody) {
  for (const std::size_t there : {0U, 1U}) {
    Stream2Config config = config_of(2);
    config.wait_s = 0.2;
    Stream2Sink sink(config, output_of(10));
    ASSERT_EQ(sink.consumers().size(), 2U);
    Client client(sink.consumers()[there].endpoint);
    ASSERT_EVENTUALLY(is_connected(sink, there));
    const auto begun = std::chrono::steady_clock::now();
    sink.begin();
    EXPECT_GE(std::chrono::steady_clock::now() - begun, std::chrono::milliseconds(200)) << there;
  }
}

TEST(Stream2Begin, waits_no_longer_when_all_are_there) {
  Stream2Config config = config_of(2);
  config.wait_s = 3600;
  Stream2Sink sink(config, output_of(10));
  Client one(sink.consumers()[0].endpoint), other(sink.consumers()[1].endpoint);
  sink.begin();
  EXPECT_TRUE(is_connected(sink, 0) && is_connected(sink, 1));
}

TEST(Stream2Begin, waits_once_and_not_for_consumers_that_leave) {
  Stream2Config config = config_of(1);
  config.wait_s = 3600;
  Stream2Sink sink(config, output_of(10));
  {
    const Client client(sink.consumers()[0].endpoint);
    sink.begin();
  }
  ASSERT_EVENTUALLY(sink.consumers()[0].connected == 0);
  Images images;
  ErrorReason result{};
  sink.put(images.stack(0), {&result, 1});  // returns
  EXPECT_EQ(result, ErrorReason::dropped);
}

/// Reports one image as overwritten.
struct OneGone final : SlotGuard {
  [[nodiscard]] bool overwritten(const StackImage& image) const noexcept override { return image.index == 1; }
};

TEST(Stream2Images, behind_the_end_of_a_stack_none_is_sent) {
  Stream stream;
  Stack stack = stream.images.stack(0);
  stack.images.push_back(stack.images[0]);
  std::array<ErrorReason, 2> results{ErrorReason::none, ErrorReason::unit};
  stream.sink.put(stack, results);
  EXPECT_EQ(results, (std::array<ErrorReason, 2>{ErrorReason::none, ErrorReason::unit}));
  EXPECT_EQ(stream.rest().size(), 3U);
}

TEST(Stream2Images, that_are_gone_or_have_no_pixels_are_missed_and_said) {
  Stream stream;
  const OneGone guard;
  for (std::uint64_t n = 0; n < 3; ++n) {
    Stack stack = stream.images.stack(n);
    StackImage& image = stack.images[0];
    image.raw = const_cast<std::byte*>(image.pixels);  // it lies in its slot
    stack.guard = &guard;
    if (n == 2) image.raw = nullptr;
    if (n == 2) image.pixels = nullptr;
    EXPECT_EQ(stream.put(stack), n == 0 ? ErrorReason::none : n == 1 ? ErrorReason::overwritten : ErrorReason::storage);
  }
  EXPECT_EQ(stream.sink.consumers().front().missed, 2U);
  EXPECT_EQ(stream.sink.stats().images_written, 1U);
  EXPECT_EQ(stream.rest().size(), 3U);
}

TEST(Stream2Images, in_memory_that_others_can_write_are_copied_and_compared) {
  Stream stream;
  Stack stack = stream.images.stack(3);
  StackImage& image = stack.images[0];
  const std::span<const std::byte> pixels(image.pixels, kPixels * sizeof(std::uint16_t));
  std::vector<std::byte> chunk(kernel::bitshuffle_lz4::compressed_bound(pixels.size(), sizeof(std::uint16_t)));
  chunk.resize(kernel::bitshuffle_lz4::Compressor(sizeof(std::uint16_t)).compress(pixels, chunk));
  PayloadSum sum{.pitch = kWidth * sizeof(std::uint16_t),
                 .line_bytes = kWidth * sizeof(std::uint16_t),
                 .lines = kHeight,
                 .crc32c = crc32c(pixels),
                 .known = true,
                 .compared = true};
  const OneGone guard;
  image.raw = const_cast<std::byte*>(image.pixels);
  image.sums = {&sum, 1};
  stack.guard = &guard;
  EXPECT_EQ(stream.put(stack), ErrorReason::none);
  sum.crc32c += 1;
  EXPECT_EQ(stream.put(stack), ErrorReason::overwritten);
  EXPECT_EQ(stream.sink.stats().bytes_stored, chunk.size());
  const std::vector<std::string> messages = stream.rest();
  ASSERT_EQ(messages.size(), 3U);
  EXPECT_TRUE(messages[1].ends_with(std::string(reinterpret_cast<const char*>(chunk.data()), chunk.size())));
}

TEST(Stream2End, of_a_run_without_images_follows_the_start) {
  Stream2Config config = config_of(1);
  config.wait_s = kLongS;
  Stream2Sink sink(config, output_of(10));
  Client client(sink.consumers().front().endpoint);
  std::thread closing([&] { sink.close({}); });  // which nobody has begun
  const std::string start = client.next();
  EXPECT_EQ(Client::type_of(start), "start");
  EXPECT_NE(found_in(start, "arm_date.{1,4}(20\\d\\d)"), "");
  EXPECT_EQ(client.all(), Types{"end"});
  closing.join();
}

TEST(Stream2End, comes_behind_a_start_when_the_process_has_died_before) {
  Stream stream;
  EXPECT_EQ(Client::type_of(stream.client.next()), "start");
  ASSERT_EQ(::kill(stream.sink.process().pid(), SIGKILL), 0);
  ASSERT_EVENTUALLY(stream.sink.restarts() == 1);
  ASSERT_EVENTUALLY(is_connected(stream.sink, 0));
  Types types;
  for (const std::string& message : stream.rest()) types.push_back(Client::type_of(message));
  EXPECT_EQ(types, (Types{"start", "end"}));
}

/// Puts images until more than a hundred find no room at a consumer that reads nothing.
void fill_up(Stream2Sink& sink) {
  Images images;
  std::uint64_t n = 0;
  ErrorReason result{};
  ASSERT_EVENTUALLY((sink.put(images.stack(n++), {&result, 1}), sink.consumers().front().missed > 100));
}

TEST(Stream2End, is_kept_until_a_consumer_has_room_for_it) {
  Stream2Config config = config_of(1, 4);
  config.wait_s = kLongS;
  Stream2Sink sink(config, output_of(1 << 20));
  Client client(sink.consumers().front().endpoint, ZMQ_PULL, 1);
  sink.begin();
  fill_up(sink);
  std::thread closing([&] { sink.close({}); });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));  // wait: until the queue was found full
  EXPECT_EQ(client.all().back(), "end");
  closing.join();
}

TEST(Stream2End, of_a_consumer_that_reads_nothing_is_given_up) {
  Stream2Config config = config_of(1, 4);
  config.wait_s = kLongS;
  Stream2Sink sink(config, output_of(1 << 20));
  const Client client(sink.consumers().front().endpoint, ZMQ_PULL, 1);
  sink.begin();
  fill_up(sink);
  sink.close({});  // returns
  EXPECT_GT(sink.consumers().front().missed, 100U);
}

}  // namespace
}  // namespace rashpa::sink
