// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Which sinks there are, and how one is made from its name.
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "rashpa/core/parameter.hpp"
#include "rashpa/sink/hdf5_sink.hpp"
#include "rashpa/sink/nxmx_metadata.hpp"
#include "rashpa/sink/output.hpp"
#include "rashpa/sink/sink.hpp"

namespace rashpa::sink {

/// "hdf5": NXmx files, or lists of pixels.
struct Hdf5Options {
  std::string prefix;
  std::uint32_t images_per_file = 1000;
  unsigned threads = 1;
  Existing existing = Existing::refuse;
  std::uint32_t series_images = 0;  ///< files of their own, <prefix>_s0001 …, for every so many images; 0: none
  NxmxMetadata metadata{};
};

/// "memory": the latest accepted images.
struct MemoryOptions {
  std::uint32_t capacity = 16;  ///< images
};

/// "null": counts and stores nothing.
struct NullOptions {};

/// One alternative a sink: this line, its name and its maker in factory.cpp add one.
using Options = std::variant<Hdf5Options, MemoryOptions, NullOptions>;

/// "hdf5", "memory", …
[[nodiscard]] std::vector<std::string> sink_names();
[[nodiscard]] std::string_view name_of(const Options& options) noexcept;
/// The options of the sink of that name. Throws ConfigError that lists the names, or names sink and key.
[[nodiscard]] Options options_named(std::string_view name, const NamedValues& values);
/// What can be chosen of the sink of that name. Throws ConfigError that lists the names.
[[nodiscard]] const std::vector<Parameter>& parameters_of(std::string_view name);
/// Throws what the sink's constructor throws.
[[nodiscard]] std::unique_ptr<Sink> make_sink(const Options& options, const Output& output);

}  // namespace rashpa::sink
