// SPDX-License-Identifier: Apache-2.0
// The way of a real card's packets: an emulator plays a card that says that it has a clock, so that it is none of this
// machine's sockets. What stands in its Ethernet frames is what the emulator was given: the card's MAC address, and of
// each receiver the one that packets to it go to.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <ostream>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "network.hpp"
#include "rashpa/card/registers.hpp"
#include "rashpa/core/error.hpp"
#include "rashpa/core/system/file_descriptor.hpp"
#include "rashpa/core/testing/temporary_folder.hpp"
#include "rashpa/dataset/pattern_dataset.hpp"
#include "rashpa/emulator/emulator.hpp"
#include "rashpa/wire/headers.hpp"
#include "simulated_card.hpp"

namespace rashpa::sim {
namespace {

using Frame = std::vector<std::byte>;
using Mac = std::array<std::uint8_t, 6>;

constexpr std::uint64_t kMemory = 4 << 20;
constexpr std::uint32_t kWidth = 64, kHeight = 16, kImages = 12;
constexpr Mac kCard{0x02, 0, 0, 0, 0, 0x01};
constexpr Mac kNeighbour{0x0C, 0x42, 0xA1, 0, 0, 0x07};
constexpr Mac kRouter{0x00, 0x1B, 0x21, 0xFE, 0xDC, 0xBA};
constexpr double kPatience = 120;  // s

/// What is behind the MAC: all that leaves is kept.
class Wire final : public Network {
 public:
  bool send(std::span<const std::byte> frame) override {
    const std::scoped_lock lock(mutex_);
    frames_.emplace_back(frame.begin(), frame.end());
    return true;
  }
  void receive(CardModel& /*model*/) override {}
  void wait(std::uint32_t microseconds) override {
    std::this_thread::sleep_for(std::chrono::microseconds(microseconds));  // wait: as long as the model asks
  }
  [[nodiscard]] std::uint64_t refused() const noexcept override { return 0; }
  [[nodiscard]] std::vector<Frame> frames() {
    const std::scoped_lock lock(mutex_);
    return frames_;
  }

 private:
  std::mutex mutex_;
  std::vector<Frame> frames_;
};

/// A card in a directory and a thread of its own, which says that it runs at 250 MHz.
class CardWithClock {
 public:
  CardWithClock() {
    auto wire = std::make_unique<Wire>();
    wire_ = wire.get();
    card_ = std::make_unique<SimulatedCard>(path(), kMemory, std::move(wire));
    const FileDescriptor page(open((path() / "xdma0_user").c_str(), O_RDWR | O_CLOEXEC));
    const std::uint32_t clock = 250U << 10U;
    if (pwrite(page.get(), &clock, sizeof clock, card::registers::identity::kClock) != sizeof clock) {
      throw FileError("the card's clock cannot be written");
    }
    thread_ = std::jthread([this] { card_->run(stop_); });
  }
  ~CardWithClock() {
    stop_ = true;
    thread_ = {};
  }
  CardWithClock(const CardWithClock&) = delete;
  CardWithClock& operator=(const CardWithClock&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return folder_.path(); }
  [[nodiscard]] Wire& wire() { return *wire_; }

 private:
  const TemporaryFolder folder_;
  std::unique_ptr<SimulatedCard> card_;
  Wire* wire_ = nullptr;
  std::atomic<bool> stop_{false};
  std::jthread thread_;
};

std::string hexadecimal(std::span<const std::byte> bytes) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string text;
  for (const std::byte byte : bytes) {
    text += kDigits[std::to_integer<unsigned>(byte) >> 4U];
    text += kDigits[std::to_integer<unsigned>(byte) & 15U];
  }
  return text;
}
std::string hexadecimal(const Mac& mac) { return hexadecimal(std::as_bytes(std::span(mac))); }

struct Way {
  std::string name;
  std::string card, near, far;  ///< addresses
  std::map<std::string, std::string> neighbours;
  std::string card_hex, near_hex, far_hex;  ///< as they stand in frames
  bool v6 = false;
};

std::ostream& operator<<(std::ostream& out, const Way& way) { return out << way.name; }

class CardNetwork : public ::testing::TestWithParam<Way> {
 protected:
  /// Two DTPs: to a receiver beside the card, and to one behind a router.
  static emulator::Config config(const std::filesystem::path& directory) {
    const Way& way = GetParam();
    emulator::Config config;
    config.dataset = dataset::make_pattern({kWidth, kHeight, PixelType::u16}, 2, 4);
    config.bind_address = way.card;
    config.frames = kImages;
    config.flow = link::Flow::paced;  // nobody writes credits
    config.card =
        emulator::CardConfig{.directory = directory, .mac = "02:00:00:00:00:01", .neighbours = way.neighbours};
    for (std::uint32_t d = 0; d < 2; ++d) {
      const Placement placement{.slot_bytes = kWidth * kHeight * 2,
                                .slots = kImages,
                                .pitch = kWidth * 2,
                                .line_bytes = kWidth * 2,
                                .lines = kHeight,
                                .records_offset = std::uint64_t{kImages} * kWidth * kHeight * 2};
      config.dtps.push_back({{.id = 3 + d,
                              .module = d,
                              .region = {0, 0, kWidth, kHeight},
                              .images = kImages,
                              .placement = placement,
                              .run = 7},
                             {.address = d == 0 ? way.near : way.far,
                              .port = static_cast<std::uint16_t>(d == 0 ? 4791 : 5000),
                              .qpn = 0x20 + d,
                              .rkey = 1 + d}});
    }
    return config;
  }
  static std::string refusal(const emulator::Config& config) {
    try {
      emulator::Emulator emulator(config);
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "nothing was refused";
  }
};

TEST_P(CardNetwork, frames_have_the_addresses_that_the_emulator_was_given) {
  const Way& way = GetParam();
  CardWithClock card;
  std::uint64_t packets = 0;
  {
    emulator::Emulator emulator(config(card.path()));
    emulator.start();
    ASSERT_TRUE(emulator.wait(kPatience));
    const emulator::Status status = emulator.status();
    ASSERT_EQ(status.error, "");
    EXPECT_EQ(status.card["clock_khz"], 250'000U);
    for (const auto& dtp : status.dtps) packets += dtp.link["packets"];
  }
  const std::vector<Frame> frames = card.wire().frames();
  EXPECT_EQ(frames.size(), packets);
  std::array<std::uint32_t, 2> sent{};
  std::map<std::string, std::uint16_t> ports;  // of a destination: the source port of its packets
  const std::size_t addresses = way.v6 ? 22 : 26, bytes = way.v6 ? 16 : 4, udp = way.v6 ? 54 : 34;
  for (const Frame& frame : frames) {
    ASSERT_GT(frame.size(), udp + 8);
    const std::span<const std::byte> all(frame);
    const std::string to = hexadecimal(all.subspan(addresses + bytes, bytes));
    ASSERT_TRUE(to == way.near_hex || to == way.far_hex) << to;
    const std::size_t place = to == way.near_hex ? 0 : 1;
    ++sent[place];
    EXPECT_EQ(hexadecimal(all.first(6)), hexadecimal(place == 0 ? kNeighbour : kRouter));
    EXPECT_EQ(hexadecimal(all.subspan(6, 6)), hexadecimal(kCard));
    EXPECT_EQ(wire::load_be<std::uint16_t>(frame.data() + 12), way.v6 ? 0x86DD : 0x0800);
    EXPECT_EQ(hexadecimal(all.subspan(addresses, bytes)), way.card_hex);
    const auto source_port = wire::load_be<std::uint16_t>(frame.data() + udp);
    EXPECT_GE(source_port, 0xC000) << "of those that RoCEv2 sends from";
    EXPECT_EQ(ports.emplace(to, source_port).first->second, source_port);
    EXPECT_EQ(wire::load_be<std::uint16_t>(frame.data() + udp + 2), place == 0 ? 4791 : 5000);
  }
  EXPECT_GT(sent[0], kImages);
  EXPECT_EQ(sent[0], sent[1]);
}

TEST_P(CardNetwork, a_card_that_lacks_a_mac_address_is_refused_with_the_dtp) {
  CardWithClock card;
  emulator::Config lacking = config(card.path());
  lacking.card->neighbours.erase(GetParam().neighbours.begin()->first);
  const std::string why = refusal(lacking);
  EXPECT_NE(why.find("DTP "), std::string::npos) << why;
  EXPECT_NE(why.find("neighbours"), std::string::npos) << why;
  lacking = config(card.path());
  lacking.card->mac.clear();
  EXPECT_NE(refusal(lacking).find("card_mac"), std::string::npos);
  EXPECT_TRUE(card.wire().frames().empty());
}

INSTANTIATE_TEST_SUITE_P(
    Addresses, CardNetwork,
    ::testing::Values(Way{.name = "IPv4",
                          .card = "10.1.0.4",
                          .near = "10.1.0.2",
                          .far = "172.16.5.9",
                          .neighbours = {{"10.1.0.2", "0c:42:a1:00:00:07"}, {"172.16.5.9", "00:1B:21:FE:DC:BA"}},
                          .card_hex = "0a010004",
                          .near_hex = "0a010002",
                          .far_hex = "ac100509"},
                      Way{.name = "IPv6",
                          .card = "fd00:1::4",
                          .near = "fd00:1::2",
                          .far = "fd00:7::9",
                          .neighbours = {{"fd00:1:0:0::2", "0c:42:a1:00:00:07"},  // in whatever way it is written
                                         {"fd00:7::0009", "00:1B:21:FE:DC:BA"}},
                          .card_hex = "fd000001000000000000000000000004",
                          .near_hex = "fd000001000000000000000000000002",
                          .far_hex = "fd000007000000000000000000000009",
                          .v6 = true}),
    [](const auto& way) { return way.param.name; });

}  // namespace
}  // namespace rashpa::sim
