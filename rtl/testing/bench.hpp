// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What the C++ benches of rtl/ share: a clock, random numbers, checks. One thread. A bench is one program: main()
/// returns testing::result(), which is 0 when no check failed and at least one was made.
#include <verilated.h>
#if VM_COVERAGE
#include <verilated_cov.h>

#include <fstream>
#include <map>
#include <string>
#endif

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <span>
#include <utility>
#include <vector>

namespace rashpa::rtl {

/// Random numbers; the same in every run.
class Random {
 public:
  explicit Random(std::uint64_t seed = 1) : engine_(seed) {}

  /// `low` … `high`, both included.
  std::uint32_t operator()(std::uint32_t low, std::uint32_t high) {
    return low + static_cast<std::uint32_t>(engine_() % (std::uint64_t{high} - low + 1));
  }
  std::uint32_t word() { return static_cast<std::uint32_t>(engine_()); }
  /// True in `percent` of all cases.
  bool chance(std::uint32_t percent) { return (*this)(1, 100) <= percent; }
  void fill(std::span<std::byte> bytes) {
    for (auto& byte : bytes) byte = static_cast<std::byte>(engine_());
  }
  std::vector<std::byte> bytes(std::size_t count) {
    std::vector<std::byte> made(count);
    fill(made);
    return made;
  }

 private:
  std::mt19937_64 engine_;
};

/// Checks made and failed by this program.
struct Checks {
  std::uint64_t made = 0, failed = 0;
};
inline Checks& checks() {
  static Checks all;
  return all;
}

/// Counts a check; says the first ten that fail.
template <class... Values>
bool check(bool good, const char* format, Values... values) {
  ++checks().made;
  if (good) return true;
  if (++checks().failed <= 10) {
    std::fputs("FAILED: ", stderr);
    std::fprintf(stderr, format, values...);  // NOLINT
    std::fputc('\n', stderr);
  }
  return false;
}

/// What main() returns. Prints how much was checked.
inline int result(std::uint64_t cycles) {
  std::printf("%llu checks, %llu failed, %llu cycles\n", static_cast<unsigned long long>(checks().made),
              static_cast<unsigned long long>(checks().failed), static_cast<unsigned long long>(cycles));
  return checks().failed == 0 && checks().made != 0 ? 0 : 1;
}

/// A beat of 64 bytes in Verilator's words.
using Beat = VlWide<16>;

inline void put(Beat& beat, std::span<const std::byte> bytes) {
  std::memset(beat.data(), 0, 64);
  std::memcpy(beat.data(), bytes.data(), bytes.size());
}

inline std::array<std::byte, 64> bytes_of(const Beat& beat) {
  std::array<std::byte, 64> bytes{};
  std::memcpy(bytes.data(), beat.data(), 64);
  return bytes;
}

#if VM_COVERAGE
/// What a model has reached, added to what the others of this program have: each model knows only of itself.
inline void add_coverage(VerilatedContext& context) {
  static std::map<std::string, std::uint64_t> all;
  const char* const path = std::getenv("RASHPA_COVERAGE");
  if (path == nullptr) return;
  context.coveragep()->write(path);
  std::ifstream written(path);
  for (std::string line; std::getline(written, line);) {
    const std::size_t end = line.rfind(' ');
    if (line.starts_with("C ")) all[line.substr(0, end)] += std::stoull(line.substr(end));
  }
  std::ofstream file(path);
  for (const auto& [point, count] : all) file << point << ' ' << count << '\n';
}
#endif

/// A model with its clock. Inputs are written between edges; cycle() is a rising edge, behind which outputs that are
/// registers have their new values. The model begins with random registers (--x-initial unique).
template <class Model>
class Clocked {
 public:
  explicit Clocked(std::uint64_t seed = 1) : model_(randomised(context_, seed)) {
    model_.clk_i = 0;
    model_.eval();
  }
  Clocked(const Clocked&) = delete;
  Clocked& operator=(const Clocked&) = delete;
  ~Clocked() {
    model_.final();
#if VM_COVERAGE
    add_coverage(context_);
#endif
  }

  Model& operator*() { return model_; }
  Model* operator->() { return &model_; }

  void cycle() {
    model_.clk_i = 1;
    model_.eval();
    model_.clk_i = 0;
    model_.eval();
    ++cycles_;
  }
  /// For models that have a reset.
  void reset(int cycles = 4) {
    model_.rst_ni = 0;
    for (int i = 0; i < cycles; ++i) cycle();
    model_.rst_ni = 1;
  }
  [[nodiscard]] std::uint64_t cycles() const { return cycles_; }

 private:
  // A model takes its first values as it is made.
  static VerilatedContext* randomised(VerilatedContext& context, std::uint64_t seed) {
    context.randReset(2);
    context.randSeed(static_cast<int>(seed));
    return &context;
  }

  VerilatedContext context_;
  Model model_;
  std::uint64_t cycles_ = 0;
};

}  // namespace rashpa::rtl
