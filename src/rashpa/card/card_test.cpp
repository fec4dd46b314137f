// SPDX-License-Identifier: Apache-2.0
// The driver on a directory of plain files, and a thread that answers as the card does.
#include "rashpa/card/card.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "rashpa/core/error.hpp"
#include "rashpa/core/testing/temporary_folder.hpp"

namespace rashpa::card {
namespace {

namespace fs = std::filesystem;
constexpr std::uint64_t kMemory = 1 << 20;

/// A directory with the nodes of a card.
class CardTest : public testing::Test {
 protected:
  void SetUp() override {
    put(registers::identity::kMagic, 0x43505352);
    put(registers::identity::kVersion, 1);
    put(registers::identity::kMemoryBytes, static_cast<std::uint32_t>(kMemory));
    store();
    std::ofstream(node("h2c_0")).close();
    fs::resize_file(node("h2c_0"), kMemory);
    fs::create_hard_link(node("h2c_0"), node("c2h_0"));
    ASSERT_EQ(mkfifo(node("events_0").c_str(), 0600), 0);
  }

  [[nodiscard]] fs::path node(const std::string& name) const { return directory_ / ("xdma0_" + name); }
  void put(std::uint32_t address, std::uint32_t value) { std::memcpy(page_.data() + address, &value, sizeof value); }
  void store() const {
    std::ofstream(node("user"), std::ios::binary).write(page_.data(), static_cast<std::streamsize>(page_.size()));
  }
  [[nodiscard]] std::string refusal() const {
    try {
      Card card(directory_);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }

  const TemporaryFolder folder_;
  const fs::path& directory_ = folder_.path();
  std::vector<char> page_ = std::vector<char>(registers::kPageBytes);
};

TEST_F(CardTest, words_are_those_of_the_page) {
  Card card(directory_);
  card.write32(registers::doorbells::kGranted + 4, 0x12345678);
  std::ifstream page(node("user"), std::ios::binary);
  page.seekg(registers::doorbells::kGranted + 4);
  std::uint32_t word = 0;
  page.read(reinterpret_cast<char*>(&word), sizeof word);
  EXPECT_EQ(word, 0x12345678U);
  EXPECT_EQ(card.read32(registers::doorbells::kGranted + 4), 0x12345678U);
  EXPECT_EQ(card.memory_bytes(), kMemory);
}

TEST_F(CardTest, a_card_is_claimed_by_one_until_its_end) {
  Card second(directory_);
  {
    Card first(directory_);
    first.claim();
    first.claim();
    EXPECT_THROW(second.claim(), StateError);
  }
  EXPECT_NO_THROW(second.claim());
}

TEST_F(CardTest, a_table_lies_word_by_word_in_its_row) {
  Card card(directory_);
  registers::DtpTable table;
  table.qpn = 0x17;
  table.images = 0x1'0000'0002;
  table.mtu_path_mtu = 4096;
  table.mtu_ipv6 = true;
  table.dtp_enabled = true;
  card.write_table(3, table);
  const std::uint32_t row = registers::dtp_table::at(3);
  EXPECT_EQ(row, 0x4000U + 3 * 0x200U);
  EXPECT_EQ(card.read32(row + registers::dtp_table::kQpn), 0x17U);
  EXPECT_EQ(card.read32(row + registers::dtp_table::kImages), 2U);
  EXPECT_EQ(card.read32(row + registers::dtp_table::kImages + 4), 1U);
  EXPECT_EQ(card.read32(row + registers::dtp_table::kMtu), 4096U | 1U << 17);
  EXPECT_EQ(card.read32(row + registers::dtp_table::kDtp), 1U << 9);
  EXPECT_THROW(card.write_table(16, table), ConfigError);
}

TEST_F(CardTest, every_word_of_the_table_has_its_register_s_name) {
  std::set<std::string> names;
  for (std::uint32_t word = 0; word < registers::dtp_table::kWords; ++word) names.insert(registers::name_of_word(word));
  EXPECT_STREQ(registers::name_of_word(0), "destination_mac");
  EXPECT_STREQ(registers::name_of_word(1), "destination_mac");
  EXPECT_STREQ(registers::name_of_word(registers::dtp_table::kSlots / 4), "slots");
  EXPECT_GT(names.size(), 40U);
}

TEST_F(CardTest, memory_goes_there_and_back) {
  Card card(directory_);
  std::vector<std::byte> sent(5000);
  for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<std::byte>(i * 7);
  std::vector<std::byte> got(sent.size());
  card.to_card(kMemory - sent.size(), sent);
  card.from_card(kMemory - sent.size(), got);
  EXPECT_EQ(got, sent);
  EXPECT_THROW(card.to_card(kMemory - sent.size() + 1, sent), ConfigError);
  EXPECT_THROW(card.from_card(~std::uint64_t{0}, got), ConfigError);
}

TEST_F(CardTest, memory_that_ends_too_soon_is_an_error) {
  fs::resize_file(node("h2c_0"), 100);
  Card card(directory_);
  std::array<std::byte, 200> got{};
  EXPECT_THROW(card.from_card(0, got), FileError);
}

TEST_F(CardTest, an_event_ends_the_wait) {
  Card card(directory_);
  EXPECT_FALSE(card.wait(1000));
  const int fifo = open(node("events_0").c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_GE(fifo, 0);
  EXPECT_FALSE(card.wait(1000));
  const std::uint32_t one = 1;
  ASSERT_EQ(write(fifo, &one, sizeof one), 4);
  EXPECT_TRUE(card.wait(1'000'000));
  EXPECT_FALSE(card.wait(0));
  close(fifo);
}

TEST_F(CardTest, counts_of_64_bits_are_read_as_one) {
  put(registers::counters::kBytes, 7);
  put(registers::counters::kBytes + 4, 3);
  store();
  const Card card(directory_);
  EXPECT_EQ(card.read64(registers::counters::kBytes), (std::uint64_t{3} << 32) + 7);
}

TEST_F(CardTest, a_command_is_done_when_its_count_is) {
  Card driver(directory_);
  Card card(directory_);
  std::atomic<bool> stop{false};
  std::thread answers([&] {
    while (!stop) {
      card.write32(registers::status::kArmDone, card.read32(registers::doorbells::kArm));
    }
  });
  driver.carry_out(Command::arm);
  driver.carry_out(Command::arm);
  EXPECT_EQ(driver.read32(registers::doorbells::kArm), 2U);
  card.write32(registers::status::kError,
               registers::status::kErrorCode.put(2) | registers::status::kErrorDtp.put(5) |
                   registers::status::kErrorWord.put(registers::dtp_table::kOuterSourceStep / 4));
  try {
    driver.carry_out(Command::arm);
    ADD_FAILURE() << "it was refused";
  } catch (const StateError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("DTP 5"), std::string::npos) << text;
    EXPECT_NE(text.find("outer_source_step"), std::string::npos) << text;
  }
  stop = true;
  answers.join();
  try {
    driver.carry_out(Command::start, 2000);
    ADD_FAILURE() << "nobody answers";
  } catch (const StateError& error) {
    EXPECT_NE(std::string(error.what()).find("Start"), std::string::npos) << error.what();
  }
}

TEST_F(CardTest, errors_become_words_that_name_the_dtp) {
  put(registers::status::kError, registers::status::kErrorCode.put(7) | registers::status::kErrorDtp.put(9));
  put(registers::status::kErrorLine, 123);
  store();
  const Card card(directory_);
  const auto error = card.error();
  ASSERT_TRUE(error);
  EXPECT_EQ(text_of(*error), "DTP 9: descriptor 123 since Arm reaches beyond card memory");
  std::set<std::string> texts;
  for (std::uint32_t code = 0; code < 14; ++code) {
    texts.insert(text_of({.code = static_cast<registers::ErrorCode>(code), .dtp = 2, .word = 41, .line = 8}));
  }
  EXPECT_EQ(texts.size(), 14U);
}

TEST_F(CardTest, what_is_no_card_is_refused_with_its_path) {
  put(registers::identity::kVersion, 99);
  store();
  EXPECT_NE(refusal().find("version 99"), std::string::npos) << refusal();
  put(registers::identity::kMagic, 0xFFFFFFFF);
  store();
  EXPECT_NE(refusal().find("0xffffffff"), std::string::npos) << refusal();
  fs::resize_file(node("user"), 100);
  EXPECT_NE(refusal().find("xdma0_user"), std::string::npos) << refusal();
  for (const char* name : {"events_0", "c2h_0", "h2c_0", "user"}) {
    fs::remove(node(name));
    EXPECT_NE(refusal().find(name), std::string::npos) << refusal();
  }
}

}  // namespace
}  // namespace rashpa::card
