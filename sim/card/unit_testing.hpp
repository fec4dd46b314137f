// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A simulated processing unit in a directory of its own, for tests.
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <thread>

#include "rashpa/core/temporary_folder.hpp"
#include "simulated_unit.hpp"

namespace rashpa::sim::testing {

inline constexpr std::uint64_t kUnitMemory = std::uint64_t{64} << 20U;

/// Runs in a thread of its own from the constructor to the destructor, but for while it is held.
class UnitOfTest {
 public:
  /// `answers`: bytes of memory that do not answer with an error.
  explicit UnitOfTest(std::uint64_t answers = kUnitMemory, std::uint64_t memory = kUnitMemory) {
    std::atomic<bool> ready{false};
    thread_ = std::jthread([this, answers, memory, &ready] {
      SimulatedUnit unit(path(), memory, {}, 1, answers);
      ready = true;
      unit.run(stop_, &held);
    });
    while (!ready) std::this_thread::yield();
  }
  ~UnitOfTest() { stop_ = true; }
  UnitOfTest(const UnitOfTest&) = delete;
  UnitOfTest& operator=(const UnitOfTest&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return folder_.path(); }
  std::atomic<bool> held{false};

 private:
  const TemporaryFolder folder_;
  std::atomic<bool> stop_{false};
  std::jthread thread_;
};

}  // namespace rashpa::sim::testing
