// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A directory that looks like a card: the nodes of XDMA as files, behind them the model. Whoever opens it by
/// rashpa::card::Card cannot tell which of both it is, but by the clock, which is 0.
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <vector>

#include "card_model.hpp"
#include "node_files.hpp"
#include "rashpa/card/registers.hpp"

namespace rashpa::sim {

/// One thread.
class CardDirectory {
 public:
  /// Throws what NodeFiles throws.
  CardDirectory(std::filesystem::path directory, std::uint64_t memory_bytes);

  [[nodiscard]] std::span<const std::byte> memory() const noexcept { return files_.memory(); }

  /// Called with all enabled DTPs before an Arm is carried to the model.
  using Armed = std::function<void(std::span<const card::registers::DtpTable>)>;

  /// Carries what software has written to the model, lets it go on, and publishes what it says. False: the card had
  /// nothing to do, and no cycle has passed. Throws ConfigError when the model has no addresses for all of the memory.
  bool serve(CardModel& model, const Armed& armed = {});

 private:
  [[nodiscard]] std::uint32_t load(std::uint32_t address) const noexcept { return files_.load(address); }
  void store(std::uint32_t address, std::uint32_t value) noexcept { files_.store(address, value); }
  [[nodiscard]] card::registers::DtpTable table(std::size_t dtp) const;
  [[nodiscard]] std::vector<card::registers::DtpTable> enabled() const;
  void carry(CardModel& model, std::uint32_t from, std::uint32_t bytes);
  void publish_identity(CardModel& model);
  void publish_images(CardModel& model);
  void publish(CardModel& model, std::uint32_t from, std::uint32_t bytes);

  NodeFiles files_;
  std::array<std::uint32_t, card::registers::kPageBytes / 4> carried_{};  // what the model has of software's words
  std::uint64_t published_ = 0;                                           // cycle at which all counters were read
  bool first_ = true;                                                     // the model has nothing of the page yet
  bool busy_ = true;
};

}  // namespace rashpa::sim
