// SPDX-License-Identifier: Apache-2.0
#include "rashpa/sink/factory.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "rashpa/core/error.hpp"
#include "rashpa/sink/memory_sink.hpp"
#include "rashpa/sink/null_sink.hpp"
#include "rashpa/sink/series_sink.hpp"

namespace rashpa::sink {
namespace {

/// In the order of Options.
constexpr std::array<std::string_view, std::variant_size_v<Options>> kNames{"hdf5", "memory", "null"};

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
                    .metadata = options.metadata};
}

std::unique_ptr<Sink> make(const Hdf5Options& options, const Output& output) {
  const Hdf5Config config = hdf5_config(options, output);
  if (options.series_images == 0) return std::make_unique<Hdf5Sink>(config);
  if (output.stack == 0 || options.series_images % output.stack != 0) {
    throw ConfigError(fmt::format("sink hdf5: a series of {} images is no whole number of stacks of {}",
                                  options.series_images, output.stack));
  }
  const std::uint64_t most = (output.images + options.series_images - 1) / options.series_images;
  return std::make_unique<SeriesSink>(options.series_images, most,
                                      [config, length = std::uint64_t{options.series_images}](std::uint64_t series) {
                                        Hdf5Config own = config;
                                        const std::uint64_t first = (series - 1) * length;
                                        own.prefix += fmt::format("_s{:04}", series);
                                        own.images = std::min(length, config.images - first);
                                        own.end = End::known;
                                        own.slice.phase += first * own.slice.every;
                                        return std::make_unique<Hdf5Sink>(own);
                                      });
}

std::unique_ptr<Sink> make(const MemoryOptions& options, const Output& output) {
  return std::make_unique<MemorySink>(options.capacity, output.width, output.height, output.pixel);
}

std::unique_ptr<Sink> make(const NullOptions&, const Output& output) {
  return std::make_unique<NullSink>(output.image_bytes());
}

/// What of the options has a name outside: the metadata are a part of their own.
const Parameters<Hdf5Options>& parameters(const Hdf5Options& /*of*/) {
  static const auto declared =
      Parameters<Hdf5Options>("sink hdf5")
          .add({.name = "prefix"}, &Hdf5Options::prefix, Need::needed)
          .add({.name = "existing", .choices = {"refuse", "replace"}}, &Hdf5Options::existing, Need::needed)
          .add({.name = "images_per_file", .least = 1, .most = 4294967295}, &Hdf5Options::images_per_file)
          .add({.name = "threads", .least = 1, .most = 64}, &Hdf5Options::threads)
          .add({.name = "series_images", .least = 0, .most = 2147483648}, &Hdf5Options::series_images);
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

/// What `use` makes of the options of the sink of that name, as they are when nothing is said.
template <typename Use, std::size_t I = 0>
auto with_options(std::string_view name, const Use& use) {
  if constexpr (I == std::variant_size_v<Options>) {
    throw ConfigError(fmt::format("there is no sink '{}'; there are {}", name, fmt::join(kNames, ", ")));
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

std::unique_ptr<Sink> make_sink(const Options& options, const Output& output) {
  return std::visit([&](const auto& one) { return make(one, output); }, options);
}

}  // namespace rashpa::sink
