// SPDX-License-Identifier: Apache-2.0
#include "rashpa/sink/factory.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "rashpa/core/error.hpp"
#include "rashpa/sink/nxmx/hdf5_sink.hpp"
#include "rashpa/sink/series_sink.hpp"
#include "rashpa/sink/simple/memory_sink.hpp"
#include "rashpa/sink/simple/null_sink.hpp"
#include "rashpa/sink/stream2/stream2_sink.hpp"

namespace rashpa::sink {
namespace {

/// Names in the order of Options.
constexpr std::array<std::string_view, std::variant_size_v<Options>> kNames{"hdf5", "raw", "memory", "null", "stream2"};

Hdf5Config hdf5_config(const Hdf5Options& options, const Output& output) {
  return Hdf5Config{.prefix = options.prefix,
                    .existing = options.existing,
                    .images_per_file = options.images_per_file,
                    .threads = options.threads,
                    .width = output.width,
                    .height = output.height,
                    .pixel = output.pixel,
                    .form = output.sparse ? ImageForm::sparse : ImageForm::dense,
                    .buffer = output.buffer,
                    .images = output.images,
                    .end = output.end,
                    .slice = output.slice,
                    .results = output.results,
                    .delivered = output.delivered,
                    .largest_count = output.largest_count,
                    .special = output.special,
                    .special_mask = output.special_mask,
                    .chunked = output.chunked,
                    .chunks = output.chunks,
                    .metadata = options.metadata};
}

/// Files of their own for every `length` images; 0: the same for all.
std::unique_ptr<Sink> make_files(const Hdf5Config& config, std::uint32_t length, std::uint32_t stack) {
  if (length == 0) return std::make_unique<Hdf5Sink>(config);
  const std::string_view name = config.form == ImageForm::raw ? "raw" : "hdf5";
  if (stack == 0 || length % stack != 0) {
    throw ConfigError(fmt::format("sink {}: a series of {} images ends within a stack of {}; take whole stacks", name,
                                  length, stack));
  }
  const std::uint64_t most = (config.images + length - 1) / length;
  return std::make_unique<SeriesSink>(length, most, [config, images = std::uint64_t{length}](std::uint64_t series) {
    Hdf5Config own = config;
    const std::uint64_t first = (series - 1) * images;
    own.prefix += fmt::format("_s{:04}", series);
    own.images = std::min(images, config.images - first);
    own.end = End::known;
    own.slice.phase += first * own.slice.every;
    return std::make_unique<Hdf5Sink>(own);
  });
}

std::unique_ptr<Sink> make(const Hdf5Options& options, const Output& output) {
  return make_files(hdf5_config(options, output), options.series_images, output.stack);
}

std::unique_ptr<Sink> make(const RawOptions& options, const Output& output) {
  if (output.sparse) {
    throw ConfigError(
        "sink raw: the pipeline makes lists of pixels, and raw files hold whole images; take the sink hdf5");
  }
  Hdf5Config config = hdf5_config({.prefix = options.prefix,
                                   .images_per_file = options.images_per_file,
                                   .existing = options.existing,
                                   .metadata = options.metadata},
                                  output);
  config.form = ImageForm::raw;
  config.raw = {.way = options.io, .in_flight = options.in_flight};
  return make_files(config, options.series_images, output.stack);
}

std::unique_ptr<Sink> make(const MemoryOptions& options, const Output& output) {
  return std::make_unique<MemorySink>(options.capacity, output.width, output.height, output.pixel);
}

std::unique_ptr<Sink> make(const NullOptions&, const Output& output) {
  return std::make_unique<NullSink>(output.image_bytes());
}

std::unique_ptr<Sink> make(const Stream2Options& options, const Output& output) {
  return std::make_unique<Stream2Sink>(Stream2Config{.endpoint = options.endpoint,
                                                     .outlets = options.consumers,
                                                     .pattern = options.pattern,
                                                     .waiting = options.waiting,
                                                     .wait_s = options.wait_s,
                                                     .metadata = options.metadata},
                                       output);
}

/// The options with a name outside: the metadata are a part of their own.
const Parameters<Hdf5Options>& parameters(const Hdf5Options& /*of*/) {
  static const auto declared =
      Parameters<Hdf5Options>("sink hdf5")
          .add({.name = "prefix"}, &Hdf5Options::prefix, Need::needed)
          .add({.name = "existing", .choices = {"refuse", "replace"}}, &Hdf5Options::existing)
          .add({.name = "images_per_file", .least = 1, .most = 4294967295}, &Hdf5Options::images_per_file)
          .add({.name = "threads", .least = 1, .most = 64}, &Hdf5Options::threads)
          .add({.name = "compress", .choices = {"auto", "host"}}, &Hdf5Options::compress)
          .add({.name = "series_images", .least = 0, .most = 2147483648}, &Hdf5Options::series_images);
  return declared;
}

const Parameters<RawOptions>& parameters(const RawOptions& /*of*/) {
  static const auto declared =
      Parameters<RawOptions>("sink raw")
          .add({.name = "prefix"}, &RawOptions::prefix, Need::needed)
          .add({.name = "existing", .choices = {"refuse", "replace"}}, &RawOptions::existing)
          .add({.name = "images_per_file", .least = 1, .most = 4294967295}, &RawOptions::images_per_file)
          .add({.name = "series_images", .least = 0, .most = 2147483648}, &RawOptions::series_images)
          .add({.name = "io", .choices = {"auto", "io_uring", "threads"}}, &RawOptions::io)
          .add({.name = "in_flight", .least = 1, .most = 128}, &RawOptions::in_flight);
  return declared;
}

const Parameters<MemoryOptions>& parameters(const MemoryOptions& /*of*/) {
  static const auto declared = Parameters<MemoryOptions>("sink memory")
                                   .add({.name = "capacity", .least = 1, .most = 1048576}, &MemoryOptions::capacity);
  return declared;
}

const Parameters<NullOptions>& parameters(const NullOptions& /*of*/) {
  static const Parameters<NullOptions> declared("sink null");
  return declared;
}

const Parameters<Stream2Options>& parameters(const Stream2Options& /*of*/) {
  static const auto declared = Parameters<Stream2Options>("sink stream2")
                                   .add({.name = "endpoint"}, &Stream2Options::endpoint)
                                   .add({.name = "consumers", .least = 1, .most = 64}, &Stream2Options::consumers)
                                   .add({.name = "pattern", .choices = {"push", "pub"}}, &Stream2Options::pattern)
                                   .add({.name = "waiting", .least = 1, .most = 1048576}, &Stream2Options::waiting)
                                   .add({.name = "wait_s", .least = 0, .most = 3}, &Stream2Options::wait_s);
  return declared;
}

/// Returns the result of `use` for the default options of the sink of that name.
template <typename Use, std::size_t I = 0>
auto with_options(std::string_view name, const Use& use) {
  if constexpr (I == std::variant_size_v<Options>) {
    throw ConfigError(fmt::format("there is no sink '{}'; choose one of {}", name, fmt::join(kNames, ", ")));
    return use(Hdf5Options{});
  } else {
    if (kNames[I] == name) return use(std::variant_alternative_t<I, Options>{});
    return with_options<Use, I + 1>(name, use);
  }
}

}  // namespace

std::vector<std::string> sink_names() { return {kNames.begin(), kNames.end()}; }

std::string_view name_of(const Options& options) noexcept { return kNames[options.index()]; }

Options options_named(std::string_view name, const NamedValues& values) {
  return with_options(name, [&](const auto& options) { return Options(parameters(options).read(values)); });
}

const std::vector<Parameter>& parameters_of(std::string_view name) {
  return *with_options(name, [](const auto& options) { return &parameters(options).declared(); });
}

ChunkPart chunk_part_of(const Options& options) noexcept {
  if (std::holds_alternative<Hdf5Options>(options)) return ChunkPart::makes;
  return std::holds_alternative<Stream2Options>(options) ? ChunkPart::takes : ChunkPart::none;
}

bool reads_pixels(const Options& options) noexcept {
  const auto* const files = std::get_if<Hdf5Options>(&options);
  if (files != nullptr) return files->compress == Compress::host;
  return std::holds_alternative<RawOptions>(options) || std::holds_alternative<MemoryOptions>(options);
}

std::unique_ptr<Sink> make_sink(const Options& options, const Output& output) {
  return std::visit([&](const auto& one) { return make(one, output); }, options);
}

}  // namespace rashpa::sink
