// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Consumers of a stream, and images for it, for tests.
#include <gtest/gtest.h>
#include <zmq.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rashpa/core/testing/testing.hpp"
#include "rashpa/sink/stream2/stream2_sink.hpp"

namespace rashpa::sink {

inline constexpr std::uint32_t kWidth = 64, kHeight = 40;
inline constexpr std::size_t kPixels = std::size_t{kWidth} * kHeight;

inline Output output_of(std::uint64_t images) {
  return {.buffer = "full",
          .run = 7,
          .width = kWidth,
          .height = kHeight,
          .pixel = PixelType::u16,
          .stack = 1,
          .images = images};
}

inline Stream2Config config_of(std::uint32_t outlets, std::uint32_t waiting = 256,
                               stream2::Pattern pattern = stream2::Pattern::push) {
  return {.endpoint = "tcp://127.0.0.1:0", .outlets = outlets, .pattern = pattern, .waiting = waiting};
}

/// Stacks of one image whose pixels follow from the stack's number; each fifth image is vetoed.
class Images {
 public:
  const Stack& stack(std::uint64_t n) {
    for (std::size_t i = 0; i < kPixels; ++i) pixels_[i] = static_cast<std::uint16_t>(n * i % 251);
    stack_.number = n;
    stack_.count = 1;
    stack_.images.resize(1);
    StackImage& image = stack_.images[0];
    image.index = n;
    image.frame_number = 100 + n;
    image.completeness = Completeness::complete;
    image.decision = n % 5 == 4 ? Decision::vetoed : Decision::accepted;
    image.pixels = reinterpret_cast<const std::byte*>(pixels_.data());
    return stack_;
  }

 private:
  std::vector<std::uint16_t> pixels_ = std::vector<std::uint16_t>(kPixels);
  Stack stack_;
};

/// A consumer of one outlet.
class Client {
 public:
  explicit Client(const std::string& endpoint, int type = ZMQ_PULL, int room = 0)
      : socket_(zmq_socket(context_, type)) {
    const int timeout_ms = 10'000, none = 0;
    zmq_setsockopt(socket_, ZMQ_RCVTIMEO, &timeout_ms, sizeof timeout_ms);
    zmq_setsockopt(socket_, ZMQ_LINGER, &none, sizeof none);
    zmq_setsockopt(socket_, ZMQ_RCVHWM, &room, sizeof room);
    if (type == ZMQ_SUB) zmq_setsockopt(socket_, ZMQ_SUBSCRIBE, "", 0);
    EXPECT_EQ(zmq_connect(socket_, endpoint.c_str()), 0);
  }
  ~Client() {
    zmq_close(socket_);
    zmq_ctx_term(context_);
  }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  std::string next() {
    zmq_msg_t message;
    zmq_msg_init(&message);
    std::string text;
    if (zmq_msg_recv(&message, socket_, 0) >= 0)
      text.assign(static_cast<const char*>(zmq_msg_data(&message)), zmq_msg_size(&message));
    zmq_msg_close(&message);
    return text;
  }
  /// Returns the begin of each message up to the end message.
  std::vector<std::string> all() {
    std::vector<std::string> types;
    for (std::string message = next(); !message.empty(); message = next()) {
      types.push_back(type_of(message));
      if (types.back() == "end") break;
    }
    return types;
  }
  static std::string type_of(const std::string& message) {
    for (const char* type : {"start", "image", "end"}) {
      if (message.substr(0, 16).find(type) != std::string::npos) return type;
    }
    return "nothing";
  }

 private:
  void* context_ = zmq_ctx_new();
  void* socket_;
};

/// Puts images until each outlet has sent one, which shows that all are connected. Returns the number of the next
/// image.
inline std::uint64_t put_until_connected(Stream2Sink& sink, Images& images) {
  std::uint64_t n = 0;
  ErrorReason result{};
  EXPECT_TRUE(eventually(
      [&] {
        sink.put(images.stack(n++), {&result, 1});
        const auto all = sink.consumers();
        return std::all_of(all.begin(), all.end(), [](const ConsumerStatus& one) { return one.sent > 0; });
      },
      "each outlet has sent an image"));
  return n;
}

/// Returns the number after a key of a CBOR message; nothing: there is no such key. `skip` is the number of bytes in
/// between.
inline std::optional<std::uint64_t> number_of(const std::string& message, const std::string& key,
                                              std::size_t skip = 0) {
  const std::size_t found = message.find(static_cast<char>(0x60 + key.size()) + key);  // less than 24 letters
  if (found == std::string::npos) return std::nullopt;
  std::size_t at = found + 1 + key.size() + skip;
  const auto byte = [&] { return static_cast<std::uint64_t>(static_cast<unsigned char>(message.at(at++))); };
  const std::uint64_t first = byte();
  if (first < 24) return first;
  std::uint64_t value = 0;
  for (std::uint64_t left = 1ULL << (first - 24); left > 0; --left) value = value << 8U | byte();
  return value;
}

}  // namespace rashpa::sink
