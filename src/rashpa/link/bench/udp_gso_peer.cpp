// SPDX-License-Identifier: Apache-2.0
#include <netinet/udp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "rashpa/core/clock.hpp"
#include "rashpa/link/bench/peers.hpp"
#include "rashpa/link/roce/sockets/udp_socket.hpp"
#include "rashpa/link/testing.hpp"
#include "rashpa/memory/cpu_set.hpp"

namespace rashpa::link::bench {

namespace {

constexpr std::size_t kMostBytes = 65'507;  // of a datagram before it is cut
constexpr std::size_t kMostSegments = 64;
constexpr std::size_t kBatch = 8;  // long datagrams a call

/// Long datagrams with the control message that has the system cut them into lines.
class Sends {
 public:
  Sends(std::uint32_t line_bytes, std::size_t lines_each, wire::Address& to) : line_bytes_(line_bytes) {
    for (std::size_t i = 0; i < kBatch; ++i) {
      pieces_[i].iov_len = lines_each * line_bytes;
      msghdr& header = messages_[i].msg_hdr;
      header.msg_name = to.get();
      header.msg_namelen = to.bytes();
      header.msg_iov = &pieces_[i];
      header.msg_iovlen = 1;
      header.msg_control = controls_[i].data();
      header.msg_controllen = controls_[i].size();
      cmsghdr* const control = CMSG_FIRSTHDR(&header);
      control->cmsg_level = SOL_UDP;
      control->cmsg_type = UDP_SEGMENT;
      control->cmsg_len = CMSG_LEN(sizeof(std::uint16_t));
      const auto segment = static_cast<std::uint16_t>(line_bytes);
      std::memcpy(CMSG_DATA(control), &segment, sizeof segment);
    }
  }
  /// How many long datagrams were taken; `first`: where the pixels of each begin.
  std::size_t send(int socket, const std::array<std::byte*, kBatch>& first) noexcept {
    for (std::size_t i = 0; i < kBatch; ++i) pieces_[i].iov_base = first[i];
    const int done = sendmmsg(socket, messages_.data(), kBatch, MSG_DONTWAIT);
    return done > 0 ? static_cast<std::size_t>(done) : 0;
  }

 private:
  std::uint32_t line_bytes_;
  std::array<iovec, kBatch> pieces_{};
  std::array<mmsghdr, kBatch> messages_{};
  std::array<std::array<char, CMSG_SPACE(sizeof(std::uint16_t))>, kBatch> controls_{};
};

/// Takes merged datagrams.
class Takes {
 public:
  explicit Takes(std::uint32_t line_bytes) : line_bytes_(line_bytes), pixels_(kBatch << 16U) {
    for (std::size_t i = 0; i < kBatch; ++i) {
      pieces_[i] = {pixels_.data() + (i << 16U), std::size_t{1} << 16U};
      messages_[i].msg_hdr.msg_iov = &pieces_[i];
      messages_[i].msg_hdr.msg_iovlen = 1;
    }
  }
  /// Lines that came.
  std::uint64_t take(int socket) noexcept {
    const int count = recvmmsg(socket, messages_.data(), kBatch, MSG_DONTWAIT, nullptr);
    std::uint64_t lines = 0;
    for (int i = 0; i < count; ++i) lines += messages_[static_cast<std::size_t>(i)].msg_len / line_bytes_;
    return lines;
  }

 private:
  std::uint32_t line_bytes_;
  std::vector<std::byte> pixels_;
  std::array<iovec, kBatch> pieces_{};
  std::array<mmsghdr, kBatch> messages_{};
};

}  // namespace

Result run_udp_gso(const Load& load) {
  roce::UdpSocket in(false);
  in.set_buffers(load.roce.socket_buffer);
  in.bind(wire::Address("127.0.0.1", 0));
  wire::Address to = in.local();
  roce::UdpSocket out(false);
  out.set_buffers(load.roce.socket_buffer);
  out.bind(wire::Address("127.0.0.1", 0));
  wire::Address back = out.local();
  if (!in.enable_gro() || !out.can_gso()) return {0, 0, 0, "this system cannot cut or merge datagrams"};
  const std::size_t lines_each = std::clamp<std::size_t>(kMostBytes / load.line_bytes, 1, kMostSegments);
  const std::uint64_t window = 4 * kBatch * lines_each;  // lines in flight
  std::atomic<std::uint64_t> sent{0};
  std::atomic<bool> stop{false};
  std::jthread source([&] {
    memory::place_this_thread("bench-source", load.source_processor);
    std::vector<std::byte> pixels(8U << 20);
    testing::fill(pixels, 42);
    Sends sends(load.line_bytes, lines_each, to);
    const std::size_t long_bytes = lines_each * load.line_bytes;
    const std::size_t places = pixels.size() / long_bytes;
    std::array<std::byte*, kBatch> first{};
    std::uint64_t count = 0;
    std::uint64_t received = 0;
    while (!stop) {
      if ((count * lines_each) - received > window - kBatch * lines_each) {
        recv(out.fd(), &received, sizeof received, MSG_DONTWAIT);
        continue;
      }
      for (std::size_t i = 0; i < kBatch; ++i) first[i] = pixels.data() + (count + i) % places * long_bytes;
      count += sends.send(out.fd(), first);
      sent.store(count * lines_each, std::memory_order_release);
    }
  });
  Result result;
  std::jthread sink([&] {
    memory::place_this_thread("bench-sink", load.destination_processor);
    Takes takes(load.line_bytes);
    const std::int64_t start = now_ns();
    std::int64_t now = start;
    std::uint64_t lines = 0;
    while (static_cast<double>(now - start) < load.seconds * 1e9) {
      const std::uint64_t more = takes.take(in.fd());
      if (more > 0) {
        lines += more;
        sendto(in.fd(), &lines, sizeof lines, MSG_DONTWAIT, back.get(), back.bytes());
      }
      now = now_ns();
    }
    result.gigabits_per_s = static_cast<double>(lines * load.line_bytes) * 8 / static_cast<double>(now - start);
    stop = true;
    source.join();
    while (const std::uint64_t more = takes.take(in.fd())) lines += more;  // still in the socket
    result.lines = lines;
  });
  sink.join();
  result.lost = sent - result.lines;
  return result;
}

}  // namespace rashpa::link::bench
