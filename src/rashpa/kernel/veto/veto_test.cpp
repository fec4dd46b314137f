// SPDX-License-Identifier: Apache-2.0
#include "rashpa/kernel/veto/veto.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "rashpa/core/error.hpp"
#include "rashpa/kernel/veto/rule.hpp"

namespace rashpa::kernel::veto {
namespace {

const std::vector<Column> kColumns{{"n_peaks", Column::Type::u32},
                                   {"total_counts", Column::Type::i64},
                                   {"lit_pixels", Column::Type::u64},
                                   {"snr", Column::Type::f64}};

std::string trimmed(const std::string& text) {
  const auto first = text.find_first_not_of(' ');
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(' ') - first + 1);
}

std::vector<Scalar> numbers_of(const std::string& text) {
  std::vector<Scalar> numbers(kColumns.size());
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const auto sign = word.find('=');
    const std::string name = word.substr(0, sign);
    const char* const value = word.c_str() + sign + 1;
    for (std::size_t i = 0; i < kColumns.size(); ++i) {
      if (kColumns[i].name != name) continue;
      numbers[i] = kColumns[i].type == Column::Type::f64   ? Scalar::of_real(std::strtod(value, nullptr))
                   : kColumns[i].type == Column::Type::i64 ? Scalar::of_integer(std::strtoll(value, nullptr, 10))
                                                           : Scalar::of_count(std::strtoull(value, nullptr, 10));
    }
  }
  return numbers;
}

/// The verdict of the rule on the numbers, or the reason of its refusal.
std::string said(const std::string& rule, const std::vector<Scalar>& numbers) {
  try {
    return Rule(rule, kColumns).holds(numbers.data()) ? "true" : "false";
  } catch (const ConfigError& error) {
    return std::string("! ") + error.what();
  }
}

TEST(Veto, rules_are_read_as_the_table_of_cases_says) {
  std::ifstream file(RASHPA_VETO_CASES);
  std::size_t cases = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.front() == '#') continue;
    const auto first = line.find('|');
    const auto second = line.find('|', first + 1);
    const std::string expected = trimmed(line.substr(second + 1));
    const std::string rule = trimmed(line.substr(0, first));
    EXPECT_THAT(said(rule, numbers_of(line.substr(first + 1, second - first - 1))),
                testing::StartsWith(expected.substr(0, 2)))
        << line;
    EXPECT_THAT(said(rule, numbers_of(line.substr(first + 1, second - first - 1))),
                testing::HasSubstr(expected.front() == '!' ? expected.substr(2) : expected))
        << line;
    ++cases;
  }
  EXPECT_GT(cases, 50U);
  EXPECT_THAT(said(std::string(1001, '('), {}), testing::HasSubstr("it has 1001 characters; write 1000 or fewer"));
}

TEST(Veto, no_rule_needs_more_than_its_stack) {
  std::string rule = "snr > 0";
  for (std::size_t depth = 0; depth < kMostDepth; ++depth) rule.insert(0, "(").append(")");
  EXPECT_EQ(said(rule, numbers_of("snr=1")), "true");
  std::string sums = "snr";
  for (std::size_t depth = 0; depth < kMostDepth; ++depth) sums.insert(0, "1+1*(").append(")");
  sums = "1>2 or 1<2 and " + sums + ">32";
  EXPECT_EQ(said(sums, numbers_of("snr=1")), "true");
  std::size_t held = 0;
  std::size_t most = 0;
  const Rule compiled(sums, kColumns);
  for (const Operation& one : compiled.operations()) {
    if (one.code <= Operation::Code::real) {
      ++held;
    } else if (one.code > Operation::Code::opposite) {
      --held;
    }
    most = std::max(most, held);
  }
  EXPECT_LE(most, kMostStack);
}

TEST(Veto, the_step_gives_its_reason) {
  const auto step = step_of({"n_peaks >= 15 or total_counts > 1e6", "no_hit"});
  EXPECT_EQ(step->declaration().made(Port::Kind::verdict)->reasons, std::vector<std::string>{"no_hit"});
  step->fit_columns(kColumns);
  EXPECT_THROW(step->fit_columns(std::span(kColumns).first(1)), ConfigError);
  const auto pass = step->on_cpu({.shape = {4, 4}, .stack = 2, .before = kColumns});
  auto numbers = numbers_of("n_peaks=14 total_counts=1000000");
  Finding finding{.before = numbers.data()};
  pass->finish(0, finding);
  EXPECT_EQ(finding.verdict, 1);
  numbers = numbers_of("n_peaks=15");
  finding = {.before = numbers.data()};
  pass->finish(0, finding);
  EXPECT_EQ(finding.verdict, 0);
}

TEST(Veto, wrong_parameters_are_refused_when_it_is_made) {
  const auto refusal = [](const Config& config) -> std::string {
    try {
      static_cast<void>(step_of(config));
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_EQ(refusal({"anything > 3", "weak"}), "accepted");
  EXPECT_THAT(refusal({"anything >", "weak"}), testing::HasSubstr("kernel veto: keep: it ends where"));
  for (const char* reason : {"", "None", "none", "9th", "no hit", "é"}) {
    EXPECT_THAT(refusal({"n > 3", reason}),
                testing::HasSubstr("kernel veto: reason: the name is not allowed; give a small letter"))
        << reason;
  }
}

}  // namespace
}  // namespace rashpa::kernel::veto
