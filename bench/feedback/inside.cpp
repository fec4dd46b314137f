// SPDX-License-Identifier: Apache-2.0
#include "inside.hpp"

#include <zmq.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <exception>
#include <span>

#include "rashpa/core/error.hpp"
#include "rashpa/feedback/ring_reader.hpp"

namespace rashpa::bench {

InsidePublisher::InsidePublisher(const std::string& ring)
    : context_(zmq_ctx_new()), socket_(zmq_socket(context_, ZMQ_PUB)) {
  const int room = 4096;
  zmq_setsockopt(socket_, ZMQ_SNDHWM, &room, sizeof room);
  std::array<char, 128> endpoint{};
  std::size_t size = endpoint.size();
  if (zmq_bind(socket_, "tcp://127.0.0.1:*") != 0 ||
      zmq_getsockopt(socket_, ZMQ_LAST_ENDPOINT, endpoint.data(), &size) != 0) {
    throw ResourceError("feedback_bench: no port");
  }
  endpoint_ = endpoint.data();
  thread_ = std::thread([this, ring] { forward(ring); });
}

InsidePublisher::~InsidePublisher() {
  thread_.join();
  zmq_close(socket_);
  zmq_ctx_term(context_);
}

void InsidePublisher::forward(const std::string& ring) noexcept {
  try {
    feedback::RingReader reader(ring, feedback::Begin::oldest);
    for (;;) {
      const feedback::Got got = reader.next(std::chrono::seconds(1), feedback::Wait::sleep);
      if (got == feedback::Got::nothing) continue;
      const auto record = got == feedback::Got::ended ? std::span<const std::uint64_t>{} : reader.record();
      zmq_send(socket_, "full", 4, ZMQ_SNDMORE);
      zmq_send(socket_, "{}", 2, ZMQ_SNDMORE);
      zmq_send(socket_, record.data(), record.size_bytes(), 0);
      if (got == feedback::Got::ended) return;
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
  }
}

}  // namespace rashpa::bench
