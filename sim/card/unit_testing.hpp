// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A simulated processing unit in a directory of its own, for tests.
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <thread>

#include "rashpa/core/testing/temporary_folder.hpp"
#include "rashpa/core/testing/testing.hpp"
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
      unit.run(stop_, &held, &still);
    });
    EXPECT_EVENTUALLY(ready);
  }
  ~UnitOfTest() { stop_ = true; }
  UnitOfTest(const UnitOfTest&) = delete;
  UnitOfTest& operator=(const UnitOfTest&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return folder_.path(); }
  std::atomic<bool> held{false};
  std::atomic<bool> still{false};  ///< while it is held: it looks at nothing any more

 private:
  const TemporaryFolder folder_;
  std::atomic<bool> stop_{false};
  std::jthread thread_;
};

}  // namespace rashpa::sim::testing
