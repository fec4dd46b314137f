// SPDX-License-Identifier: Apache-2.0
/// The driver on a directory of plain files; a whole card is in sim/card.
#include "rashpa/emulator/card/card_driver.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "rashpa/core/error.hpp"
#include "rashpa/core/testing/temporary_folder.hpp"

namespace rashpa::emulator {
namespace {

namespace fs = std::filesystem;
namespace registers = card::registers;

class CardDriverTest : public testing::Test {
 protected:
  void SetUp() override {
    std::vector<char> page(registers::kPageBytes);
    const auto put = [&](std::uint32_t address, std::uint32_t value) {
      std::memcpy(page.data() + address, &value, sizeof value);
    };
    put(registers::identity::kMagic, 0x43505352);
    put(registers::identity::kVersion, 1);
    put(registers::identity::kMemoryBytes, 1 << 20);
    std::ofstream(node("user"), std::ios::binary).write(page.data(), static_cast<std::streamsize>(page.size()));
    std::ofstream(node("h2c_0")).close();
    fs::resize_file(node("h2c_0"), 1 << 20);
    fs::create_hard_link(node("h2c_0"), node("c2h_0"));
    ASSERT_EQ(mkfifo(node("events_0").c_str(), 0600), 0);
    other.emplace(folder.path());
  }
  [[nodiscard]] fs::path node(const std::string& name) const { return folder.path() / ("xdma0_" + name); }
  /// The card says so.
  void say(std::uint32_t address, std::uint32_t value) { other->write32(address, value); }
  void say_state(registers::State state) { say(registers::status::kState, static_cast<std::uint32_t>(state)); }

  const TemporaryFolder folder;
  std::optional<card::Card> other;  // the card's side of the page
};

TEST_F(CardDriverTest, takes_the_card_for_itself) {
  const CardDriver driver(folder.path());
  EXPECT_TRUE(driver.simulated()) << "it has no clock";
  EXPECT_EQ(driver.description(), "a simulated card with 1048576 bytes of memory in " + folder.path().string());
  EXPECT_THROW(CardDriver(folder.path()), StateError);
}

TEST_F(CardDriverTest, clears_all_places_and_describes_dtps_one_after_the_other) {
  say(registers::doorbells::kGranted + 4, 7);
  say(registers::doorbells::kFramesAvailable + 8, 9);
  CardDriver driver(folder.path());
  driver.clear();
  EXPECT_EQ(other->read32(registers::doorbells::kGranted + 4), 0U);
  EXPECT_EQ(other->read32(registers::doorbells::kFramesAvailable + 8), 0U);
  registers::DtpTable table;
  table.qpn = 0x17;
  driver.add_dtp(200, table);
  table.qpn = 0x18;
  driver.add_dtp(100, table);
  EXPECT_EQ(other->read32(registers::dtp_table::at(0) + registers::dtp_table::kQpn), 0x17U);
  EXPECT_EQ(other->read32(registers::dtp_table::at(1) + registers::dtp_table::kQpn), 0x18U);
  driver.make_available(1, (std::uint64_t{1} << 32) + 5);
  EXPECT_EQ(other->read32(registers::doorbells::kFramesAvailable + 4), 5U) << "modulo 2^32";
}

TEST_F(CardDriverTest, counts_of_32_bits_go_on_behind_their_end) {
  CardDriver driver(folder.path());
  const std::uint32_t at = registers::dtp_status::at(2);
  say(at + registers::dtp_status::kImagesSent, 0xFFFF'FFF0);
  say(at + registers::dtp_status::kImagesSkipped, 3);
  const CardDriver::Progress before = driver.progress(2, {});
  EXPECT_EQ(before, (CardDriver::Progress{0xFFFF'FFF0, 3}));
  say(at + registers::dtp_status::kImagesSent, 4);
  EXPECT_EQ(driver.progress(2, before), (CardDriver::Progress{0x1'0000'0004, 3}));
}

TEST_F(CardDriverTest, an_end_has_a_reason_unless_all_images_are_out) {
  CardDriver driver(folder.path());
  driver.add_dtp(200, {});
  say_state(registers::State::running);
  EXPECT_FALSE(driver.ended());
  say_state(registers::State::done);
  EXPECT_EQ(driver.ended(), "");
  say_state(registers::State::idle);
  EXPECT_NE(driver.ended().value_or("").find("it was reset"), std::string::npos);
  say(registers::status::kError, registers::status::kErrorCode.put(2) | registers::status::kErrorDtp.put(0));
  const std::string why = driver.ended().value_or("");
  EXPECT_NE(why.find("DTP 200"), std::string::npos) << "by its id, not by its place: " << why;
}

TEST_F(CardDriverTest, a_refusal_is_said_in_the_emulators_words) {
  CardDriver driver(folder.path());
  driver.add_dtp(200, {});
  say(registers::status::kError, registers::status::kErrorCode.put(2) | registers::status::kErrorDtp.put(0));
  std::jthread answers([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) say(registers::status::kArmDone, other->read32(registers::doorbells::kArm));
  });
  try {
    driver.carry_out(card::Command::arm);
    ADD_FAILURE() << "it was refused";
  } catch (const StateError& error) {
    const std::string text = error.what();
    EXPECT_EQ(text.rfind("emulator: the card in ", 0), 0U) << text;
    EXPECT_NE(text.find("DTP 200"), std::string::npos) << text;
  }
}

TEST_F(CardDriverTest, shows_the_counters_while_the_card_is_there) {
  CardDriver driver(folder.path());
  say(registers::counters::kImages, 12);
  say(registers::status::kDtpsWaiting, 0b101);
  EXPECT_EQ(driver.counts()["images"], 12U);
  EXPECT_EQ(driver.waiting(), 0b101U);
  fs::remove(node("user"));
  EXPECT_THROW(static_cast<void>(driver.counts()), FileError);
}

}  // namespace
}  // namespace rashpa::emulator
