// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The contract of links by this link's own shapes: it has no credits, and its images are as large as a detector's.
/// Instantiate it with the networks and engines by which datagrams come.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rashpa/core/system/file_descriptor.hpp"
#include "rashpa/core/testing/testing.hpp"
#include "rashpa/core/time/clock.hpp"
#include "rashpa/link/sls/receiver.hpp"
#include "rashpa/link/sls/sending/sender.hpp"
#include "rashpa/link/sls/testing/testing.hpp"
#include "rashpa/link/testing/testing.hpp"
#include "rashpa/memory/buffer.hpp"
#include "rashpa/memory/gather/testing.hpp"

namespace rashpa::link::sls {

/// Images in memory of a device, and host memory of the same size for records and for a look at the images.
struct DeviceEnd {
  std::shared_ptr<void> owner;
  ReceiverMemory memory;
  std::function<void()> look = [] {};  ///< copies the images into the host memory
};

/// Images for which the processor stands in place of a device.
inline DeviceEnd far_end(std::span<std::byte> bytes) {
  const auto images = std::make_shared<memory::testing::FarImages>(bytes);
  return {images, ReceiverMemory(images->block(), bytes, images.get())};
}

/// The addresses of both ends, the places where their sockets are opened, and the engine of the receiver.
struct Network {
  using Within = std::function<void(const std::function<void()>&)>;
  std::string receiver = "127.0.0.1";
  std::string sender = "127.0.0.1";
  Within at_receiver = [](const std::function<void()>& work) { work(); };
  Within at_sender = at_receiver;
  EngineKind engine = EngineKind::socket;
  /// puts images into memory of a device; empty: they lie in host memory
  std::function<DeviceEnd(std::span<std::byte>)> device{};
  std::string why_not{};  ///< not empty: this machine cannot have it
};

struct ContractNetwork {
  const char* name;
  Network (*make)();
};

class SlsContract : public ::testing::TestWithParam<ContractNetwork> {
 protected:
  void SetUp() override {
    network_ = GetParam().make();
    if (!network_.why_not.empty()) GTEST_SKIP() << network_.why_not;
  }
  [[nodiscard]] const Network& network() const { return network_; }

 private:
  Network network_;
};

/// A detector of some ports and its receiver.
class Connected {
 public:
  Connected(const Network& network, Options options, std::uint32_t ports, std::uint64_t images, std::uint32_t slots,
            std::optional<FaultConfig> faults = std::nullopt, std::uint32_t threads = 1)
      : network_(network),
        place_(testing::places(options, ports, images, slots)),
        region_(place_.bytes, memory::MemoryKind::pageable),
        queues_(place_.dtps.size(), 64) {
    ReceiverMemory memory(region_.bytes());
    if (network.device) {
      device_ = network.device(region_.bytes());
      memory = device_.memory;
    }
    options.engine = network.engine;
    ReceiverConfig config;
    config.bind_address = network.receiver;
    config.options = options;
    config.threads = threads;
    network.at_receiver([&] { receiver = std::make_unique<SlsReceiver>(config, memory, place_.dtps, queues_, bell_); });
    std::vector<Endpoint> ends;
    const auto endpoints = receiver->endpoints();
    for (std::size_t d = 0; d < endpoints.size(); ++d) {
      SenderConfig source;
      source.bind_address = network.sender;
      source.destination = endpoints[d];
      source.options = options;
      source.dtp = static_cast<std::uint32_t>(d);
      source.images = images;
      source.payload_bytes = place_.dtps[d].placement.payload_bytes();
      source.faults = faults;
      network.at_sender([&] { senders.push_back(std::make_unique<SlsSender>(source)); });
      sources.push_back(std::make_unique<link::testing::Source>(place_.dtps[d], *senders.back()));
      ends.push_back(senders.back()->endpoint());
    }
    receiver->connect(ends);
  }
  /// The next arrival; fails after 20 s.
  Arrival next() {
    Arrival arrival;
    const std::int64_t until = now_ns() + 20'000'000'000;
    while (now_ns() < until) {
      const auto seen = bell_.count();
      if (queues_.try_pop(arrival)) return arrival;
      bell_.wait(seen, std::chrono::milliseconds(5));
    }
    ADD_FAILURE() << "no arrival; packets " << receiver->stats()["packets"];
    return arrival;
  }
  bool none_left() {
    Arrival arrival;
    return !queues_.try_pop(arrival);
  }
  void send(std::size_t dtp, std::uint64_t index) {
    const link::testing::Patience give_up;
    ASSERT_TRUE(sources[dtp]->send(index, give_up));
    sources[dtp]->drain(give_up);
  }
  void expect_pixels(const Arrival& arrival) {
    const Placement& p = place_.dtps[arrival.dtp].placement;
    sources[arrival.dtp]->prepare(arrival.index);
    device_.look();
    const auto payload = sources[arrival.dtp]->payload();
    for (std::uint32_t line = 0; line < p.lines; ++line) {
      const std::byte* const at = region_.data() + p.image_offset(arrival.index) + line * p.pitch;
      ASSERT_TRUE(std::equal(at, at + p.line_bytes, payload.data() + std::size_t{line} * p.line_bytes));
    }
  }
  /// Sends any bytes to the port of a DTP.
  void send_bytes(std::size_t dtp, std::span<const std::byte> bytes) {
    const Endpoint end = receiver->endpoints()[dtp];
    const wire::Address to(end.address, end.port);
    network_.at_sender([&] {
      const FileDescriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
      ASSERT_EQ(sendto(socket.get(), bytes.data(), bytes.size(), 0, to.get(), to.bytes()), bytes.size());
    });
  }
  memory::Buffer& region() { return region_; }
  const testing::Places& place() const { return place_; }

 private:
  Network network_;
  testing::Places place_;
  memory::Buffer region_;
  DeviceEnd device_;
  ArrivalQueues queues_;
  Doorbell bell_;

 public:
  std::unique_ptr<SlsReceiver> receiver;
  std::vector<std::unique_ptr<SlsSender>> senders;
  std::vector<std::unique_ptr<link::testing::Source>> sources;
};

inline Options eiger(std::uint32_t bits) {
  Options options;
  options.detector = Detector::eiger;
  options.bits = bits;
  return options;
}

TEST_P(SlsContract, each_image_of_each_port_arrives_once_in_order_with_its_pixels) {
  Connected link(network(), eiger(16), 4, 30, 4, std::nullopt, 2);
  link.receiver->start();
  for (std::uint64_t k = 0; k < 30; ++k) {
    for (std::size_t d = 0; d < 4; ++d) link.send(d, k);
    for (std::size_t d = 0; d < 4; ++d) {
      const Arrival arrival = link.next();
      ASSERT_EQ(arrival.index, k);
      ASSERT_EQ(arrival.completeness, Completeness::complete);
      EXPECT_EQ(arrival.proof, Proof::lines);
      EXPECT_EQ(arrival.record.frame_number, k);
      EXPECT_EQ(arrival.record.user[0], k + 1) << "frameNumber of the header";
      EXPECT_EQ(arrival.record.user[1], k + 1) << "bunch id";
      EXPECT_EQ(arrival.record.user[5], 1 + arrival.dtp / 2) << "modId";
      link.expect_pixels(arrival);
      link.receiver->release(arrival.dtp, k + 1);
    }
  }
  link.receiver->stop();
  EXPECT_TRUE(link.none_left());
  const Counts stats = link.receiver->stats();
  EXPECT_EQ(stats["packets"], 30U * 4 * 64);
  EXPECT_EQ(stats["host_drops"], 0U);
}

TEST_P(SlsContract, losses_are_what_the_injector_says) {
  const FaultConfig faults{.seed = 3, .drop = 0.004, .duplicate = 0.01, .reorder = 0.02, .corrupt = 0.004};
  constexpr std::uint64_t kImages = 60;
  Connected link(network(), eiger(8), 2, kImages, 4, faults);
  link.receiver->start();
  std::array<std::uint64_t, 2> taken{};
  for (std::uint64_t k = 0; k < kImages; ++k) {
    for (std::size_t d = 0; d < 2; ++d) link.send(d, k);
    const std::int64_t until = now_ns() + 500'000'000;
    Arrival arrival;
    // Images without all lines are decided when later ones come: the last two wait until they are closed.
    while (taken[0] + 3 <= k || taken[1] + 3 <= k) {
      arrival = link.next();
      ASSERT_EQ(arrival.index, taken[arrival.dtp]++);
      ASSERT_EQ(arrival.completeness, link.senders[arrival.dtp]->fates()->fate(arrival.index));
      link.receiver->release(arrival.dtp, arrival.index + 1);
      ASSERT_LT(now_ns(), until + 20'000'000'000);
    }
  }
  link.receiver->close(0, kImages);
  link.receiver->close(1, kImages);
  while (taken[0] < kImages || taken[1] < kImages) {
    const Arrival arrival = link.next();
    ASSERT_EQ(arrival.index, taken[arrival.dtp]++);
    EXPECT_EQ(arrival.completeness, link.senders[arrival.dtp]->fates()->fate(arrival.index));
  }
  link.receiver->stop();
  const Counts stats = link.receiver->stats();
  FaultCounts injected;
  for (const auto& sender : link.senders) {
    injected.corrupt += sender->injected().corrupt;
    injected.drop += sender->injected().drop;
    injected.duplicate += sender->injected().duplicate;
  }
  EXPECT_GT(injected.drop, 0U);
  EXPECT_EQ(stats["malformed"], injected.corrupt);
  EXPECT_EQ(stats["duplicate_packets"] + stats["late_packets"], injected.duplicate);
}

TEST_P(SlsContract, close_emits_what_is_undecided_and_later_images_still_come) {
  Connected link(network(), eiger(4), 1, 50, 4);
  link.receiver->start();
  link.send(0, 0);
  EXPECT_EQ(link.next().completeness, Completeness::complete);
  link.receiver->close(0, 3);
  for (std::uint64_t k = 1; k < 3; ++k) EXPECT_EQ(link.next().loss, Loss::deadline);
  link.send(0, 1);  // too late
  link.send(0, 3);
  const Arrival arrival = link.next();
  EXPECT_EQ(arrival.index, 3U);
  EXPECT_EQ(arrival.completeness, Completeness::complete);
  link.receiver->stop();
  EXPECT_EQ(link.receiver->stats()["late_packets"], 16U);
}

TEST_P(SlsContract, what_has_arrived_when_images_are_closed_is_taken_first) {
  Connected link(network(), eiger(4), 1, 50, 8);
  for (std::uint64_t k = 0; k < 4; ++k) link.send(0, k);
  link.receiver->close(0, 5);
  link.receiver->start();
  for (std::uint64_t k = 0; k < 4; ++k) EXPECT_EQ(link.next().completeness, Completeness::complete);
  EXPECT_EQ(link.next().loss, Loss::deadline);
  link.receiver->stop();
}

TEST_P(SlsContract, a_gap_is_closed_when_later_images_show_it) {
  Connected link(network(), eiger(4), 1, 50, 8);
  link.receiver->start();
  link.send(0, 0);
  link.send(0, 4);
  EXPECT_EQ(link.next().completeness, Completeness::complete);
  for (std::uint64_t k = 1; k < 4; ++k) EXPECT_EQ(link.next().completeness, Completeness::missing);
  EXPECT_EQ(link.next().completeness, Completeness::complete);
  link.receiver->stop();
}

TEST_P(SlsContract, what_comes_before_the_first_image_and_is_none_of_it_holds_up_nothing) {
  Connected link(network(), eiger(4), 1, 3, 4);
  const std::vector<std::byte> foreign(100);
  link.send_bytes(0, {});
  link.send_bytes(0, foreign);
  link.receiver->start();
  for (std::uint64_t k = 0; k < 3; ++k) {
    link.send(0, k);
    EXPECT_EQ(link.next().completeness, Completeness::complete);
  }
  link.receiver->stop();
  EXPECT_EQ(link.receiver->stats()["malformed"], 2U);
}

TEST_P(SlsContract, a_port_that_is_silent_holds_up_no_other) {
  Connected link(network(), eiger(4), 2, 3, 4);
  link.receiver->start();
  for (std::uint64_t k = 0; k < 3; ++k) link.send(0, k);
  for (std::uint64_t k = 0; k < 3; ++k) {
    const Arrival arrival = link.next();
    EXPECT_EQ(arrival.dtp, 0U);
    EXPECT_EQ(arrival.completeness, Completeness::complete);
  }
  link.receiver->close(1, 3);
  for (std::uint64_t k = 0; k < 3; ++k) EXPECT_EQ(link.next().loss, Loss::deadline);
  link.receiver->stop();
}

TEST_P(SlsContract, what_the_host_drops_is_counted_apart) {
  Options options;
  options.socket_buffer = 65'536;
  options.gro = false;  // the kernel counts what it has merged as one
  Connected link(network(), options, 1, 4, 4);
  for (std::uint64_t k = 0; k < 2; ++k) link.send(0, k);  // nobody reads
  link.receiver->start();
  link.receiver->close(0, 2);
  for (std::uint64_t k = 0; k < 2; ++k) EXPECT_NE(link.next().completeness, Completeness::complete);
  link.receiver->stop();
  const Counts stats = link.receiver->stats();
  EXPECT_GT(stats["host_drops"], 0U);
  EXPECT_EQ(stats["host_drops"] + stats["packets"], 2U * 128) << "each datagram is one or the other";
  const std::uint64_t by_xdp = stats["xdp_dropped"] + stats["xdp_ring_full"];
  EXPECT_EQ(by_xdp, network().engine == EngineKind::xdp ? stats["host_drops"] : 0U);
}

TEST_P(SlsContract, stop_is_bounded_even_when_nobody_takes_the_arrivals) {
  Connected link(network(), eiger(4), 1, 5000, 4);
  link.receiver->start();
  link.receiver->close(0, 5000);
  const std::int64_t start = now_ns();
  link.receiver->stop();
  EXPECT_LT(now_ns() - start, 10'000'000'000);
}

}  // namespace rashpa::link::sls
