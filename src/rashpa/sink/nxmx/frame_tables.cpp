// SPDX-License-Identifier: Apache-2.0
#include "rashpa/sink/nxmx/frame_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "rashpa/core/frame/result_types.hpp"
#include "rashpa/sink/hdf5/hdf5_column.hpp"
#include "rashpa/sink/nxmx/special_values.hpp"

namespace rashpa::sink {
namespace {

constexpr std::size_t kRows = 1024;  // rows a chunk

/// The names of an enumeration's values, in order from 0, as attribute `names`.
void explain(const h5::Column& column, std::span<const std::string> names) {
  h5::texts_attribute(column.dataset(), "names", names);
}

template <typename Enum>
std::vector<std::string> names_of(std::uint8_t count) {
  std::vector<std::string> names;
  for (std::uint8_t i = 0; i < count; ++i) names.emplace_back(name_of(static_cast<Enum>(i)));
  return names;
}

void describe(const h5::Column& column, std::string_view words) {
  h5::text_attribute(column.dataset(), "description", words);
}

/// The value of a column for images that the kernels have not processed.
template <typename T>
T not_counted() noexcept {
  if constexpr (std::is_floating_point_v<T>) return std::numeric_limits<T>::quiet_NaN();
  return std::is_signed_v<T> ? std::numeric_limits<T>::min() : std::numeric_limits<T>::max();
}

/// A number of every image; `read`: of its type.
template <typename Read>
void write_scalars(hid_t group, const FrameRows& rows, std::size_t number, Read read) {
  using T = decltype(read(Scalar()));
  const Column& facts = rows.header().results.columns[number];
  const T none = not_counted<T>();
  h5::Column column = h5::column<T>(group, facts.name, kRows);
  for (std::size_t image = 0; image < rows.size(); ++image) {
    const bool known = facts.of_header || rows.rows()[image].measured != 0;
    const T one = known ? read(rows.scalar(image, number)) : none;
    column.append(&one, 1);
  }
  column.flush();
  if (!facts.doc.empty()) describe(column, facts.doc);
  if (!facts.unit.empty()) h5::text_attribute(column.dataset(), "units", facts.unit);
  h5::attribute<T>(column.dataset(), "not_counted", {&none, 1});
}

/// The numbers that the pipeline's kernels have found, a column each.
void write_scalars(hid_t group, const FrameRows& rows) {
  std::vector<std::string> names;
  for (const Column& column : rows.header().results.columns) {
    const std::size_t number = names.size();
    names.push_back(column.name);
    with_reader(column.type, [&](auto read) { write_scalars(group, rows, number, read); });
  }
  h5::texts_attribute(group, "columns", names);
}

/// Writes where the lines of each DTP have become rows, when a kernel has changed the shape of images.
void write_line_rows(hid_t group, std::span<const NxmxDtp> dtps) {
  std::size_t longest = 0;
  for (const NxmxDtp& dtp : dtps) longest = std::max(longest, dtp.line_rows.size());
  if (longest == 0) return;
  std::vector<std::uint32_t> rows;
  for (const NxmxDtp& dtp : dtps) {
    rows.insert(rows.end(), dtp.line_rows.begin(), dtp.line_rows.end());
    rows.resize(rows.size() + longest - dtp.line_rows.size());
  }
  h5::array<std::uint32_t>(group, "line_rows", rows, {dtps.size(), longest});
}

void write_dtps(hid_t parent, std::span<const NxmxDtp> dtps) {
  if (dtps.empty()) return;
  const h5::Handle group = h5::group(parent, "dtps", "NXcollection");
  h5::text_attribute(group.get(), "description",
                     "Where each DTP's region lies in the image, in pixels; turn: degrees clockwise by which its "
                     "module was turned, flip: "
                     "1, was mirrored left to right behind that");
  const auto member = [&](const char* name, std::uint32_t NxmxDtp::*field) {
    std::vector<std::uint32_t> values;
    for (const NxmxDtp& dtp : dtps) values.push_back(dtp.*field);
    h5::array<std::uint32_t>(group.get(), name, values);
  };
  member("id", &NxmxDtp::id);
  member("module", &NxmxDtp::module);
  member("x", &NxmxDtp::x);
  member("y", &NxmxDtp::y);
  member("width", &NxmxDtp::width);
  member("height", &NxmxDtp::height);
  std::vector<std::uint32_t> turns, flips;
  for (const NxmxDtp& dtp : dtps) {
    turns.push_back(dtp.orientation.turn);
    flips.push_back(dtp.orientation.flip ? 1 : 0);
  }
  h5::array<std::uint32_t>(group.get(), "turn", turns);
  h5::array<std::uint32_t>(group.get(), "flip", flips);
  write_line_rows(group.get(), dtps);
}

void write_pipeline(hid_t parent, std::span<const NxmxKernel> kernels) {
  const h5::Handle group = h5::group(parent, "pipeline", "NXcollection");
  h5::text_attribute(group.get(), "description", "The kernels in order, with their parameters as JSON");
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const h5::Handle one = h5::group(group.get(), fmt::format("{:02}_{}", i + 1, kernels[i].name), "NXcollection");
    h5::text_attribute(one.get(), "name", kernels[i].name);
    for (const auto& [name, value] : kernels[i].parameters) h5::text_attribute(one.get(), "parameter_" + name, value);
    if (!kernels[i].veto_reasons.empty()) h5::texts_attribute(one.get(), "veto_reasons", kernels[i].veto_reasons);
  }
}

void write_calibration(hid_t parent, std::span<const NxmxCalibration> calibration) {
  if (calibration.empty()) return;
  const h5::Handle group = h5::group(parent, "calibration", "NXcollection");
  for (const NxmxCalibration& item : calibration) {
    const h5::Handle one = h5::group(group.get(), item.kind, "NXcollection");
    h5::text(one.get(), "file", item.file);
    h5::text(one.get(), "sha256", item.sha256);
    if (item.date.empty()) continue;
    h5::text(one.get(), "version", item.version);
    h5::text(one.get(), "date", item.date);
    h5::text(one.get(), "source", item.source);
  }
}

}  // namespace

void write_run_facts(hid_t entry, const NxmxMetadata& metadata, const std::string& buffer,
                     std::span<const SpecialValue> special) {
  const h5::Handle group = h5::group(entry, "rashpa", "NXcollection");
  h5::text_attribute(group.get(), "description", "One row for every image of the run, stored or not");
  h5::text_attribute(group.get(), "buffer", buffer);
  h5::text_attribute(group.get(), "receiver", metadata.receiver);
  h5::text_attribute(group.get(), "software_version", metadata.software_version);
  h5::text_attribute(group.get(), "proof", metadata.proof);
  h5::texts_attribute(group.get(), "labels", metadata.labels);
  h5::attribute<std::uint32_t>(group.get(), "run_number", {&metadata.run_number, 1});
  h5::text_attribute(group.get(), "run_name", metadata.run_name);
  h5::text_attribute(group.get(), "run_file", metadata.run_file);
  h5::text_attribute(group.get(), "run_file_sha256", metadata.run_file_sha256);
  h5::text_attribute(group.get(), "run_id", metadata.run_id);
  h5::text_attribute(group.get(), "pixel_units", metadata.pixel_units);
  write_pipeline(group.get(), metadata.kernels);
  write_dtps(group.get(), metadata.dtps);
  write_calibration(group.get(), metadata.calibration);
  write_special_values(group.get(), special);
}

void write_tables(hid_t entry, const FrameRows& rows, std::span<const std::int64_t> stored_index) {
  const h5::Handle group = h5::open_group(entry, "rashpa");
  // One column after the other, so that only one chunk is in memory.
  const auto table = [&]<typename T>(const char* name, T FrameRow::*field) {
    using Stored = std::conditional_t<std::is_enum_v<T>, std::uint8_t, T>;
    h5::Column column = h5::column<Stored>(group.get(), name, kRows);
    for (const FrameRow& row : rows.rows()) column.append(&(row.*field), 1);
    column.flush();
    return column;
  };
  table("frame_number", &FrameRow::frame_number);
  {
    const h5::Column times = table("timestamp_ns", &FrameRow::timestamp_ns);
    describe(times, "Nanoseconds since 1970-01-01 TAI; 0 when no frame record arrived, or the image was dropped");
    h5::text_attribute(times.dataset(), "units", "ns");
  }
  describe(table("flags", &FrameRow::flags), "Frame record bits: 1 dark, 2 laser, 4 last of run");
  explain(table("completeness", &FrameRow::completeness),
          std::vector<std::string>{"open", "complete", "partial", "missing"});
  explain(table("decision", &FrameRow::decision), names_of<Decision>(4));
  explain(table("veto_reason", &FrameRow::reason), rows.header().results.reasons.names());
  explain(table("error_reason", &FrameRow::error), names_of<ErrorReason>(kErrorReasons));
  write_scalars(group.get(), rows);
  h5::Column stored = h5::column<std::int64_t>(group.get(), "stored_index", kRows);
  stored.append(stored_index.data(), stored_index.size());
  stored.flush();
  describe(stored, "Place in /entry/data, -1 when not stored");

  h5::Column file = h5::column<std::uint32_t>(group.get(), "stored_file", kRows);
  h5::Column place = h5::column<std::uint32_t>(group.get(), "stored_place", kRows);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const StoredPlace at = stored_index[i] < 0 ? StoredPlace{} : rows.rows()[i].stored;
    file.append(&at.file, 1);
    place.append(&at.place, 1);
  }
  file.flush();
  place.flush();
  describe(file, "Number of the data file that holds the image, 0 when not stored");
  describe(place, "Which image of that file, from 0");

  const h5::Handle lost = h5::group(group.get(), "lost_runs", "NXcollection");
  h5::text_attribute(lost.get(), "description",
                     "Lost lines, CSR by image: rows ptr[i] to ptr[i+1] are runs of lines of a DTP's region");
  h5::Column ptr = h5::column<std::uint64_t>(lost.get(), "ptr", kRows);
  std::uint64_t end = 0;
  ptr.append(&end, 1);
  for (const FrameRow& row : rows.rows()) {
    end += row.lost_runs;
    ptr.append(&end, 1);
  }
  ptr.flush();
  const auto runs = [&](const char* name, std::uint32_t LostRun::*field) {
    h5::Column column = h5::column<std::uint32_t>(lost.get(), name, kRows);
    for (const LostRun& run : rows.lost()) column.append(&(run.*field), 1);
    column.flush();
  };
  runs("dtp", &LostRun::dtp);
  runs("first_line", &LostRun::first_line);
  runs("lines", &LostRun::lines);
}

void write_books(hid_t entry, const Books& books, std::uint64_t unknown) {
  const h5::Handle parent = h5::open_group(entry, "rashpa");
  const h5::Handle group = h5::group(parent.get(), "books", "NXcollection");
  const auto number = [&](const char* name, std::uint64_t value) {
    h5::scalar<std::uint64_t>(group.get(), name, value);
  };
  number("expected", books.expected);
  number("complete", books.complete);
  number("partial", books.partial);
  number("missing", books.missing);
  number("accepted", books.accepted);
  number("vetoed", books.vetoed);
  number("errored", books.errored);
  number("written", books.written);
  number("unknown", unknown);
  h5::scalar<std::uint8_t>(group.get(), "balanced", books.balanced() ? 1 : 0);
}

}  // namespace rashpa::sink
