// SPDX-License-Identifier: Apache-2.0
#include <sys/socket.h>

#include <atomic>
#include <thread>
#include <vector>

#include "rashpa/link/bench/peers.hpp"
#include "rashpa/link/roce/sockets/udp_socket.hpp"
#include "rashpa/link/testing.hpp"
#include "rashpa/memory/cpu_set.hpp"

namespace rashpa::link::bench {

namespace {

constexpr std::size_t kBatch = 64;
constexpr std::uint64_t kWindow = 256;  // datagrams in flight; they fit the socket's buffer

struct Batch {
  explicit Batch(std::uint32_t bytes) : pixels(kBatch * bytes), pieces(kBatch), messages(kBatch) {
    for (std::size_t i = 0; i < kBatch; ++i) {
      pieces[i] = {pixels.data() + i * bytes, bytes};
      messages[i].msg_hdr.msg_iov = &pieces[i];
      messages[i].msg_hdr.msg_iovlen = 1;
    }
  }
  std::vector<std::byte> pixels;
  std::vector<iovec> pieces;
  std::vector<mmsghdr> messages;
};

}  // namespace

Result run_udp(const Load& load) {
  roce::UdpSocket in(false);
  in.set_buffers(load.roce.socket_buffer);
  in.bind(wire::Address("127.0.0.1", 0));
  wire::Address to = in.local();
  roce::UdpSocket out(false);
  out.set_buffers(load.roce.socket_buffer);
  out.bind(wire::Address("127.0.0.1", 0));
  wire::Address back = out.local();
  std::atomic<std::uint64_t> sent{0};
  std::atomic<bool> stop{false};
  std::jthread source([&] {
    memory::place_this_thread("bench-source", load.source_processor);
    std::vector<std::byte> pixels(8U << 20);
    testing::fill(pixels, 42);
    Batch batch(load.line_bytes);
    const std::size_t lines = pixels.size() / load.line_bytes;
    std::uint64_t count = 0;
    std::uint64_t received = 0;
    while (!stop) {
      if (count - received > kWindow - kBatch) {
        recv(out.fd(), &received, sizeof received, MSG_DONTWAIT);
        continue;
      }
      for (std::size_t i = 0; i < kBatch; ++i) {
        batch.pieces[i].iov_base = pixels.data() + ((count + i) % lines) * load.line_bytes;
        batch.messages[i].msg_hdr.msg_name = to.get();
        batch.messages[i].msg_hdr.msg_namelen = to.bytes();
      }
      const int done = sendmmsg(out.fd(), batch.messages.data(), kBatch, MSG_DONTWAIT);
      if (done > 0) count += static_cast<std::uint64_t>(done);
      sent.store(count, std::memory_order_release);
    }
  });
  Result result;
  std::jthread sink([&] {
    memory::place_this_thread("bench-sink", load.destination_processor);
    Batch batch(load.line_bytes);
    const std::int64_t start = now_ns();
    std::int64_t now = start;
    std::uint64_t lines = 0;
    while (static_cast<double>(now - start) < load.seconds * 1e9) {
      const int count = recvmmsg(in.fd(), batch.messages.data(), kBatch, MSG_DONTWAIT, nullptr);
      if (count > 0) {
        lines += static_cast<std::uint64_t>(count);
        sendto(in.fd(), &lines, sizeof lines, MSG_DONTWAIT, back.get(), back.bytes());
      }
      now = now_ns();
    }
    result.gigabits_per_s = static_cast<double>(lines * load.line_bytes) * 8 / static_cast<double>(now - start);
    stop = true;
    source.join();
    // What is still in the socket belongs to the books.
    for (int count = 1; count > 0;) {
      count = recvmmsg(in.fd(), batch.messages.data(), kBatch, MSG_DONTWAIT, nullptr);
      if (count > 0) lines += static_cast<std::uint64_t>(count);
    }
    result.lines = lines;
  });
  sink.join();
  result.lost = sent - result.lines;
  return result;
}

}  // namespace rashpa::link::bench
