// SPDX-License-Identifier: Apache-2.0
/// A source with impossible words of credits, on every link that runs here. The link verbs has the same bound, and
/// needs a device.
#include "rashpa/link/sending/credit_bound.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <memory>
#include <optional>

#include "rashpa/core/ability.hpp"
#include "rashpa/core/testing/testing.hpp"
#include "rashpa/link/pcie/control_block.hpp"
#include "rashpa/link/pcie/sender.hpp"
#include "rashpa/link/roce/credits/credit_listener.hpp"
#include "rashpa/link/roce/sender.hpp"
#include "rashpa/link/testing/testing.hpp"
#include "rashpa/memory/buffer.hpp"

namespace rashpa::link {
namespace {

constexpr std::uint64_t kSlots = 4;
constexpr std::uint64_t kHuge = std::uint64_t{1} << 40U;

/// A sender, and a writer of its words of credits.
class Bounded {
 public:
  virtual ~Bounded() = default;
  virtual void write(std::uint64_t images, std::uint64_t bytes) = 0;
  Sender& sender() { return *sender_; }

 protected:
  std::unique_ptr<Sender> sender_;
};

class PcieCredits final : public Bounded {
 public:
  explicit PcieCredits(Poll poll)
      : region_(1U << 16U, memory::MemoryKind::pageable, memory::Sharing::machine),
        block_(region_.size(), region_.shared_file(), 1, 1) {
    sender_ =
        std::make_unique<pcie::PcieSender>(pcie::SenderConfig{.memory = pcie::RemoteMemory::open(block_.endpoint(0)),
                                                              .destination = block_.endpoint(0),
                                                              .poll = poll,
                                                              .slots = kSlots});
  }
  void write(std::uint64_t images, std::uint64_t /*bytes*/) override { block_.dtp(0).granted.store(images); }

 private:
  memory::Buffer region_;
  pcie::ControlBlock block_;
};

class RoceCredits final : public Bounded {
 public:
  enum class Through : std::uint8_t { own_socket, listener };
  RoceCredits(Transport transport, Through through) : receiver_(false) {
    receiver_.bind(here_);
    here_ = receiver_.local();
    roce::SenderConfig config;
    config.destination = {.address = "127.0.0.1", .port = here_.port(), .qpn = 17, .rkey = 5, .psn = kFirstPsn};
    config.options.transport = transport;
    config.options.packetisation = Packetisation::only;
    config.slots = kSlots;
    if (through == Through::listener) config.credits = std::make_shared<roce::CreditListener>("127.0.0.1", 0);
    sender_ = roce::make_sender(config);
    const Endpoint to = sender_->endpoint();
    writer_.emplace(here_, wire::Address(to.address, to.port), to, roce::Framing::v2, transport, 17, kFirstPsn);
  }
  void write(std::uint64_t images, std::uint64_t bytes) override {
    const auto packet = writer_->packet({images, bytes});
    ASSERT_EQ(sendto(receiver_.fd(), packet.data(), packet.size(), 0, writer_->to().get(), writer_->to().bytes()),
              static_cast<ssize_t>(packet.size()));
    writer_->take({.psn = psn_++});  // RC: the source's acknowledgement
  }

 private:
  static constexpr std::uint32_t kFirstPsn = 100;
  wire::Address here_{"127.0.0.1", 0};
  roce::UdpSocket receiver_;
  std::optional<roce::CreditWriter> writer_;
  std::uint32_t psn_ = kFirstPsn;
};

using Make = std::unique_ptr<Bounded> (*)();

class CreditContract : public ::testing::TestWithParam<std::pair<const char*, Make>> {
 protected:
  Sender& sender() { return bounded_->sender(); }
  /// Writes it; true when the source has that many images granted then.
  bool grants(std::uint64_t word, std::uint64_t granted, std::uint64_t bytes = 0) {
    bounded_->write(word, bytes);
    const std::int64_t until = now_ns() + 10'000'000'000;
    do {
      sender().poll(1000);
    } while (sender().granted() != granted && now_ns() < until);
    settle();
    return sender().granted() == granted;
  }
  /// The same for a word that changes nothing: true when it has come and has not.
  bool changes_nothing(std::uint64_t word) {
    const std::uint64_t granted = sender().granted(), before = refused();
    bounded_->write(word, 0);
    const std::int64_t until = now_ns() + 10'000'000'000;
    do {
      sender().poll(1000);
    } while (sender().granted() == granted && refused() == before && now_ns() < until);
    settle();
    return sender().granted() == granted;
  }
  void announce(std::uint64_t index) {
    std::array<std::byte, FrameRecord::kBytes> record{};
    while (!sender().post_event({record.data(), 0, immediate_of(1, index)})) sender().poll(1000);
    settle();
  }
  std::uint64_t refused() { return sender().stats()["credits_refused"]; }

 private:
  void settle() {
    for (int i = 0; i < 3; ++i) sender().poll(100);
  }
  std::unique_ptr<Bounded> bounded_ = GetParam().second();
};

TEST_P(CreditContract, a_word_grants_no_more_than_the_slots_behind_what_is_announced) {
  EXPECT_TRUE(grants(kSlots, kSlots));
  EXPECT_EQ(refused(), 0U);
  for (std::uint64_t index = 0; index < 3; ++index) announce(index);
  EXPECT_TRUE(grants(kSlots + 3, kSlots + 3)) << "all of them are free again";
  EXPECT_EQ(refused(), 0U);
  std::uint64_t wrong = 0;
  for (const std::uint64_t word : {kSlots + 4, kHuge, kUnlimited, kUnlimited - 1}) {
    EXPECT_TRUE(changes_nothing(word)) << word;
    EXPECT_EQ(refused(), ++wrong) << word;
  }
  announce(3);
  EXPECT_EQ(sender().granted(), kSlots + 4) << "as many as there are slots, whatever the word is";
  EXPECT_TRUE(grants(kSlots + 4, kSlots + 4)) << "and the next one that can be counts again";
  EXPECT_EQ(refused(), wrong);
}

TEST_P(CreditContract, a_word_takes_back_nothing) {
  EXPECT_TRUE(grants(3, 3));
  EXPECT_TRUE(changes_nothing(2));
  EXPECT_TRUE(changes_nothing(0));
  EXPECT_EQ(refused(), 2U);
  EXPECT_TRUE(grants(4, 4));
  EXPECT_EQ(refused(), 2U);
}

TEST_P(CreditContract, no_word_says_that_a_connection_is_in_error_or_that_more_has_come_than_was_sent) {
  announce(0);
  EXPECT_TRUE(grants(kUnlimited, kSlots + 1, kUnlimited));
  const auto* const answering = able<Answering>(sender());
  const Answers answers = answering == nullptr ? Answers{} : answering->answers();
  EXPECT_FALSE(answers.in_error);
  EXPECT_LE(answers.had, FrameRecord::kBytes);
  EXPECT_EQ(refused(), 1U);
}

template <typename Harness, auto... kArguments>
std::unique_ptr<Bounded> made() {
  return std::make_unique<Harness>(kArguments...);
}
using Through = RoceCredits::Through;

INSTANTIATE_TEST_SUITE_P(
    Links, CreditContract,
    ::testing::Values(std::pair<const char*, Make>{"pcie", &made<PcieCredits, Poll::event>},
                      std::pair<const char*, Make>{"pcie_spinning", &made<PcieCredits, Poll::spin>},
                      std::pair<const char*, Make>{"roce", &made<RoceCredits, Transport::uc, Through::own_socket>},
                      std::pair<const char*, Make>{"roce_rc", &made<RoceCredits, Transport::rc, Through::own_socket>},
                      std::pair<const char*, Make>{"roce_ud", &made<RoceCredits, Transport::ud, Through::own_socket>},
                      std::pair<const char*, Make>{"roce_from_a_device",
                                                   &made<RoceCredits, Transport::uc, Through::listener>}),
    [](const auto& param) { return param.param.first; });

TEST(CreditBound, of_unknown_slots_every_word_counts) {
  Counter refused;
  CreditBound bound(0, refused);
  EXPECT_EQ(bound.granted(kHuge), kHuge);
  EXPECT_EQ(bound.granted(7), kHuge);
  EXPECT_EQ(refused.get(), 1U) << "that took something back";
}

TEST(CreditBound, a_word_that_was_cut_counts_for_more_as_more_is_announced) {
  Counter refused;
  CreditBound bound(kSlots, refused);
  for (std::uint64_t index = 0; index < 40; ++index) {
    EXPECT_EQ(bound.granted(30), std::min<std::uint64_t>(index + kSlots, 30)) << index;
    if (index < 26) bound.announce(immediate_of(1, index));
  }
  EXPECT_EQ(refused.get(), 1U) << "one word, counted once";
  bound.announce(immediate_of(1, 100));  // images were left out: the index moves on
  EXPECT_EQ(bound.announced(), 101U);
  EXPECT_EQ(bound.granted(102), 102U);
  EXPECT_EQ(refused.get(), 1U);
}

TEST(CreditBound, indices_go_on_beyond_the_bits_of_an_immediate) {
  Counter refused;
  CreditBound bound(kSlots, refused);
  constexpr std::uint64_t kStep = std::uint64_t{1} << 23U;
  for (std::uint64_t index = kStep; index < 10 * kStep; index += kStep) bound.announce(immediate_of(1, index));
  EXPECT_EQ(bound.announced(), 9 * kStep + 1);
}

}  // namespace
}  // namespace rashpa::link
