// SPDX-License-Identifier: Apache-2.0
#include <netinet/udp.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "peers.hpp"
#include "rashpa/core/time/clock.hpp"
#include "rashpa/link/roce/sockets/udp_socket.hpp"
#include "rashpa/link/testing/testing.hpp"
#include "rashpa/memory/cpu_set.hpp"

namespace rashpa::link::bench {

namespace {

constexpr std::size_t kMostBytes = 65'507;  // of a datagram before it is cut
constexpr std::size_t kMostSegments = 64;
constexpr std::size_t kControlBytes = CMSG_SPACE(sizeof(std::uint16_t));

/// How lines become datagrams.
struct Cut {
  std::size_t lines_each = 1;  ///< lines of a datagram as it is given to the system
  std::size_t batch = 64;      ///< datagrams a call
  bool by_system = false;      ///< which cuts them into lines (UDP_SEGMENT) and merges those again (UDP_GRO)
};

/// The datagrams of one call, with the control message that has the system cut them where it does.
class Sends {
 public:
  Sends(std::uint32_t line_bytes, const Cut& cut, wire::Address& to)
      : pieces_(cut.batch), messages_(cut.batch), controls_(cut.by_system ? cut.batch * kControlBytes : 0) {
    for (std::size_t i = 0; i < cut.batch; ++i) {
      pieces_[i].iov_len = cut.lines_each * line_bytes;
      msghdr& header = messages_[i].msg_hdr;
      header.msg_name = to.get();
      header.msg_namelen = to.bytes();
      header.msg_iov = &pieces_[i];
      header.msg_iovlen = 1;
      if (!cut.by_system) continue;
      header.msg_control = &controls_[i * kControlBytes];
      header.msg_controllen = kControlBytes;
      cmsghdr* const control = CMSG_FIRSTHDR(&header);
      control->cmsg_level = SOL_UDP;
      control->cmsg_type = UDP_SEGMENT;
      control->cmsg_len = CMSG_LEN(sizeof(std::uint16_t));
      const auto segment = static_cast<std::uint16_t>(line_bytes);
      std::memcpy(CMSG_DATA(control), &segment, sizeof segment);
    }
  }
  /// How many datagrams were taken; `place(i)`: where the pixels of the i-th begin.
  template <typename Place>
  std::size_t send(int socket, Place place) noexcept {
    for (std::size_t i = 0; i < pieces_.size(); ++i) pieces_[i].iov_base = place(i);
    const int done = sendmmsg(socket, messages_.data(), static_cast<unsigned>(messages_.size()), MSG_DONTWAIT);
    return done > 0 ? static_cast<std::size_t>(done) : 0;
  }

 private:
  std::vector<iovec> pieces_;
  std::vector<mmsghdr> messages_;
  std::vector<char> controls_;
};

/// Takes datagrams, merged or not.
class Takes {
 public:
  Takes(std::uint32_t line_bytes, const Cut& cut)
      : line_bytes_(line_bytes),
        room_(cut.by_system ? std::size_t{1} << 16U : line_bytes),
        pixels_(cut.batch * room_),
        pieces_(cut.batch),
        messages_(cut.batch) {
    for (std::size_t i = 0; i < cut.batch; ++i) {
      pieces_[i] = {pixels_.data() + i * room_, room_};
      messages_[i].msg_hdr.msg_iov = &pieces_[i];
      messages_[i].msg_hdr.msg_iovlen = 1;
    }
  }
  /// Lines that came.
  std::uint64_t take(int socket) noexcept {
    const int count =
        recvmmsg(socket, messages_.data(), static_cast<unsigned>(messages_.size()), MSG_DONTWAIT, nullptr);
    std::uint64_t lines = 0;
    for (int i = 0; i < count; ++i) lines += messages_[static_cast<std::size_t>(i)].msg_len / line_bytes_;
    return lines;
  }

 private:
  std::uint32_t line_bytes_;
  std::size_t room_;  // of one datagram
  std::vector<std::byte> pixels_;
  std::vector<iovec> pieces_;
  std::vector<mmsghdr> messages_;
};

Result run_datagrams(const Load& load, const Cut& cut) {
  roce::UdpSocket in(false);
  in.set_buffers(load.roce.socket_buffer);
  in.bind(wire::Address("127.0.0.1", 0));
  wire::Address to = in.local();
  roce::UdpSocket out(false);
  out.set_buffers(load.roce.socket_buffer);
  out.bind(wire::Address("127.0.0.1", 0));
  wire::Address back = out.local();
  if (cut.by_system && (!in.enable_gro() || !out.can_gso())) {
    return {0, 0, 0, "this system cannot cut or merge datagrams"};
  }
  const std::uint64_t batch_lines = cut.batch * cut.lines_each;
  const std::uint64_t window = 4 * batch_lines;  // lines in flight; they fit the socket's buffer
  std::atomic<std::uint64_t> sent{0};
  std::atomic<bool> stop{false};
  std::jthread source([&] {
    memory::place_this_thread("bench-source", load.source_processor);
    std::vector<std::byte> pixels(8U << 20);
    testing::fill(pixels, 42);
    Sends sends(load.line_bytes, cut, to);
    const std::size_t bytes = cut.lines_each * load.line_bytes;
    const std::size_t places = pixels.size() / bytes;
    std::uint64_t count = 0;
    std::uint64_t received = 0;
    while (!stop) {
      if (count * cut.lines_each - received > window - batch_lines) {
        recv(out.fd(), &received, sizeof received, MSG_DONTWAIT);
        continue;
      }
      count += sends.send(out.fd(), [&](std::size_t i) { return pixels.data() + (count + i) % places * bytes; });
      sent.store(count * cut.lines_each, std::memory_order_release);
    }
  });
  Result result;
  std::jthread sink([&] {
    memory::place_this_thread("bench-sink", load.destination_processor);
    Takes takes(load.line_bytes, cut);
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
    // What is still in the socket belongs to the books.
    while (const std::uint64_t more = takes.take(in.fd())) lines += more;
    result.lines = lines;
  });
  sink.join();
  result.lost = sent - result.lines;
  return result;
}

}  // namespace

Result run_udp(const Load& load) { return run_datagrams(load, {}); }

Result run_udp_gso(const Load& load) {
  const std::size_t lines_each = std::clamp<std::size_t>(kMostBytes / load.line_bytes, 1, kMostSegments);
  return run_datagrams(load, {.lines_each = lines_each, .batch = 8, .by_system = true});
}

}  // namespace rashpa::link::bench
