// SPDX-License-Identifier: Apache-2.0
// Whole acquisitions of an emulator whose DTPs a simulated card plays: the chain is that of the other tests.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "chain.hpp"
#include "checks.hpp"
#include "rashpa/core/error.hpp"
#include "rashpa/core/testing/testing.hpp"
#include "rashpa/core/time/clock.hpp"
#include "testing.hpp"

namespace rashpa::chain {
namespace {

using sim::testing::SimulatedCard;

constexpr double kPatience = 120;  // s; a simulated card takes its time

/// What a sink was given of each image, by index.
struct Kept {
  std::uint64_t frame_number = 0, timestamp_ns = 0;
  std::uint32_t flags = 0;
  std::vector<std::byte> pixels{};
};

class KeepingSink final : public sink::Sink {
 public:
  KeepingSink(const receiver::Output& output, std::vector<Kept>& kept)
      : bytes_(std::size_t{output.width} * output.height * 2), kept_(kept) {}
  sink::Put put(const Stack& stack, std::span<ErrorReason> /*results*/) override {
    for (const StackImage& image : stack.view()) {
      if (image.decision != Decision::accepted) continue;
      ++images_;
      kept_.push_back({image.frame_number, image.timestamp_ns, image.flags, {image.raw, image.raw + bytes_}});
    }
    return sink::Put::done;
  }
  void close(const Books& /*books*/) override {}
  [[nodiscard]] sink::SinkStats stats() const noexcept override {
    return {.images_written = images_, .bytes_written = 0, .bytes_stored = 0};
  }
  [[nodiscard]] std::string error() const override { return {}; }

 private:
  std::size_t bytes_;
  std::vector<Kept>& kept_;
  std::atomic<std::uint64_t> images_{0};
};

/// Takes its time over every stack.
class SlowSink final : public sink::Sink {
 public:
  sink::Put put(const Stack& stack, std::span<ErrorReason> /*results*/) override {
    std::this_thread::sleep_for(std::chrono::milliseconds(600));  // wait: this sink takes long
    for (const StackImage& image : stack.view()) images_ += image.decision == Decision::accepted ? 1 : 0;
    return sink::Put::done;
  }
  void close(const Books& /*books*/) override {}
  [[nodiscard]] sink::SinkStats stats() const noexcept override {
    return {.images_written = images_, .bytes_written = 0, .bytes_stored = 0};
  }
  [[nodiscard]] std::string error() const override { return {}; }

 private:
  std::atomic<std::uint64_t> images_{0};
};

class OnCard : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { simulated = std::make_unique<SimulatedCard>(); }
  static void TearDownTestSuite() { simulated.reset(); }
  static inline std::unique_ptr<SimulatedCard> simulated;

  static Plan plan(std::uint64_t frames) {
    Plan plan;
    plan.frames = frames;
    plan.deadline_ms = 60'000;
    plan.card = emulator::CardConfig{.directory = simulated->path()};
    return plan;
  }
  static std::vector<Kept> played(Plan plan) {
    std::vector<Kept> kept;
    plan.sinks.emplace_back(
        [&kept](const receiver::Output& output) { return std::make_unique<KeepingSink>(output, kept); });
    Chain chain(plan);
    EXPECT_TRUE(chain.play(kPatience));
    EXPECT_TRUE(chain.receiver->status().buffers[0].books.balanced());
    return kept;
  }
  static std::string refusal(const Plan& plan) {
    try {
      Chain chain(plan);
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "nothing was refused";
  }
};

TEST_F(OnCard, every_pixel_of_every_image_arrives_and_the_books_balance) {
  Chain chain(checked(plan(40)));  // the ring at the receiver has 16
  ASSERT_TRUE(chain.play(kPatience));
  EXPECT_EQ(chain.receiver->status().buffers[0].books.written, 40U);
  expect_books_equal_the_log(chain);
  const emulator::Status status = chain.emulator->status();
  EXPECT_EQ(status.state, emulator::State::finished);
  EXPECT_EQ(status.error, "");
  for (const auto& dtp : status.dtps) {
    EXPECT_EQ(dtp.images_sent, 40U);
    EXPECT_EQ(dtp.link["payload_bytes"], 40U * (64 * 16 * 2 + 128));
    EXPECT_EQ(dtp.link["packets"], 40U * (2 + 1)) << "eight lines are merged into a packet of 1024 bytes";
  }
  EXPECT_EQ(status.card["clock_khz"], 0U) << "a simulated card has no clock";
  EXPECT_EQ(status.card["images"], 80U);
  EXPECT_GT(status.card["cycles"], 80U * 2176 / 64);
  EXPECT_GT(status.card["wait_credit"], 0U);
  EXPECT_EQ(status.card["icrc_bad"], 0U);
}

TEST_F(OnCard, it_sends_what_the_software_engine_sends) {
  for (const auto packetisation : {link::Packetisation::only, link::Packetisation::first_middle_last}) {
    Plan set_up = plan(30);
    set_up.roce.packetisation = packetisation;
    set_up.roce.pmtu = 256;
    set_up.bands = 2;
    set_up.every = 3;
    set_up.phase = 1;
    set_up.rate_hz = 2000;
    const auto by_card = played(set_up);
    set_up.card.reset();
    const auto by_software = played(set_up);
    ASSERT_EQ(by_card.size(), 10U);
    ASSERT_EQ(by_software.size(), 10U);
    for (std::size_t i = 0; i < by_card.size(); ++i) {
      EXPECT_EQ(by_card[i].frame_number, by_software[i].frame_number);
      EXPECT_EQ(by_card[i].flags, by_software[i].flags);
      EXPECT_EQ(by_card[i].pixels, by_software[i].pixels) << "image " << i;
      EXPECT_EQ(by_card[i].timestamp_ns - by_card[0].timestamp_ns, 1'500'000 * i);
      EXPECT_EQ(by_software[i].timestamp_ns - by_software[0].timestamp_ns, 1'500'000 * i);
    }
  }
}

TEST_F(OnCard, frames_are_written_behind_what_has_been_read_where_card_memory_holds_less_than_the_dataset) {
  Plan set_up = plan(20);
  set_up.width = 512;
  set_up.height = 512;  // of eight frames of two modules three fit
  set_up.slots = 8;
  set_up.roce.pmtu = 4096;
  Chain chain(checked(set_up));
  ASSERT_TRUE(chain.play(kPatience));
  EXPECT_EQ(chain.receiver->status().buffers[0].books.complete, 20U);
  expect_books_equal_the_log(chain);
  EXPECT_GT(chain.emulator->status().card["frames_written"], 2U * 16);
}

TEST_F(OnCard, a_frame_is_sent_when_it_is_due) {
  Plan set_up = plan(20);
  set_up.rate_hz = 40;
  Chain chain(checked(set_up));
  const std::int64_t start = now_ns();
  ASSERT_TRUE(chain.play(kPatience));
  EXPECT_GE(now_ns() - start, 19'000'000'000 / 40);
  EXPECT_EQ(chain.receiver->status().buffers[0].books.complete, 20U);
}

TEST_F(OnCard, lost_and_damaged_packets_are_those_of_the_log) {
  for (const auto packetisation : {link::Packetisation::only, link::Packetisation::first_middle_last}) {
    for (const auto icrc : {link::roce::IcrcMode::modulo_id, link::roce::IcrcMode::off}) {
      Plan set_up = plan(60);
      set_up.roce.pmtu = 256;
      set_up.roce.packetisation = packetisation;
      set_up.roce.icrc = icrc;
      set_up.faults.seed = 11;
      set_up.faults.drop = 0.012;
      set_up.faults.corrupt = 0.012;
      set_up.deadline_ms = 3000;
      set_up.flow = link::Flow::credits;
      Chain chain(checked(set_up));
      ASSERT_TRUE(chain.play(kPatience));
      const emulator::Injected injected = chain.emulator->injected();
      EXPECT_GT(injected.drop, 5U);
      EXPECT_GT(injected.corrupt, 5U);
      EXPECT_EQ(injected.drop + injected.corrupt, chain.emulator->status().card["faults"]);
      EXPECT_GT(chain.receiver->status().buffers[0].books.partial, 0U);
      expect_books_equal_the_log(chain);
      if (icrc == link::roce::IcrcMode::modulo_id) {
        EXPECT_EQ(chain.receiver->status().link["icrc_bad"], injected.corrupt);
      }
    }
  }
}

TEST_F(OnCard, the_same_seed_hits_the_packets_that_it_hits_in_software) {
  Plan set_up = plan(60);
  set_up.roce.pmtu = 256;
  set_up.faults.seed = 3;
  set_up.faults.drop = 0.02;
  set_up.deadline_ms = 3000;
  Chain by_card(set_up);
  ASSERT_TRUE(by_card.play(kPatience));
  set_up.card.reset();
  Chain by_software(set_up);
  ASSERT_TRUE(by_software.play(kPatience));
  EXPECT_EQ(by_card.fates(), by_software.fates());
}

TEST_F(OnCard, the_log_knows_which_images_were_skipped) {
  Plan set_up = plan(60);
  set_up.on_full = transfer::OnFull::skip;
  set_up.slots = 8;
  set_up.deadline_ms = 3000;
  set_up.sinks.emplace_back([](const receiver::Output&) { return std::make_unique<SlowSink>(); });
  Chain chain(set_up);
  ASSERT_TRUE(chain.play(kPatience));
  std::uint64_t skipped = 0;
  for (std::size_t dtp = 0; dtp < 2; ++dtp) {
    const emulator::Status status = chain.emulator->status();
    skipped += status.dtps[dtp].images_skipped;
    EXPECT_EQ(status.dtps[dtp].images_sent + status.dtps[dtp].images_skipped, 60U);
  }
  EXPECT_GT(skipped, 0U);
  expect_books_equal_the_log(chain);
}

TEST_F(OnCard, while_it_is_paused_nothing_new_is_sent) {
  Plan set_up = plan(400);
  set_up.rate_hz = 100;
  Chain chain(checked(set_up));
  chain.receiver->start();
  chain.emulator->start();
  const auto sent = [&] { return chain.emulator->status().dtps[0].images_sent; };
  ASSERT_EVENTUALLY(sent() >= 10);
  chain.emulator->pause();
  // What was begun ends: then two seconds without an image are no chance.
  std::uint64_t last = sent();
  int quiet = 0;
  for (int looks = 0; quiet < 200 && looks < 6000; ++looks) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));  // wait: that nothing comes is the subject
    quiet = sent() == last ? quiet + 1 : 0;
    last = sent();
  }
  EXPECT_LT(last, 400U);
  EXPECT_EQ(chain.emulator->status().dtps[1].images_sent, last) << "no image is left half sent";
  EXPECT_THROW(chain.emulator->resume(50), ConfigError) << "a card keeps its rate";
  EXPECT_EQ(sent(), last);
  chain.emulator->pause(last + 20);
  ASSERT_EVENTUALLY(sent() >= last + 20);
  std::this_thread::sleep_for(std::chrono::milliseconds(500));  // wait: that no more comes is the subject
  for (const auto& dtp : chain.emulator->status().dtps) EXPECT_EQ(dtp.images_sent, last + 20);
  chain.emulator->resume();
  EXPECT_TRUE(chain.emulator->wait(kPatience));
  chain.receiver->finish();
  EXPECT_TRUE(chain.receiver->wait(kPatience));
  EXPECT_EQ(chain.receiver->status().buffers[0].books.complete, 400U);
}

TEST_F(OnCard, what_was_stopped_is_in_the_books_and_the_next_run_is_whole) {
  for (int round = 0; round < 2; ++round) {
    {
      Plan set_up = plan(5000);
      set_up.deadline_ms = 2000;
      Chain chain(checked(set_up));
      chain.receiver->start();
      chain.emulator->start();
      ASSERT_EVENTUALLY(chain.emulator->status().dtps[0].images_sent >= 5);
      chain.emulator->stop();
      chain.receiver->finish();
      ASSERT_TRUE(chain.receiver->wait(kPatience));
      EXPECT_EQ(chain.emulator->status().state, emulator::State::stopped);
      EXPECT_EQ(chain.emulator->status().error, "");
      const Books books = chain.receiver->status().buffers[0].books;
      EXPECT_TRUE(books.balanced());
      std::uint64_t fates = 0;
      for (const Completeness fate : chain.emulator->fates(0)) fates += fate == Completeness::complete ? 1 : 0;
      EXPECT_EQ(fates, chain.emulator->status().dtps[0].images_sent);
    }
    Chain chain(checked(plan(12)));
    ASSERT_TRUE(chain.play(kPatience));
    EXPECT_EQ(chain.receiver->status().buffers[0].books.complete, 12U) << "round " << round;
  }
}

TEST_F(OnCard, paced_needs_no_credits) {
  Plan set_up = plan(12);
  set_up.flow = link::Flow::paced;
  set_up.destination.address = set_up.source.address = "::1";
  Chain chain(checked(set_up));
  ASSERT_TRUE(chain.play(kPatience));
  EXPECT_EQ(chain.receiver->status().buffers[0].books.complete, 12U);
}

TEST_F(OnCard, what_a_card_cannot_do_is_refused_in_words) {
  const auto refused = [](auto change) {
    Plan set_up = plan(10);
    change(set_up);
    return refusal(set_up);
  };
  EXPECT_NE(refused([](Plan& p) { p.faults.duplicate = 0.1; }).find("does not double"), std::string::npos);
  EXPECT_NE(refused([](Plan& p) { p.faults.reorder = 0.1; }).find("reorder"), std::string::npos);
  EXPECT_NE(refused([](Plan& p) { p.faults.stall = 0.1; }).find("stalls"), std::string::npos);
  EXPECT_NE(refused([](Plan& p) { p.faults.dead_modules = {{1, 3}}; }).find("dead modules"), std::string::npos);
  EXPECT_NE(refused([](Plan& p) { p.roce.transport = link::Transport::rc; }).find("Unreliable Connected"),
            std::string::npos);
  EXPECT_NE(refused([](Plan& p) { p.bands = 16; }).find("32 DTPs; a card plays 16"), std::string::npos);
  EXPECT_NE(refused([](Plan& p) {
              p.faults.drop = 0.9;
              p.frames = 60;
            }).find("has places for 64"),
            std::string::npos);
  EXPECT_NE(refused([](Plan& p) {
              p.faults.drop = 0.01;
              p.on_full = transfer::OnFull::skip;
            }).find("on_full"),
            std::string::npos);
  EXPECT_NE(refused([](Plan& p) { p.width = p.height = 1200; }).find("no room for a frame"), std::string::npos);
}

TEST_F(OnCard, a_card_has_one_driver) {
  Chain chain(plan(10));
  EXPECT_THROW(Chain(plan(10)), StateError);
}

TEST(CardErrors, they_name_the_dtp_by_its_id_and_the_line) {
  // Behind the first frames of the first module its memory answers with errors.
  SimulatedCard broken({}, 64 * 1024);
  Plan plan;
  plan.frames = 64;
  plan.modules = 1;
  plan.first_id = 5;
  plan.deadline_ms = 500;
  plan.card = emulator::CardConfig{.directory = broken.path()};
  Chain chain(plan);
  chain.receiver->start();
  chain.emulator->start();
  EXPECT_TRUE(chain.emulator->wait(kPatience));
  const emulator::Status status = chain.emulator->status();
  EXPECT_EQ(status.state, emulator::State::stopped);
  const std::string said = "DTP 5: card memory answered a read with an error; the last sent is ";
  const std::size_t at = status.error.find(said);
  ASSERT_NE(at, std::string::npos) << status.error;
  const std::size_t image = status.error.find(" of image ", at);
  ASSERT_NE(image, std::string::npos) << status.error;
  // Nothing of the first image of which memory has only a part is behind that part; what leaves is 32 KiB behind what
  // is read.
  constexpr double kFrame = 128 + 64 * 16 * 2;
  const double last = std::stod(status.error.substr(image + 10));
  EXPECT_LE(last, 64 * 1024 / kFrame) << status.error;
  EXPECT_GE(last, 32 * 1024 / kFrame - 1) << status.error;
  chain.receiver->finish();
  EXPECT_TRUE(chain.receiver->wait(kPatience));
}

}  // namespace
}  // namespace rashpa::chain
