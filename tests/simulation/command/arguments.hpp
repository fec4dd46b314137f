// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Reads the words of a command line, one option after the other.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

namespace rashpa::simulation {

class Arguments {
 public:
  /// `refuse`: ends the program with these words.
  using Refuse = void (*)(const std::string& why);
  Arguments(std::vector<std::string> words, Refuse refuse) : words_(std::move(words)), refuse_(refuse) {}

  /// Goes to the next option; returns false behind the last one.
  bool next() noexcept { return at_++ < words_.size(); }
  [[nodiscard]] const std::string& name() const noexcept { return words_[at_ - 1]; }

  /// Returns the word behind the option, and goes on to it.
  const std::string& value() {
    if (at_ == words_.size()) refuse_(name() + " needs a value");
    return words_[at_++];
  }
  /// The same, as a whole number.
  std::uint64_t number() {
    const std::string option = name();
    const std::string& text = value();
    char* end = nullptr;
    const std::uint64_t read = std::strtoull(text.c_str(), &end, 10);
    if (text.empty() || *end != '\0') refuse_(option + ": " + text + " is no number");
    return read;
  }
  /// The same, as a number of processes.
  unsigned jobs() { return static_cast<unsigned>(std::clamp<std::uint64_t>(number(), 1, 256)); }

 private:
  std::vector<std::string> words_;
  std::size_t at_ = 0;
  Refuse refuse_;
};

}  // namespace rashpa::simulation
