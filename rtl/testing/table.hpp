// SPDX-License-Identifier: Apache-2.0
#pragma once
/// How benches write the table of DTPs.
#include <cstdint>

#include "rashpa/card/registers.hpp"

namespace rashpa::rtl {

/// Writes all words of `table`, a word a cycle: `cycle()` is called for each. Model has a port table_i, rashpa_pkg's
/// table_write_t.
template <typename Model, typename Cycle>
void write_table(Model& model, std::uint32_t dtp, const card::registers::DtpTable& table, const Cycle& cycle) {
  const auto words = words_of(table);
  for (std::uint32_t w = 0; w < words.size(); ++w) {
    model.table_i = 1ULL << 43 | std::uint64_t{dtp} << 39 | std::uint64_t{w} << 32 | words[w];
    cycle();
  }
  model.table_i = 0;
}

}  // namespace rashpa::rtl
