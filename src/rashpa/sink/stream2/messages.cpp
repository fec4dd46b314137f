// SPDX-License-Identifier: Apache-2.0
#include "rashpa/sink/stream2/messages.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <random>
#include <span>
#include <string_view>
#include <vector>

#include "rashpa/core/time/clock.hpp"
#include "rashpa/kernel/bitshuffle_lz4/bitshuffle_lz4.hpp"
#include "rashpa/sink/value_range.hpp"

namespace rashpa::sink::stream2 {

namespace {

namespace bslz4 = kernel::bitshuffle_lz4;

constexpr std::uint64_t kDate = 0, kArray = 40, kCompressed = 56500;  // tags
constexpr std::uint64_t kNsPerSecond = 1'000'000'000;

/// The tag of a little-endian array of such numbers (RFC 8746).
std::uint64_t tag_of(PixelType type) noexcept {
  constexpr std::uint64_t tags[] = {64, 69, 70, 77, 78, 85};
  return tags[static_cast<std::size_t>(type)];
}

/// Rows, columns and the head of the compressed bytes, which follow.
void array_head(Cbor& out, const Output& output, PixelType type, std::size_t bytes) {
  out.tag(kArray);
  out.array(2);
  out.array(2);
  out.count(output.height);
  out.count(output.width);
  out.tag(tag_of(type));
  out.tag(kCompressed);
  out.array(3);
  out.text("bslz4");
  out.count(pixel_bytes(type));
  out.bytes_head(bytes);
}

void rational(Cbor& out, std::uint64_t ns) {
  out.array(2);
  out.count(ns);
  out.count(kNsPerSecond);
}

void date(Cbor& out, std::string_view text) {
  out.tag(kDate);
  out.text(text);
}

void positive(Cbor::Map& map, std::string_view key, double value) {
  if (value > 0) map.key(key).real(value);
}

void known(Cbor::Map& map, std::string_view key, const std::string& value) {
  if (!value.empty()) map.key(key).text(value);
}

void write_mask(Cbor::Map& start, const Output& output, const NxmxMetadata& metadata) {
  if (metadata.pixel_mask.empty()) return;
  const auto mask = std::as_bytes(std::span(metadata.pixel_mask));
  std::vector<std::byte> chunk(bslz4::compressed_bound(mask.size(), sizeof(std::uint32_t)));
  const std::size_t bytes = bslz4::Compressor(sizeof(std::uint32_t)).compress(mask, chunk);
  Cbor& out = start.key("pixel_mask");
  Cbor::Map channels(out);
  channels.key(kChannel);
  array_head(out, output, PixelType::u32, bytes);
  out.append(std::span<const std::byte>(chunk).first(bytes));
}

void write_value(Cbor& out, Column::Type type, Scalar value) {
  switch (type) {
    case Column::Type::i64:
      return out.integer(value.integer());
    case Column::Type::f64:
      return out.real(value.real());
    default:
      return out.count(value.count());
  }
}

/// Writes where lost lines lie.
void write_dtps(Cbor& out, const std::vector<NxmxDtp>& dtps) {
  out.array(dtps.size());
  for (const NxmxDtp& dtp : dtps) {
    Cbor::Map map(out);
    map.key("id").count(dtp.id);
    map.key("module").count(dtp.module);
    map.key("x").count(dtp.x);
    map.key("y").count(dtp.y);
    map.key("width").count(dtp.width);
    map.key("height").count(dtp.height);
    map.key("turn").count(dtp.orientation.turn);
    map.key("flip").flag(dtp.orientation.flip);
    if (dtp.line_rows.empty()) continue;
    map.key("line_rows").array(dtp.line_rows.size());
    for (const std::uint32_t row : dtp.line_rows) out.count(row);
  }
}

void write_step(Cbor& out, const std::array<double, 3>& step) {
  out.array(step.size());
  for (const double along : step) out.real(along);
}

void write_modules(Cbor& out, const std::vector<NxmxModule>& modules) {
  out.array(modules.size());
  for (const NxmxModule& module : modules) {
    Cbor::Map map(out);
    map.key("name").text(module.name);
    map.key("x").count(module.x);
    map.key("y").count(module.y);
    map.key("width").count(module.width);
    map.key("height").count(module.height);
    write_step(map.key("corner"), module.corner);
    write_step(map.key("fast"), module.fast);
    write_step(map.key("slow"), module.slow);
  }
}

std::string_view name_of_completeness(Completeness completeness) noexcept {
  constexpr std::string_view names[] = {"open", "complete", "partial", "missing"};
  return names[static_cast<std::size_t>(completeness) & 3U];
}

void write_run(Cbor& out, const Output& output, const NxmxMetadata& metadata) {
  Cbor::Map user(out);
  user.key("buffer").text(output.buffer);
  known(user, "run_name", metadata.run_name);
  known(user, "run_file", metadata.run_file);
  known(user, "run_file_sha256", metadata.run_file_sha256);
  known(user, "software", metadata.software_version.empty() ? "" : "rashpa " + metadata.software_version);
  known(user, "receiver", metadata.receiver);
  known(user, "instrument_name", metadata.instrument_name);
  known(user, "source_name", metadata.source_name);
  known(user, "sample_name", metadata.sample_name);
  known(user, "pixel_units", metadata.pixel_units);
  known(user, "completeness_proof", metadata.proof);
  user.key("bit_depth_readout").count(metadata.bit_depth_readout);
  user.key("frames_every").count(output.slice.every);
  user.key("frames_phase").count(output.slice.phase);
  user.key("labels").array(metadata.labels.size());
  for (const std::string& label : metadata.labels) out.text(label);
  user.key("veto_reasons").array(output.results.reasons.names().size());
  for (const std::string& reason : output.results.reasons.names()) out.text(reason);
  write_dtps(user.key("dtps"), metadata.dtps);
  write_modules(user.key("modules"), metadata.modules);
  Cbor& units = user.key("values");
  Cbor::Map values(units);
  for (const Column& column : output.results.columns) values.key(column.name).text(column.unit);
}

void write_frame(Cbor& out, const Tally& tally, const Output& output, const StackImage& image) {
  Cbor::Map user(out);
  user.key("frame_number").count(image.frame_number);
  user.key("index").count(image.index);
  user.key("completeness").text(name_of_completeness(image.completeness));
  user.key("flags").count(image.flags);
  user.key("timestamp_ns").count(image.timestamp_ns);
  user.key("vetoed_before").count(tally.vetoed);
  user.key("errored_before").count(tally.errored);
  const std::uint32_t listed = std::min(image.lost_count, kMostLost);
  user.key("lost_runs").count(image.lost_count);
  user.key("lost").array(listed);
  for (const LostRun& run : image.lost_runs().first(listed)) {
    out.array(3);
    out.count(run.dtp);
    out.count(run.first_line);
    out.count(run.lines);
  }
  const Results& results = output.results;
  for (std::size_t t = 0; t < results.tables.size(); ++t) {
    user.key(results.tables[t].name + "_count").count(image.tables[t].rows);
  }
  if (!image.measured) return;
  user.key("values");
  Cbor::Map values(out);
  for (std::size_t c = 0; c < results.columns.size(); ++c) {
    write_value(values.key(results.columns[c].name), results.columns[c].type, image.scalars[c]);
  }
}

}  // namespace

void write_start(Cbor& out, const Series& series, const Output& output, const NxmxMetadata& metadata) {
  out.clear();
  Cbor::Map start(out);
  start.key("type").text("start");
  start.key("series_id").count(series.id);
  start.key("series_unique_id").text(series.unique_id);
  date(start.key("arm_date"), series.arm_date);
  if (metadata.beam_center_x != 0 || metadata.beam_center_y != 0) {
    start.key("beam_center_x").real(metadata.beam_center_x);
    start.key("beam_center_y").real(metadata.beam_center_y);
  }
  start.key("channels").array(1);
  out.text(kChannel);
  positive(start, "count_time", metadata.count_time_s);
  positive(start, "frame_time", metadata.frame_time_s);
  start.key("countrate_correction_enabled").flag(false);
  start.key("flatfield_enabled").flag(false);
  start.key("virtual_pixel_interpolation_enabled").flag(false);
  known(start, "detector_description", metadata.description.empty() ? metadata.detector_name : metadata.description);
  if (metadata.distance_m > 0) {
    start.key("detector_translation").array(3);
    out.real(0);
    out.real(0);
    out.real(metadata.distance_m);
  }
  start.key("image_dtype").text(pixel_name(output.pixel));
  start.key("image_size_x").count(output.width);
  start.key("image_size_y").count(output.height);
  positive(start, "incident_energy", metadata.energy_kev * 1e3);
  positive(start, "incident_wavelength", metadata.wavelength_angstrom);
  start.key("number_of_images").count(output.images);
  start.key("pixel_mask_enabled").flag(!metadata.pixel_mask.empty());
  write_mask(start, output, metadata);
  positive(start, "pixel_size_x", metadata.pixel_size_m);
  positive(start, "pixel_size_y", metadata.pixel_height_m());
  const ValueRange range = value_range(
      output.pixel, output.delivered ? std::optional(output.largest_count) : std::nullopt, metadata.saturation_value);
  if (range.most)
    start.key("saturation_value").count(static_cast<std::uint64_t>(std::max<std::int64_t>(0, *range.most)));
  known(start, "sensor_material", metadata.sensor_material);
  positive(start, "sensor_thickness", metadata.sensor_thickness_m);
  write_run(start.key("user_data"), output, metadata);
}

void write_image(Cbor& out, const Series& series, const Tally& tally, const Output& output,
                 const NxmxMetadata& metadata, const StackImage& image, std::size_t chunk_bytes) {
  out.clear();
  Cbor::Map map(out);
  map.key("type").text("image");
  map.key("series_id").count(series.id);
  map.key("series_unique_id").text(series.unique_id);
  map.key("image_id").count(tally.accepted);
  const auto exposure = static_cast<std::uint64_t>(std::llround(std::max(0.0, metadata.count_time_s) * 1e9));
  if (exposure > 0) rational(map.key("real_time"), exposure);
  if (image.timestamp_ns != 0 && image.timestamp_ns >= series.first_ns && !series.date.empty()) {
    const std::uint64_t began = image.timestamp_ns - series.first_ns;
    date(map.key("series_date"), series.date);
    rational(map.key("start_time"), began);
    rational(map.key("stop_time"), began + exposure);
  }
  write_frame(map.key("user_data"), tally, output, image);
  map.key("data");
  Cbor::Map channels(out);
  channels.key(kChannel);
  array_head(out, output, output.pixel, chunk_bytes);
}

void write_end(Cbor& out, const Series& series, const Tally& tally, const Books* books, const Delivery& delivery) {
  out.clear();
  Cbor::Map end(out);
  end.key("type").text("end");
  end.key("series_id").count(series.id);
  end.key("series_unique_id").text(series.unique_id);
  end.key("user_data");
  Cbor::Map user(out);
  user.key("images").count(tally.accepted);
  user.key("images_sent").count(delivery.sent);
  user.key("images_missed").count(delivery.missed);
  user.key("whole_run").flag(books != nullptr);
  if (books == nullptr) return;
  user.key("expected").count(books->expected);
  user.key("complete").count(books->complete);
  user.key("partial").count(books->partial);
  user.key("missing").count(books->missing);
  user.key("vetoed").count(books->vetoed);
  user.key("errored").count(books->errored);
}

std::string make_ulid() {
  constexpr std::string_view letters = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
  std::random_device random;
  std::uint64_t ms = now_utc_ns() / 1'000'000;
  std::string id(26, '0');
  for (std::size_t i = 10; i-- > 0; ms >>= 5U) id[i] = letters[ms & 31U];
  for (std::size_t i = 10; i < id.size(); ++i) id[i] = letters[random() & 31U];
  return id;
}

std::string date_of_tai(std::uint64_t tai) {
  const std::uint64_t utc = utc_of_tai(tai);
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:09}Z", fmt::gmtime(static_cast<std::time_t>(utc / kNsPerSecond)),
                     utc % kNsPerSecond);
}

}  // namespace rashpa::sink::stream2
