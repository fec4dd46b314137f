// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Rows of every benchmark, for people and as JSON: the only place of their form. `rashpa bench` reads them
/// (python/rashpa/cli/bench/bench.py) and adds the facts of the machine.
#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "rashpa/core/parameter.hpp"
#include "row.hpp"

namespace rashpa::measured {

inline std::string json(const Row& row) {
  return fmt::format(
      R"({{"what": {}, "value": {:.4f}, "unit": {}, "against": {}, "against_value": {:.4f}, "ratio": {:.4f}}})",
      json_of(std::string_view(row.what)), row.value, json_of(std::string_view(row.unit)),
      json_of(std::string_view(row.against)), row.against_value, row.ratio());
}

/// Prints it at once: a line for people, or a JSON object in a line of its own.
inline void print(const Row& row, bool as_json) {
  if (as_json) {
    fmt::print("{}\n", json(row));
  } else {
    fmt::print("{:<72} {:>12.2f} {:<9}{}\n", row.what, row.value, row.unit,
               row.against_value > 0
                   ? fmt::format(" {:>6.3f} x {} ({:.2f})", row.ratio(), row.against, row.against_value)
                   : "");
  }
  std::fflush(stdout);
}

/// All rows as one JSON document.
inline void print_document(const std::vector<Row>& rows) {
  std::string lines;
  for (const Row& row : rows) lines += (lines.empty() ? "\n  " : ",\n  ") + json(row);
  fmt::print("{{\"rows\": [{}\n]}}\n", lines);
}

}  // namespace rashpa::measured
