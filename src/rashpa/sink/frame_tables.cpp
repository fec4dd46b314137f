#include "rashpa/sink/frame_tables.hpp"

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

void write_dtps(hid_t parent, std::span<const NxmxDtp> dtps) {
  if (dtps.empty()) return;
  const h5::Handle group = h5::group(parent, "dtps", "NXcollection");
  h5::text_attribute(group.get(), "description", "Where each DTP's region lies in the image, in pixels");
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
}

void write_calibration(hid_t parent, std::span<const NxmxCalibration> calibration) {
  if (calibration.empty()) return;
  const h5::Handle group = h5::group(parent, "calibration", "NXcollection");
  for (const NxmxCalibration& item : calibration) {
    const h5::Handle one = h5::group(group.get(), item.kind, "NXcollection");
    h5::text(one.get(), "file", item.file);
    h5::text(one.get(), "sha256", item.sha256);
  }
}

}  // namespace

FrameTables::FrameTables(hid_t entry, const NxmxMetadata& metadata, const std::string& buffer)
    : group_(h5::group(entry, "rashpa", "NXcollection")),
      frame_number_(h5::column<std::uint64_t>(group_.get(), "frame_number", kRows)),
      timestamp_(h5::column<std::uint64_t>(group_.get(), "timestamp_ns", kRows)),
      flags_(h5::column<std::uint32_t>(group_.get(), "flags", kRows)),
      completeness_(h5::column<std::uint8_t>(group_.get(), "completeness", kRows)),
      decision_(h5::column<std::uint8_t>(group_.get(), "decision", kRows)),
      reason_(h5::column<std::uint8_t>(group_.get(), "veto_reason", kRows)),
      bright_(h5::column<std::uint32_t>(group_.get(), "bright_pixels", kRows)),
      masked_(h5::column<std::uint32_t>(group_.get(), "masked_pixels", kRows)),
      saturated_(h5::column<std::uint32_t>(group_.get(), "saturated_pixels", kRows)),
      stored_(h5::column<std::int64_t>(group_.get(), "stored_index", kRows)),
      lost_(h5::group(group_.get(), "lost_runs", "NXcollection")),
      lost_ptr_(h5::column<std::uint64_t>(lost_.get(), "ptr", kRows)),
      lost_dtp_(h5::column<std::uint32_t>(lost_.get(), "dtp", kRows)),
      lost_first_(h5::column<std::uint32_t>(lost_.get(), "first_line", kRows)),
      lost_lines_(h5::column<std::uint32_t>(lost_.get(), "lines", kRows)) {
  h5::text_attribute(group_.get(), "description", "One row for every image of the run, stored or not");
  h5::text_attribute(group_.get(), "buffer", buffer);
  h5::text_attribute(group_.get(), "receiver", metadata.receiver);
  h5::text_attribute(group_.get(), "software_version", metadata.software_version);
  h5::text_attribute(group_.get(), "proof", metadata.proof);
  h5::texts_attribute(group_.get(), "labels", metadata.labels);
  explain(completeness_, std::vector<std::string>{"open", "complete", "partial", "missing"});
  explain(decision_, names_of<Decision>(4));
  explain(reason_, names_of<VetoReason>(5));
  describe(timestamp_, "Nanoseconds since 1970-01-01 TAI; 0 when no frame record arrived");
  describe(flags_, "Frame record bits: 1 dark, 2 laser, 4 last of run");
  describe(bright_, "Pixels at or above the veto's threshold");
  describe(masked_, "Pixels without a valid value, lost lines included");
  describe(stored_, "Place in /entry/data, -1 when not stored");
  h5::text_attribute(lost_.get(), "description",
                     "Lost lines, CSR by image: rows ptr[i] to ptr[i+1] are runs of lines of a DTP's region");
  write_dtps(group_.get(), metadata.dtps);
  write_calibration(group_.get(), metadata.calibration);
  lost_ptr_.append(&lost_count_, 1);
}

void FrameTables::append(const StackImage& image, std::int64_t stored_index) {
  frame_number_.append(&image.frame_number, 1);
  timestamp_.append(&image.timestamp_ns, 1);
  flags_.append(&image.flags, 1);
  completeness_.append(&image.completeness, 1);
  decision_.append(&image.decision, 1);
  reason_.append(&image.reason, 1);
  bright_.append(&image.bright_pixels, 1);
  masked_.append(&image.masked_pixels, 1);
  saturated_.append(&image.saturated_pixels, 1);
  stored_.append(&stored_index, 1);
  for (const LostRun& run : image.lost_runs()) {
    lost_dtp_.append(&run.dtp, 1);
    lost_first_.append(&run.first_line, 1);
    lost_lines_.append(&run.lines, 1);
  }
  lost_count_ += image.lost_count;
  lost_ptr_.append(&lost_count_, 1);
}

void FrameTables::close(const Books& books) {
  for (h5::Column* column : {&frame_number_, &timestamp_, &flags_, &completeness_, &decision_, &reason_, &bright_,
                             &masked_, &saturated_, &stored_, &lost_ptr_, &lost_dtp_, &lost_first_, &lost_lines_}) {
    column->flush();
  }
  const h5::Handle group = h5::group(group_.get(), "books", "NXcollection");
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
  h5::scalar<std::uint8_t>(group.get(), "balanced", books.balanced() ? 1 : 0);
}

}  // namespace rashpa::sink
