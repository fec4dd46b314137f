#include "rashpa/sink/factory.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

#include "rashpa/core/error.hpp"
#include "rashpa/sink/memory_sink.hpp"
#include "rashpa/sink/null_sink.hpp"

namespace rashpa::sink {
namespace {

/// In the order of Options.
constexpr std::array<std::string_view, std::variant_size_v<Options>> kNames{"hdf5", "memory", "null"};

std::unique_ptr<Sink> make(const Hdf5Options& options, const Output& output) {
  return std::make_unique<Hdf5Sink>(Hdf5Config{.prefix = options.prefix,
                                               .existing = options.existing,
                                               .images_per_file = options.images_per_file,
                                               .threads = options.threads,
                                               .width = output.width,
                                               .height = output.height,
                                               .pixel = output.pixel,
                                               .form = output.sparse ? ImageForm::sparse : ImageForm::dense,
                                               .buffer = output.buffer,
                                               .images = output.images,
                                               .slice = output.slice,
                                               .results = output.results,
                                               .delivered = output.delivered,
                                               .largest_count = output.largest_count,
                                               .special = output.special,
                                               .special_mask = output.special_mask,
                                               .metadata = options.metadata});
}

std::unique_ptr<Sink> make(const MemoryOptions& options, const Output& output) {
  return std::make_unique<MemorySink>(options.capacity, output.width, output.height, output.pixel);
}

std::unique_ptr<Sink> make(const NullOptions&, const Output& output) {
  return std::make_unique<NullSink>(output.image_bytes());
}

template <std::size_t I = 0>
Options alternative(std::size_t index) {
  if constexpr (I + 1 < std::variant_size_v<Options>) {
    if (index != I) return alternative<I + 1>(index);
  }
  return std::variant_alternative_t<I, Options>{};
}

}  // namespace

std::vector<std::string> sink_names() { return {kNames.begin(), kNames.end()}; }

std::string_view name_of(const Options& options) noexcept { return kNames[options.index()]; }

Options options_of(std::string_view name) {
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return alternative(i);
  }
  throw ConfigError(fmt::format("there is no sink '{}'; there are {}", name, fmt::join(kNames, ", ")));
}

std::unique_ptr<Sink> make_sink(const Options& options, const Output& output) {
  return std::visit([&](const auto& one) { return make(one, output); }, options);
}

}  // namespace rashpa::sink
