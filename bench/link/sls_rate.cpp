// SPDX-License-Identifier: Apache-2.0
/// How fast the link sls takes a JUNGFRAU's datagrams without a loss, by number of ports: in one process over loopback,
/// or as two processes, each in a network namespace of its own (bench/sls_peers.py). Images come into host memory, from
/// there into a GPU by copies, or at once into the GPU, which gathers packets (bench/sls_gather.py).
///
///   rashpa_sls_rate_bench [ports=1] [threads=1] [seconds=3] [gbps=10,20,…] [gro=1] [engine=socket] [interfaces=2]
///   rashpa_sls_rate_bench receive address=10.9.9.1 port=50001 ports=2 seconds=33 [images=host|copied|gathered|listed]
///   rashpa_sls_rate_bench drain ports=8 frames=8 rounds=6 [images=…] [engine=…]: how fast one thread takes what waits
///   rashpa_sls_rate_bench send address=10.9.9.1 port=50001 ports=2 seconds=30 gbps=25
#include <fmt/format.h>
#include <netinet/udp.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "rashpa/core/error.hpp"
#include "rashpa/core/system/pause.hpp"
#include "rashpa/core/time/clock.hpp"
#include "rashpa/link/roce/sockets/udp_socket.hpp"
#include "rashpa/link/sls/receiver.hpp"
#include "rashpa/link/sls/sending/frame_buffer.hpp"
#include "rashpa/link/sls/testing/testing.hpp"
#include "sls_images.hpp"

namespace rashpa::link::sls {
namespace {

constexpr std::uint32_t kSlots = 256;  // 128 MiB a port: a starved taker may be so far behind
constexpr std::size_t kTogether = 7;   // datagrams that the kernel cuts
constexpr std::int64_t kSecond = 1'000'000'000;

using Arguments = std::map<std::string, std::string>;

double number(const Arguments& given, const std::string& name, double otherwise) {
  const auto found = given.find(name);
  return found == given.end() ? otherwise : std::stod(found->second);
}

/// Sends frames of all ports, one after the other, at a rate of pixels.
class Frames {
 public:
  Frames(const std::vector<Endpoint>& ports, const Options& options) {
    for (const Endpoint& port : ports) {
      sockets_.emplace_back(false);
      sockets_.back().set_buffers(8U << 20);
      const wire::Address to(port.address, port.port);
      if (::connect(sockets_.back().fd(), to.get(), to.bytes()) != 0) throw ResourceError("connect");
      const PortShape shape = shape_of(options, port.qpn);
      frames_.emplace_back(options, shape, false);
      packets_ = shape.packets;
    }
  }
  /// Returns the frames sent; waits for room, so that nothing is lost here.
  std::uint64_t send(double gigabits, double seconds) {
    const std::int64_t start = now_ns();
    const auto end = start + static_cast<std::int64_t>(seconds * 1e9);
    const double bits = 8.0 * packets_ * frames_[0].stride() * static_cast<double>(frames_.size());
    std::uint64_t frame = 0;
    for (; now_ns() < end; ++frame) {
      const auto due = start + static_cast<std::int64_t>(static_cast<double>(frame) * bits / gigabits);
      while (now_ns() < due) pause_spinning();
      send_to_all(frame + 1);
    }
    return frame;
  }
  /// Sends frame `number` of all ports.
  void send_to_all(std::uint64_t number) {
    Header header;
    header.frame_number = number;
    header.type = type_of(Detector::jungfrau);
    header.bunch_id = std::bit_cast<std::uint64_t>(static_cast<double>(number));  // as std_detector_buffer reads it
    for (std::uint32_t p = 0; p < frames_.size(); ++p) {
      header.row = static_cast<std::uint16_t>(p);
      frames_[p].set_headers(header);
      send_frame(p);
    }
  }
  [[nodiscard]] std::uint32_t packets() const { return packets_; }

 private:
  void send_frame(std::uint32_t port) {
    for (std::uint32_t packet = 0; packet < packets_;) {
      const std::uint32_t count = std::min<std::uint32_t>(kTogether, packets_ - packet);
      const auto bytes = frames_[port].datagrams(packet, count);
      iovec piece{const_cast<std::byte*>(bytes.data()), bytes.size()};  // NOLINT: the kernel reads
      alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(std::uint16_t))> control{};
      msghdr message{};
      message.msg_iov = &piece;
      message.msg_iovlen = 1;
      message.msg_control = control.data();
      message.msg_controllen = control.size();
      cmsghdr* const option = CMSG_FIRSTHDR(&message);
      option->cmsg_level = SOL_UDP;
      option->cmsg_type = UDP_SEGMENT;
      option->cmsg_len = CMSG_LEN(sizeof(std::uint16_t));
      const auto segment = static_cast<std::uint16_t>(frames_[port].stride());
      std::memcpy(CMSG_DATA(option), &segment, sizeof segment);
      if (sendmsg(sockets_[port].fd(), &message, MSG_DONTWAIT) > 0) packet += count;
    }
  }
  std::vector<roce::UdpSocket> sockets_;
  std::vector<FrameBuffer> frames_;
  std::uint32_t packets_ = 0;
};

struct Books {
  std::uint64_t complete = 0, lost = 0;
  Counts counts;
  double cpu_s = 0;     // of this process from the first image to the last …
  double system_s = 0;  // … and those in the kernel
  double over_s = 0;
};

struct CpuTime {
  double user_s = 0;
  double system_s = 0;
};

CpuTime cpu_time() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return {seconds(usage.ru_utime), seconds(usage.ru_stime)};
}

/// Takes images, and frees their slots when they are where they shall be.
class Sink {
 public:
  Sink(const Options& options, const std::string& address, std::uint16_t port, std::uint32_t ports,
       std::uint32_t threads, const std::string& images, std::size_t pool_bytes)
      : place_(testing::places(options, ports, 1ULL << 40, kSlots)),
        images_(make_images(images, place_.bytes)),
        queues_(ports, 4 * kSlots) {
    ReceiverConfig config;
    config.options = options;
    config.bind_address = address;
    config.port = port;
    config.threads = threads;
    config.gather.pool_bytes = pool_bytes;
    receiver_ = std::make_unique<SlsReceiver>(config, images_->memory(), place_.dtps, queues_, bell_);
    receiver_->connect(std::vector<Endpoint>(ports));
    taker_ = std::jthread([this](const std::stop_token& stop) { take(stop); });
  }
  void start() { receiver_->start(); }
  /// Starts, and returns the seconds until `images` have arrived; those until the last one when the rest does not come.
  double drain(std::uint64_t images) {
    constexpr std::int64_t kPatience = 500'000'000;
    const std::int64_t begin = now_ns();
    start();
    while (arrived_.load() < images && now_ns() - std::max(begin, arrived_ns_.load()) < kPatience) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));  // wait: until images have arrived
    }
    return static_cast<double>(arrived_ns_.load() - begin) * 1e-9;
  }
  [[nodiscard]] std::vector<Endpoint> endpoints() const { return receiver_->endpoints(); }
  /// Ends; `frames`: sent, the rest is lost.
  Books end(std::uint64_t frames) {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));  // wait: datagrams are on their way
    for (std::uint32_t p = 0; p < place_.dtps.size(); ++p) receiver_->close(p, frames);
    std::this_thread::sleep_for(std::chrono::milliseconds(300));  // wait: closed images are taken
    taker_ = {};
    receiver_->stop();
    const double system_s = last_cpu_.system_s - first_cpu_.system_s;
    return {complete_,          lost_,
            receiver_->stats(), last_cpu_.user_s - first_cpu_.user_s + system_s,
            system_s,           static_cast<double>(last_ns_ - first_ns_) * 1e-9};
  }

 private:
  void take(const std::stop_token& stop) {
    Arrival arrival;
    while (!stop.stop_requested()) {
      const auto seen = bell_.count();
      while (queues_.try_pop(arrival)) {
        (arrival.completeness == Completeness::complete ? complete_ : lost_) += 1;
        arrived_ns_.store(now_ns());
        arrived_.fetch_add(1);
        note_time(arrival);
        const Placement& place = place_.dtps[arrival.dtp].placement;
        images_->take(arrival.dtp, arrival.index, place.image_offset(arrival.index), place.payload_bytes());
      }
      const bool waiting =
          images_->release([this](std::uint32_t dtp, std::uint64_t end) { receiver_->release(dtp, end); });
      bell_.wait(seen, std::chrono::microseconds(waiting ? 100 : 5000));
    }
  }
  // Looks at the clocks every few images: a look costs about a microsecond.
  void note_time(const Arrival& arrival) {
    constexpr std::uint64_t kEach = 64;
    if (arrival.completeness == Completeness::missing || (first_ns_ != 0 && ++taken_ % kEach != 0)) return;
    last_ns_ = now_ns();
    last_cpu_ = cpu_time();
    if (first_ns_ != 0) return;
    first_ns_ = last_ns_;
    first_cpu_ = last_cpu_;
  }
  testing::Places place_;
  std::unique_ptr<Images> images_;
  ArrivalQueues queues_;
  Doorbell bell_;
  std::unique_ptr<SlsReceiver> receiver_;
  std::uint64_t complete_ = 0;
  std::uint64_t lost_ = 0;
  std::atomic<std::uint64_t> arrived_{0};
  std::atomic<std::int64_t> arrived_ns_{0};
  std::uint64_t taken_ = 0;
  std::int64_t first_ns_ = 0, last_ns_ = 0;
  CpuTime first_cpu_, last_cpu_;
  std::jthread taker_;
};

void print_books(double gigabits, const Books& books, std::uint64_t images, double seconds) {
  const double got = static_cast<double>(books.counts["payload_bytes"]) * 8e-9 / seconds;
  fmt::print(
      "{{\"offered_gbps\": {:.1f}, \"got_gbps\": {:.2f}, \"images\": {}, \"complete\": {}, \"lost\": {}, "
      "\"packets\": {}, \"host_drops\": {}, \"payload_bytes\": {}, \"over_s\": {:.3f}, \"cpu_s\": {:.3f}, "
      "\"system_s\": {:.3f}, "
      "\"gather_waits\": {}, \"gather_full\": {}}}\n",
      gigabits, got, images, books.complete, books.lost, books.counts["packets"], books.counts["host_drops"],
      books.counts["payload_bytes"], books.over_s, books.cpu_s, books.system_s, books.counts["gather_waits"],
      books.counts["gather_full"]);
}

int run(const std::string& mode, const Arguments& given) {
  Options options;
  options.gro = number(given, "gro", 1) != 0;
  options.interfaces = static_cast<std::uint32_t>(number(given, "interfaces", 2));
  if (given.contains("engine") && given.at("engine") == "xdp") options.engine = EngineKind::xdp;
  options.socket_buffer = static_cast<std::uint32_t>(number(given, "buffer", 100)) << 20U;
  const auto ports = static_cast<std::uint32_t>(number(given, "ports", 1));
  const auto threads = static_cast<std::uint32_t>(number(given, "threads", 1));
  const double seconds = number(given, "seconds", 3);
  const auto port = static_cast<std::uint16_t>(number(given, "port", 0));
  const std::string address = given.contains("address") ? given.at("address") : "127.0.0.1";
  const std::string images = given.contains("images") ? given.at("images") : "host";
  const auto pool = static_cast<std::size_t>(number(given, "pool_kib", 2048)) << 10U;
  std::vector<double> rates;
  std::string list = given.contains("gbps") ? given.at("gbps") : "5,10,15,20,25,30,35,40";
  for (std::size_t at = 0; at < list.size();
       at = list.find(',', at) == std::string::npos ? list.size() : list.find(',', at) + 1) {
    rates.push_back(std::stod(list.substr(at)));
  }
  if (mode == "send") {
    std::vector<Endpoint> ends;
    for (std::uint32_t p = 0; p < ports; ++p) {
      ends.push_back({.address = address, .port = static_cast<std::uint16_t>(port + p), .qpn = p});
    }
    Frames detector(ends, options);
    const std::uint64_t frames = detector.send(rates[0], seconds);
    fmt::print("{{\"sent_images\": {}, \"sent_packets\": {}}}\n", frames * ports, frames * ports * detector.packets());
    return 0;
  }
  if (mode == "drain") {
    options.first_frame = 1;
    const auto frames = static_cast<std::uint64_t>(number(given, "frames", 8));
    for (int round = 0; round < static_cast<int>(number(given, "rounds", 6)); ++round) {
      Sink sink(options, address, port, ports, threads, images, pool);
      Frames detector(sink.endpoints(), options);
      for (std::uint64_t frame = 1; frame <= frames; ++frame) detector.send_to_all(frame);
      const double took = sink.drain(frames * ports);
      print_books(0, sink.end(frames), frames * ports, took);
    }
    return 0;
  }
  if (mode == "receive") {
    Sink sink(options, address, port, ports, threads, images, pool);
    sink.start();
    std::this_thread::sleep_for(std::chrono::nanoseconds(static_cast<std::int64_t>(seconds * kSecond)));
    const Books books = sink.end(0);
    print_books(0, books, books.complete + books.lost, number(given, "over", seconds));
    return 0;
  }
  for (const double gigabits : rates) {
    Sink sink(options, address, port, ports, threads, images, pool);
    sink.start();
    Frames detector(sink.endpoints(), options);
    const std::uint64_t frames = detector.send(gigabits, seconds);
    print_books(gigabits, sink.end(frames), frames * ports, seconds);
  }
  return 0;
}

}  // namespace
}  // namespace rashpa::link::sls

int main(int count, char** values) {
  try {
    std::string mode;
    rashpa::link::sls::Arguments given;
    for (int i = 1; i < count; ++i) {
      const std::string word = values[i];
      const auto equals = word.find('=');
      if (equals == std::string::npos) {
        mode = word;
      } else {
        given[word.substr(0, equals)] = word.substr(equals + 1);
      }
    }
    return rashpa::link::sls::run(mode, given);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 2;
  }
}
