// SPDX-License-Identifier: Apache-2.0
#include "peers.hpp"

#if RASHPA_HAVE_ZMQ
#include <zmq.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "rashpa/core/error.hpp"
#include "rashpa/link/testing/testing.hpp"
#include "rashpa/memory/cpu_set.hpp"

namespace rashpa::link::bench {

namespace {
void require(bool ok, const char* what) {
  if (!ok) throw ResourceError(std::string("zeromq: ") + what + ": " + zmq_strerror(zmq_errno()));
}
constexpr std::uint32_t kLinesOfImage = 256;

/// `lines_each`: lines a message.
Result run_messages(const Load& load, std::uint32_t lines_each) {
  const std::size_t message_bytes = std::size_t{lines_each} * load.line_bytes;
  void* const source_context = zmq_ctx_new();
  void* const context = zmq_ctx_new();
  void* const pull = zmq_socket(context, ZMQ_PULL);
  require(zmq_bind(pull, "tcp://127.0.0.1:*") == 0, "bind");
  char endpoint[256];
  std::size_t size = sizeof endpoint;
  require(zmq_getsockopt(pull, ZMQ_LAST_ENDPOINT, endpoint, &size) == 0, "endpoint");
  const int timeout_ms = 500;
  require(zmq_setsockopt(pull, ZMQ_RCVTIMEO, &timeout_ms, sizeof timeout_ms) == 0, "timeout");

  std::atomic<std::uint64_t> sent{0};
  std::jthread thread([&] {
    memory::place_this_thread("bench-source", load.source_processor);
    std::vector<std::byte> pixels(std::max<std::size_t>(8U << 20, message_bytes));
    testing::fill(pixels, 42);
    void* const push = zmq_socket(source_context, ZMQ_PUSH);
    require(zmq_connect(push, endpoint) == 0, "connect");
    const std::size_t places = pixels.size() / message_bytes;
    const int at_once = lines_each == 1 ? 64 : 1;  // between looks at the clock
    const std::int64_t end = now_ns() + static_cast<std::int64_t>(load.seconds * 1e9);
    std::uint64_t count = 0;
    while (now_ns() < end) {
      for (int i = 0; i < at_once; ++i, ++count) {
        zmq_send(push, pixels.data() + (count % places) * message_bytes, message_bytes, 0);
      }
    }
    sent = count * lines_each;
    zmq_close(push);
  });
  std::jthread receiver;
  Result result;
  receiver = std::jthread([&] {
    memory::place_this_thread("bench-sink", load.destination_processor);
    const std::int64_t start = now_ns();
    std::int64_t last = start;
    zmq_msg_t message;
    zmq_msg_init(&message);
    while (zmq_msg_recv(&message, pull, 0) >= 0) {
      result.lines += zmq_msg_size(&message) == message_bytes ? lines_each : 0U;
      if (result.lines % 64 == 0) last = now_ns();
    }
    zmq_msg_close(&message);
    result.gigabits_per_s = static_cast<double>(result.lines * load.line_bytes) * 8 / static_cast<double>(last - start);
  });
  thread.join();
  receiver.join();
  result.lost = sent - result.lines;
  zmq_close(pull);
  zmq_ctx_term(source_context);
  zmq_ctx_term(context);
  return result;
}

}  // namespace

Result run_zeromq(const Load& load) { return run_messages(load, 1); }
Result run_zeromq_images(const Load& load) { return run_messages(load, kLinesOfImage); }

}  // namespace rashpa::link::bench
#else
namespace rashpa::link::bench {
Result run_zeromq(const Load&) { return {0, 0, 0, "built without libzmq"}; }
Result run_zeromq_images(const Load& load) { return run_zeromq(load); }
}  // namespace rashpa::link::bench
#endif
