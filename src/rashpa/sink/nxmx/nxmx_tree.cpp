// SPDX-License-Identifier: Apache-2.0
#include "rashpa/sink/nxmx/nxmx_tree.hpp"

#include <fmt/chrono.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "rashpa/core/image/fill.hpp"
#include "rashpa/core/time/clock.hpp"
#include "rashpa/core/time/iso_time.hpp"
#include "rashpa/kernel/bitshuffle_lz4/bitshuffle_lz4.hpp"
#include "rashpa/sink/value_range.hpp"

namespace rashpa::sink {
namespace {

constexpr const char* kTranslation = "/entry/instrument/detector/transformations/translation";
constexpr const char* kEstimate = "end_time_estimated";
constexpr double kNs = 1e9;
constexpr const char* kImages = "nimages";
constexpr double kKevAngstrom = 12.398419843320026;  // h·c, exact since the SI of 2019

std::string known(const std::string& text) { return text.empty() ? "unknown" : text; }

/// The four attributes that make a dataset an axis of NXtransformations.
void axis(const h5::Handle& set, std::array<double, 3> vector, std::array<double, 3> offset,
          std::string_view depends_on) {
  h5::text_attribute(set.get(), "transformation_type", "translation");
  h5::attribute<double>(set.get(), "vector", vector);
  h5::attribute<double>(set.get(), "offset", offset);
  h5::text_attribute(set.get(), "offset_units", "m");
  h5::text_attribute(set.get(), "depends_on", depends_on);
}

/// `name` in `group` leads to the dataset at `path`, which says of itself that it lies there, as NeXus wants it.
void link(hid_t group, const char* name, const std::string& path) {
  const h5::Handle set = h5::open_object(group, path);
  if (H5Aexists(set.get(), "target") == 0) h5::text_attribute(set.get(), "target", path);
  h5::check(H5Lcreate_soft(path.c_str(), group, name, H5P_DEFAULT, H5P_DEFAULT), "link ", name);
}

/// The whole image as seen along the beam from the sample: columns run towards −x, rows towards
/// −y.
NxmxModule whole_image(const NxmxMetadata& metadata, const NxmxImages& images) {
  const double across = metadata.pixel_size_m, down = metadata.pixel_height_m();
  return {.name = "module_0",
          .width = images.width,
          .height = images.height,
          .corner = {metadata.beam_center_x * across, metadata.beam_center_y * down, 0},
          .fast = {-across, 0, 0},
          .slow = {0, -down, 0}};
}

/// A dataset of the length of `step`, m, in its direction.
void write_step(hid_t group, const char* name, const std::array<double, 3>& step, std::string_view depends_on) {
  const double length = std::hypot(step[0], step[1], step[2]);
  const double unit = length > 0 ? 1 / length : 0;
  axis(h5::scalar<double>(group, name, length, "m"), {step[0] * unit, step[1] * unit, step[2] * unit}, {0, 0, 0},
       depends_on);
}

void write_module(hid_t detector, const NxmxModule& module, std::size_t number) {
  const std::string name = module.name.empty() ? "module_" + std::to_string(number) : module.name;
  const h5::Handle group = h5::group(detector, name, "NXdetector_module");
  const std::array<std::uint32_t, 2> origin{module.y, module.x}, size{module.height, module.width};
  h5::array<std::uint32_t>(group.get(), "data_origin", origin);
  h5::array<std::uint32_t>(group.get(), "data_size", size);
  const std::string path = "/entry/instrument/detector/" + name;
  const std::string offset_path = path + "/module_offset";
  axis(h5::scalar<double>(group.get(), "module_offset", 0, "m"), {1, 0, 0}, module.corner, kTranslation);
  write_step(group.get(), "fast_pixel_direction", module.fast, offset_path);
  write_step(group.get(), "slow_pixel_direction", module.slow, offset_path);
  link(group.get(), "module", path + "/data_origin");  // validators want to see what an …_offset is the offset of
}

void write_pixel_mask(hid_t detector, const NxmxMetadata& metadata, const NxmxImages& images) {
  namespace bslz4 = kernel::bitshuffle_lz4;
  const std::size_t pixels = std::size_t{images.width} * images.height;
  const std::vector<std::uint32_t> none(metadata.pixel_mask.empty() ? pixels : 0);
  const auto mask = std::as_bytes(std::span(metadata.pixel_mask.empty() ? none : metadata.pixel_mask));
  const hsize_t shape[2] = {images.height, images.width}, offset[2] = {0, 0};
  const h5::Handle properties = h5::bitshuffled(shape);
  const h5::Handle space(H5Screate_simple(2, shape, nullptr), H5Sclose, "create a data space");
  const h5::Handle set(
      H5Dcreate2(detector, "pixel_mask", H5T_NATIVE_UINT32, space.get(), H5P_DEFAULT, properties.get(), H5P_DEFAULT),
      H5Dclose, "create pixel_mask");
  std::vector<std::byte> chunk(bslz4::compressed_bound(mask.size(), 4));
  const std::size_t bytes = bslz4::Compressor(4).compress(mask, chunk);
  h5::check(H5Dwrite_chunk(set.get(), H5P_DEFAULT, 0, offset, bytes, chunk.data()), "write pixel_mask");
}

/// The range of pixel values that are measurements.
void write_value_range(hid_t detector, const NxmxMetadata& metadata, const NxmxImages& images) {
  const ValueRange range = value_range(
      images.pixel, images.delivered ? std::optional(images.largest_count) : std::nullopt, metadata.saturation_value);
  if (range.least) h5::scalar<std::int64_t>(detector, "underload_value", *range.least);
  if (range.most) h5::scalar<std::int64_t>(detector, "saturation_value", *range.most);
}

/// Links under the names that pyFAI's NexusDetector looks for, which NXdetector does not define. Pixels at `dummy`,
/// give or take `delta_dummy`, are no measurement. `specific`: /entry/instrument/detector/detectorSpecific.
void write_for_pyfai(hid_t detector, hid_t specific, const NxmxMetadata& metadata, const NxmxImages& images) {
  const std::string path = "/entry/instrument/detector/detectorSpecific/";
  const std::array<std::uint32_t, 2> shape{images.height, images.width};
  h5::array<std::uint32_t>(specific, "shape", shape);
  const std::array<double, 2> pitch{metadata.pixel_height_m(), metadata.pixel_size_m};
  h5::text_attribute(h5::array<double>(specific, "pixel_size", pitch).get(), "units", "m");
  link(detector, "shape", path + "shape");
  link(detector, "max_shape", path + "shape");
  link(detector, "pixel_size", path + "pixel_size");
  link(detector, "mask", "/entry/instrument/detector/pixel_mask");
  const auto dummy = [&](double value, double around = 0.5) {
    h5::scalar<double>(specific, "dummy", value);
    h5::scalar<double>(specific, "delta_dummy", around);
    link(detector, "dummy", path + "dummy");
    link(detector, "delta_dummy", path + "delta_dummy");
  };
  if (images.delivered && images.pixel != PixelType::f32) {
    const bool is_signed = images.pixel == PixelType::i16 || images.pixel == PixelType::i32;
    const std::int64_t largest = largest_value(images.pixel);
    std::int64_t low = is_signed ? -1 : std::min(images.largest_count, largest - 1) + 1;  // lost pixels are −1
    for (const SpecialValue& one : images.special) low = std::min(low, one.value);
    const std::int64_t high = is_signed ? -1 : largest;
    const auto between = static_cast<double>(high - low) / 2;
    return dummy(static_cast<double>(low) + between, between + 0.5);
  }
  if (images.pixel == PixelType::i16) dummy(kMaskedPhotons);
  if (images.pixel == PixelType::i32) dummy(INT32_MIN);
  if (images.pixel == PixelType::u8) dummy(UINT8_MAX);
  if (images.pixel == PixelType::u16) dummy(kLostRaw);
  if (images.pixel == PixelType::u32) dummy(UINT32_MAX);
}

void write_detector(hid_t detector, const NxmxMetadata& metadata, const NxmxImages& images) {
  h5::text(detector, "description", known(metadata.description));
  h5::text(detector, "type", known(metadata.detector_name));
  h5::text(detector, "depends_on", kTranslation);
  h5::text(detector, "sensor_material", known(metadata.sensor_material));
  h5::scalar(detector, "sensor_thickness", metadata.sensor_thickness_m, "m");
  h5::scalar(detector, "distance", metadata.distance_m, "m");
  h5::scalar(detector, "beam_center_x", metadata.beam_center_x, "pixel");
  h5::scalar(detector, "beam_center_y", metadata.beam_center_y, "pixel");
  h5::scalar(detector, "x_pixel_size", metadata.pixel_size_m, "m");
  h5::scalar(detector, "y_pixel_size", metadata.pixel_height_m(), "m");
  h5::scalar(detector, "count_time", metadata.count_time_s, "s");
  h5::scalar(detector, "frame_time", metadata.frame_time_s, "s");
  if (metadata.bit_depth_readout > 0) {  // 0: not known
    h5::scalar<std::uint32_t>(detector, "bit_depth_readout", metadata.bit_depth_readout);
  }
  write_value_range(detector, metadata, images);
  write_pixel_mask(detector, metadata, images);
  const h5::Handle transformations = h5::group(detector, "transformations", "NXtransformations");
  axis(h5::scalar(transformations.get(), "translation", metadata.distance_m, "m"), {0, 0, 1}, {0, 0, 0}, ".");
  if (metadata.modules.empty()) {
    write_module(detector, whole_image(metadata, images), 0);
  }
  for (std::size_t i = 0; i < metadata.modules.size(); ++i) write_module(detector, metadata.modules[i], i);
  const h5::Handle specific = h5::group(detector, "detectorSpecific", "NXcollection");
  if (images.expected) h5::scalar<std::uint64_t>(specific.get(), kImages, *images.expected);
  h5::scalar<std::uint64_t>(specific.get(), "ntrigger", 1);
  h5::scalar<std::uint32_t>(specific.get(), "x_pixels_in_detector", images.width);
  h5::scalar<std::uint32_t>(specific.get(), "y_pixels_in_detector", images.height);
  h5::text(specific.get(), "software_version", known(metadata.software_version));
  h5::scalar<std::uint32_t>(specific.get(), "bit_depth_image", 8 * pixel_bytes(images.pixel));
  link(detector, "bit_depth_image", "/entry/instrument/detector/detectorSpecific/bit_depth_image");
  write_for_pyfai(detector, specific.get(), metadata, images);
  // Validators want to see what a …_mask is the mask of.
  if (!images.lists) {
    h5::check(H5Lcreate_soft("/entry/data/data", detector, "pixel", H5P_DEFAULT, H5P_DEFAULT), "link pixel");
  }
}

}  // namespace

h5::Handle write_nxmx_tree(hid_t file, hid_t entry, const NxmxMetadata& metadata, const NxmxImages& images) {
  h5::text_attribute(file, "NX_class", "NXroot");
  h5::text_attribute(file, "default", images.lists ? "entry" : "view");
  h5::text_attribute(file, "creator", "rashpa " + metadata.software_version);
  h5::text_attribute(entry, "default", "data");
  h5::text(entry, "definition", images.lists ? "rashpa_lists" : "NXmx");
  {
    const h5::Handle definition = h5::open_dataset(entry, "definition");
    h5::text_attribute(definition.get(), "version", "1.0");
  }
  const std::uint64_t now = now_utc_ns();
  h5::text(entry, "start_time", metadata.start_time.empty() ? iso_time(now) : metadata.start_time);
  if (!metadata.end_time_estimated.empty()) {
    h5::text(entry, kEstimate, metadata.end_time_estimated);
  } else if (images.expected) {
    h5::text(entry, kEstimate,
             iso_time(now +
                      static_cast<std::uint64_t>(static_cast<double>(*images.expected) * metadata.frame_time_s * kNs)));
  }
  const h5::Handle source = h5::group(entry, "source", "NXsource");
  h5::text(source.get(), "name", known(metadata.source_name));
  const h5::Handle sample = h5::group(entry, "sample", "NXsample");
  h5::text(sample.get(), "name", known(metadata.sample_name));
  h5::text(sample.get(), "depends_on", ".");
  const h5::Handle instrument = h5::group(entry, "instrument", "NXinstrument");
  h5::text(instrument.get(), "name", known(metadata.instrument_name));
  const h5::Handle beam = h5::group(instrument.get(), "beam", "NXbeam");
  const double wavelength = metadata.wavelength_angstrom > 0 ? metadata.wavelength_angstrom
                            : metadata.energy_kev > 0        ? kKevAngstrom / metadata.energy_kev
                                                             : 0;
  h5::scalar(beam.get(), "incident_wavelength", wavelength, "angstrom");
  if (wavelength > 0) h5::scalar(beam.get(), "incident_energy", 1000 * kKevAngstrom / wavelength, "eV");
  const h5::Handle detectors = h5::group(instrument.get(), "detector_group", "NXdetector_group");
  h5::texts(detectors.get(), "group_names", std::vector<std::string>{"detector"});
  const std::int32_t index = 1, parent = -1;
  h5::array<std::int32_t>(detectors.get(), "group_index", {&index, 1});
  h5::array<std::int32_t>(detectors.get(), "group_parent", {&parent, 1});
  h5::Handle detector = h5::group(instrument.get(), "detector", "NXdetector");
  write_detector(detector.get(), metadata, images);
  return detector;
}

void finish_nxmx_tree(hid_t entry, hid_t detector, std::uint64_t expected, std::uint64_t collected,
                      std::uint64_t written, const std::string& end_time) {
  h5::text(entry, "end_time", end_time);
  const h5::Handle specific = h5::open_group(detector, "detectorSpecific");
  if (H5Lexists(entry, kEstimate, H5P_DEFAULT) == 0) h5::text(entry, kEstimate, end_time);
  if (H5Lexists(specific.get(), kImages, H5P_DEFAULT) > 0) {  // a run may have been ended before
    h5::check(H5Ldelete(specific.get(), kImages, H5P_DEFAULT), "remove nimages");
  }
  h5::scalar<std::uint64_t>(specific.get(), kImages, expected);
  const double efficiency = expected == 0 ? 0 : static_cast<double>(collected) / static_cast<double>(expected);
  h5::scalar(specific.get(), "data_collection_efficiency", efficiency);
  h5::scalar<std::uint64_t>(specific.get(), "nimages_collected", collected);
  h5::scalar<std::uint64_t>(specific.get(), "nimages_written", written);
}

}  // namespace rashpa::sink
