// SPDX-License-Identifier: Apache-2.0
/// Runs a fuzzer's function without libFuzzer: over every file of the folder that is the argument, and over seeded
/// mutations of them, so that the tests of every build, those with sanitizers too, know what the fuzzers once found.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using Bytes = std::vector<std::uint8_t>;
constexpr int kMutations = 300;  // of each file

// A copy on the heap, exactly as long: a sanitizer sees the first byte beyond.
void run(const Bytes& bytes) {
  const Bytes copy(bytes);
  LLVMFuzzerTestOneInput(copy.data(), copy.size());
}

Bytes mutated(Bytes bytes, std::mt19937_64& generator) {
  if (bytes.empty()) return bytes;
  const auto below = [&](std::size_t end) { return static_cast<std::size_t>(generator() % end); };
  for (std::size_t i = 1 + below(4); i > 0; --i) {
    const std::size_t at = below(below(2) == 0 ? bytes.size() : std::min<std::size_t>(bytes.size(), 32));
    bytes[at] = static_cast<std::uint8_t>(below(3) == 0 ? generator() : bytes[at] ^ (1U << below(8)));
  }
  if (below(4) == 0) bytes.resize(below(bytes.size() + 1));
  return bytes;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::filesystem::path> files;
  for (int i = 1; i < argc; ++i) {
    for (const auto& entry : std::filesystem::directory_iterator(argv[i])) files.push_back(entry.path());
  }
  if (files.empty()) {
    std::fputs("fuzz_replay: no files; give the folder of a corpus\n", stderr);
    return 1;
  }
  std::sort(files.begin(), files.end());
  std::mt19937_64 generator(8);  // NOLINT(cert-msc32-c,cert-msc51-cpp): the same on every run
  run({});
  for (const auto& path : files) {
    std::ifstream file(path, std::ios::binary);
    const Bytes bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    run(bytes);
    for (int i = 0; i < kMutations; ++i) run(mutated(bytes, generator));
  }
  std::printf("fuzz_replay: %zu files\n", files.size());
  return 0;
}
