// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A simulated card in a directory of its own, for tests.
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <thread>
#include <utility>

#include "card_directory.hpp"
#include "card_model.hpp"
#include "rashpa/core/error.hpp"
#include "rashpa/core/testing/temporary_folder.hpp"
#include "rashpa/core/testing/testing.hpp"
#include "udp_port.hpp"

namespace rashpa::sim::testing {

/// Runs in a thread of its own from the constructor to the destructor.
class SimulatedCard {
 public:
  static constexpr std::uint64_t kMemory = 4 << 20;
  /// Sees every frame that leaves; in the card's thread.
  using Tap = std::function<void(std::span<const std::byte>)>;

  /// `answers`: bytes of memory that do not answer with an error.
  explicit SimulatedCard(Tap tap = {}, std::uint64_t answers = kMemory) : tap_(std::move(tap)) {
    std::atomic<bool> ready{false};
    thread_ = std::jthread([this, answers, &ready](const std::stop_token& stop) { run(stop, answers, ready); });
    EXPECT_EVENTUALLY(ready);
  }
  SimulatedCard(const SimulatedCard&) = delete;
  SimulatedCard& operator=(const SimulatedCard&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return folder_.path(); }

 private:
  void run(const std::stop_token& stop, std::uint64_t answers, std::atomic<bool>& ready) {
    CardDirectory directory(path(), kMemory);
    UdpPort port;
    CardModel model(directory.memory().first(answers), [&](std::span<const std::byte> frame) {
      const bool sent = port.send(frame);
      if (sent && tap_) tap_(frame);
      return sent;
    });
    directory.serve(model);
    ready = true;
    while (!stop.stop_requested()) {
      port.receive(model);
      if (!directory.serve(model, [&](std::span<const card::registers::DtpTable> tables) { port.listen(tables); })) {
        std::this_thread::sleep_for(std::chrono::microseconds(200));  // wait: between two looks, as a card without work
      }
    }
  }

  const TemporaryFolder folder_;
  Tap tap_;
  std::jthread thread_;
};

}  // namespace rashpa::sim::testing
