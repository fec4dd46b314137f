// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The files that look like a card's nodes, whatever is behind them.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

namespace rashpa::sim {

/// Owns the files and takes them away at its end. One thread.
class NodeFiles {
 public:
  /// Makes `directory`, if it is not there, and in it xdma0_user of one page of registers, xdma0_h2c_0, xdma0_c2h_0,
  /// xdma0_bypass (one sparse file of `memory_bytes`) and xdma0_events_0. Throws FileError, ConfigError when memory is
  /// no multiple of 4096, and StateError when another simulated card is at home there.
  NodeFiles(std::filesystem::path directory, std::uint64_t memory_bytes);
  ~NodeFiles();
  NodeFiles(const NodeFiles&) = delete;
  NodeFiles& operator=(const NodeFiles&) = delete;

  [[nodiscard]] std::span<std::byte> memory() const noexcept { return memory_; }
  /// A word of the page.
  [[nodiscard]] std::uint32_t load(std::uint32_t address) const noexcept { return page_[address / 4]; }
  void store(std::uint32_t address, std::uint32_t value) noexcept { page_[address / 4] = value; }
  /// Wakes who waits.
  void wake() noexcept;

 private:
  std::filesystem::path directory_;
  int lock_ = -1;
  int events_ = -1;
  volatile std::uint32_t* page_ = nullptr;
  std::span<std::byte> memory_;
};

}  // namespace rashpa::sim
