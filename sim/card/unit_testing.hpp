// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A simulated processing unit in a directory of its own, for tests.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <thread>

#include "rashpa/core/temporary_folder.hpp"
#include "unit_directory.hpp"

namespace rashpa::sim::testing {

inline constexpr std::uint64_t kUnitMemory = std::uint64_t{64} << 20U;

/// Runs in a thread of its own from the constructor to the destructor, but for while it is held.
class SimulatedUnit {
 public:
  /// `answers`: bytes of memory that do not answer with an error.
  explicit SimulatedUnit(std::uint64_t answers = kUnitMemory) {
    std::atomic<bool> ready{false};
    thread_ = std::jthread([this, answers, &ready](const std::stop_token& stop) {
      UnitDirectory directory(path(), kUnitMemory);
      UnitModel model(directory.memory().first(answers));
      directory.serve(model);
      ready = true;
      while (!stop.stop_requested()) {
        if (held || !directory.serve(model)) std::this_thread::sleep_for(std::chrono::microseconds(100));
      }
    });
    while (!ready) std::this_thread::yield();
  }
  [[nodiscard]] const std::filesystem::path& path() const { return folder_.path(); }
  std::atomic<bool> held{false};

 private:
  const TemporaryFolder folder_;
  std::jthread thread_;
};

}  // namespace rashpa::sim::testing
