// SPDX-License-Identifier: Apache-2.0
/// A plugin that is as the environment's RASHPA_TEST_PLUGIN says: "" is right, every other word is wrong in one way.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>

#include "rashpa_plugin.h"

namespace {

std::string variant() {
  const char* name = std::getenv("RASHPA_TEST_PLUGIN");
  return name == nullptr ? "" : name;
}

struct State {
  rashpa_plugin_setup setup;
  std::int64_t factor = 0;
  std::string how = variant();
};

void* create(const rashpa_plugin_setup* setup, char* why, std::size_t bytes) {
  const std::string how = variant();
  if (how == "create_throws") throw std::runtime_error("no");
  if (how == "create_refuses") {
    std::strncpy(why, "images must be square", bytes - 1);
    return nullptr;
  }
  if (how == "create_silent") return nullptr;
  auto* state = new State{.setup = *setup};
  state->factor = setup->parameters[0].integer;
  return state;
}

int process(void* given, const void* pixels, rashpa_plugin_findings* findings) {
  const auto& state = *static_cast<const State*>(given);
  const auto* first = static_cast<const std::uint16_t*>(pixels);
  const bool odd = first[0] % 2 == 1;
  if (state.how == "throws" && odd) throw std::runtime_error("odd\nimage");
  if (state.how == "throws_a_number" && odd) throw 7;
  if (state.how == "fails" && odd) return 3;
  if (state.how == "fails_silently" && odd) return -1;
  if (state.how == "verdict" && odd) findings->verdict = 9;
  findings->scalars[0].count = first[0] * static_cast<std::uint64_t>(state.factor);
  if (state.how.empty() && odd) findings->verdict = 1;
  findings->row_count = state.how == "rows" && odd ? findings->row_capacity + 5 : first[0] % 3;
  for (std::size_t row = 0; row < findings->row_count && row < findings->row_capacity; ++row) {
    findings->rows[2 * row].count = row;
    findings->rows[2 * row + 1].real = 0.5 * first[row % 8];  // the tests' images have eight pixels
  }
  if (state.how == "large" && odd) findings->scalars[0].count = std::uint64_t{1} << 40U;
  if (state.how == "large_row" && odd) {
    findings->row_count = 2;
    findings->rows[2].count = std::uint64_t{1} << 35U;
  }
  if (state.how == "writes" && odd) const_cast<std::uint16_t*>(first)[6] = 0;  // NOLINT: a plugin must not do this
  if (findings->profile != nullptr) {
    for (int bin = 0; bin < 3; ++bin) {
      findings->profile[bin] = first[0] + bin;
      findings->profile[3 + bin] = (first[0] + bin) * (first[0] + bin);
    }
  }
  return 0;
}

const char* last_error(void* given) {
  return static_cast<const State*>(given)->how == "fails_silently" ? nullptr : "an odd image";
}

void destroy(void* state) { delete static_cast<State*>(state); }

rashpa_plugin_parameter g_parameters[] = {
    {"factor", "what counts are multiplied with", RASHPA_INTEGER, 0, 1, 100, {.integer = 2}},
    {"rows", "an image", RASHPA_INTEGER, 1, 1, 1000, {.integer = 0}},
    {"part", "fraction", RASHPA_NUMBER, 0, 0, 1, {.real = 0.5}},
    {"strict", nullptr, RASHPA_FLAG, 0, NAN, NAN, {.integer = 0}},
};
rashpa_plugin_column g_scalars[] = {{"first_times", "photons", "First pixel times factor", RASHPA_COLUMN_UINT64}};
const char* g_reasons[] = {"odd", "even"};
rashpa_plugin_column g_table[] = {{"place", nullptr, nullptr, RASHPA_COLUMN_UINT32},
                                  {"half", "photons", "Half of a pixel", RASHPA_COLUMN_FLOAT64}};
rashpa_plugin_column g_arrays[] = {{"count", "photons", "First pixel, by bin", RASHPA_COLUMN_FLOAT64},
                                   {"square", nullptr, nullptr, RASHPA_COLUMN_FLOAT64}};
double g_bins[] = {0.5, 1.5, 2.5};
rashpa_plugin_axis g_axes[] = {{"bin", "1/nm", "Place", 3, g_bins}};
rashpa_plugin g_plugin{};

}  // namespace

RASHPA_PLUGIN_EXPORT const rashpa_plugin* rashpa_plugin_describe() {
  const std::string how = variant();
  if (how == "describe_throws") throw std::runtime_error("no");
  if (how == "describes_nothing") return nullptr;
  g_plugin = {.abi = RASHPA_PLUGIN_ABI,
              .bytes = sizeof(rashpa_plugin),
              .name = "test_plugin",
              .purpose = "is right or wrong as tests want it",
              .takes = RASHPA_UINT16,
              .parameter_count = 4,
              .parameters = g_parameters,
              .scalar_count = 1,
              .reason_count = 2,
              .scalars = g_scalars,
              .reasons = g_reasons,
              .table_column_count = 2,
              .reserved = 0,
              .table_columns = g_table,
              .table_rows = "rows",
              .create = create,
              .process = process,
              .last_error = last_error,
              .destroy = destroy,
              .profile_array_count = 2,
              .profile_axis_count = 1,
              .profile_arrays = g_arrays,
              .profile_axes = g_axes};
  if (how == "before_profiles") {
    g_plugin.bytes = offsetof(rashpa_plugin, profile_array_count);
    g_plugin.profile_array_count = 1000;  // not a part of it
  }
  g_scalars[0].type = how == "large" ? RASHPA_COLUMN_UINT32 : RASHPA_COLUMN_UINT64;
  g_arrays[1].name = how == "capital" ? "I_errors" : "square";
  if (how == "integer_profile") g_arrays[1].type = RASHPA_COLUMN_UINT32;
  if (how == "no_axis") g_plugin.profile_axis_count = 0;
  if (how == "three_axes") g_plugin.profile_axis_count = 3;
  if (how == "no_bins") g_axes[0].bins = 0;
  if (how == "null_bins") g_axes[0].values = nullptr;
  if (how == "nan_bins") g_bins[1] = NAN;
  if (how == "many_bins") g_axes[0].bins = ~0ULL;
  if (how == "axis_is_array") g_axes[0].name = "count";
  if (how == "abi") g_plugin.abi = 7;
  if (how == "bytes") g_plugin.bytes = 8;
  if (how == "no_name") g_plugin.name = nullptr;
  if (how == "bad_name") g_plugin.name = "Has Spaces";
  if (how == "old_name") g_plugin.name = "csr";
  if (how == "bad_purpose") g_plugin.purpose = "two\nlines";
  if (how == "takes_nothing") g_plugin.takes = 0;
  if (how == "takes_unknown") g_plugin.takes = 1U << 20U;
  if (how == "no_create") g_plugin.create = nullptr;
  if (how == "no_process") g_plugin.process = nullptr;
  if (how == "no_destroy") g_plugin.destroy = nullptr;
  if (how == "many_scalars") g_plugin.scalar_count = 1U << 30U;
  if (how == "null_scalars") g_plugin.scalars = nullptr;
  if (how == "null_reasons") g_plugin.reasons = nullptr;
  if (how == "null_reason") g_reasons[1] = nullptr;
  if (how == "same_reason") g_reasons[1] = "odd";
  if (how == "bad_column") g_scalars[0].name = "9";
  if (how == "bad_type") g_scalars[0].type = 77;
  if (how == "bad_kind") g_parameters[0].kind = 5;
  if (how == "bad_bounds") g_parameters[0].least = 1000;
  if (how == "bad_default") g_parameters[0].standard.integer = 1000;
  if (how == "same_parameter") g_parameters[2].name = "factor";
  if (how == "no_rows") g_plugin.table_rows = nullptr;
  if (how == "rows_unbounded") g_parameters[1].most = NAN;
  if (how == "rows_none") g_parameters[1].least = 0;
  if (how == "makes_nothing") {
    g_plugin.scalar_count = g_plugin.reason_count = g_plugin.table_column_count = g_plugin.profile_array_count = 0;
  }
  return &g_plugin;
}
