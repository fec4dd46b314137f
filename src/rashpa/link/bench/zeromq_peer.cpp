#include "rashpa/link/bench/peers.hpp"

#if RASHPA_HAVE_ZMQ
#include <zmq.h>

#include <atomic>
#include <thread>
#include <vector>

#include "rashpa/core/error.hpp"
#include "rashpa/link/testing.hpp"
#include "rashpa/memory/cpu_set.hpp"

namespace rashpa::link::bench {

namespace {
void require(bool ok, const char* what) {
  if (!ok) throw ResourceError(std::string("zeromq: ") + what + ": " + zmq_strerror(zmq_errno()));
}
}  // namespace

Result run_zeromq(const Load& load) {
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
    std::vector<std::byte> pixels(8U << 20);
    testing::fill(pixels, 42);
    void* const push = zmq_socket(source_context, ZMQ_PUSH);
    require(zmq_connect(push, endpoint) == 0, "connect");
    const std::size_t lines = pixels.size() / load.line_bytes;
    const std::int64_t end = now_ns() + static_cast<std::int64_t>(load.seconds * 1e9);
    std::uint64_t count = 0;
    while (now_ns() < end) {
      for (int i = 0; i < 64; ++i, ++count) {
        zmq_send(push, pixels.data() + (count % lines) * load.line_bytes, load.line_bytes, 0);
      }
    }
    sent = count;
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
      result.lines += zmq_msg_size(&message) == load.line_bytes ? 1U : 0U;
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

}  // namespace rashpa::link::bench
#else
namespace rashpa::link::bench {
Result run_zeromq(const Load&) { return {0, 0, 0, "built without libzmq"}; }
}  // namespace rashpa::link::bench
#endif
