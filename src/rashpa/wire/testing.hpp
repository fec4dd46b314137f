// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Known bytes and golden packets, for tests of this folder and of its users.
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <map>
#include <span>
#include <sstream>
#include <string>
#include <vector>

namespace rashpa::wire::testing {

/// Fills `bytes` with pseudo-random bytes of a seed.
inline void fill(std::span<std::byte> bytes, std::uint64_t seed) {
  std::uint64_t state = seed * 0x9E3779B97F4A7C15ULL + 1;
  for (std::byte& byte : bytes) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    byte = static_cast<std::byte>(state >> 32);
  }
}

using Bytes = std::vector<std::byte>;
using Record = std::map<std::string, std::string>;

// The golden files are flat: a list of objects of which every member that is a string is taken. No string has an
// escape.
inline std::vector<Record> read_golden(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  const std::string all = text.str();
  std::vector<Record> records;
  std::string key;
  for (std::size_t at = 0; (at = all.find_first_of("{\"", at)) != std::string::npos;) {
    if (all[at] == '{') {
      records.emplace_back();
      ++at;
      continue;
    }
    const std::size_t end = all.find('"', at + 1);
    const std::string word = all.substr(at + 1, end - at - 1);
    at = all.find_first_not_of(" \n", end + 1);
    if (all[at] == ':') {
      key = word;
    } else {
      records.back()[key] = word;
    }
  }
  return records;
}

inline Bytes unhex(const std::string& text) {
  Bytes bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    bytes.push_back(static_cast<std::byte>(std::stoi(text.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

}  // namespace rashpa::wire::testing
