// SPDX-License-Identifier: Apache-2.0
#include "bindings/preview.hpp"

#include <nanobind/stl/vector.h>

#include <string_view>
#include <utility>
#include <vector>

#include "bindings/arrays.hpp"
#include "bindings/pixels.hpp"

namespace rashpa::bindings {

namespace nb = nanobind;
using receiver::Preview;
using Shared = std::shared_ptr<const Preview>;

namespace {

nb::str named(std::string_view text) { return nb::str(text.data(), text.size()); }

// Read-only in Python: others may look at the same memory.
AnyArray pixels_of(const Shared& preview) {
  auto* held = new Shared(preview);
  const nb::capsule owner(held, [](void* at) noexcept { delete static_cast<Shared*>(at); });
  auto* data = const_cast<std::byte*>(
      preview->pixels.data());  // NOLINT(cppcoreguidelines-pro-type-const-cast): marked read-only by Python
  return AnyArray(data, {preview->form.height, preview->form.width}, owner, {}, dtype_of(preview->form.pixel));
}

std::string_view reason_of(const Preview& preview, const Results& results) {
  return results.reasons.names().at(static_cast<std::size_t>(preview.reason));
}

nb::dict columns_of(const Preview& preview, const Results& results) {
  nb::dict out;
  for (std::size_t c = 0; c < results.columns.size(); ++c) {
    const Column& column = results.columns[c];
    with_reader(column.type, [&](auto read) { out[named(column.name)] = read(preview.scalars[c]); });
  }
  return out;
}

nb::dict tables_of(const Preview& preview, const Results& results) {
  nb::dict out;
  for (std::size_t t = 0; t < results.tables.size(); ++t) {
    const Table& table = results.tables[t];
    const std::vector<Scalar>& values = preview.tables[t];
    const std::size_t columns = table.columns.size();
    nb::dict one;
    for (std::size_t c = 0; c < columns; ++c) {
      one[named(table.columns[c].name)] = column_of(table.columns[c].type, values.size() / columns,
                                                    [&](std::size_t row) { return values[row * columns + c]; });
    }
    out[named(table.name)] = one;
  }
  return out;
}

nb::dict profiles_of(const Preview& preview, const Results& results) {
  nb::dict out;
  for (std::size_t p = 0; p < results.profiles.size(); ++p) {
    const Profile& profile = results.profiles[p];
    const std::vector<double>& values = preview.profiles[p];
    if (values.empty()) continue;
    std::vector<std::size_t> shape;
    nb::dict arrays, axes;
    for (const Axis& axis : profile.axes) {
      shape.push_back(axis.values.size());
      axes[named(axis.name)] = array_of(std::vector<double>(axis.values));
    }
    const auto bins = static_cast<std::ptrdiff_t>(profile.bins());
    for (std::size_t a = 0; a < profile.arrays.size(); ++a) {
      const auto first = values.begin() + static_cast<std::ptrdiff_t>(a) * bins;
      arrays[named(profile.arrays[a].name)] = array_of(std::vector<double>(first, first + bins), shape);
    }
    out[named(profile.name)] = nb::make_tuple(arrays, axes);
  }
  return out;
}

}  // namespace

std::optional<nb::dict> preview_of(const Shared& preview, const sink::Output& output) {
  if (preview == nullptr) return std::nullopt;
  nb::dict out;
  out["index"] = preview->index;
  out["frame"] = preview->frame_number;
  out["timestamp_ns"] = preview->timestamp_ns;
  out["partial"] = preview->completeness == Completeness::partial;
  out["vetoed"] = preview->decision == Decision::vetoed ? nb::cast(named(reason_of(*preview, output.results)))
                                                        : nb::object(nb::none());
  out["arriving"] = preview->arriving;
  out["pixels"] = pixels_of(preview);
  nb::list lost;
  for (const LostRun& run : preview->lost) lost.append(nb::make_tuple(run.dtp, run.first_line, run.lines));
  out["lost"] = lost;
  out["columns"] = columns_of(*preview, output.results);
  out["tables"] = tables_of(*preview, output.results);
  out["profiles"] = profiles_of(*preview, output.results);
  return out;
}

}  // namespace rashpa::bindings
