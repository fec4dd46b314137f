// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The list of sinks, and their making from names.
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "rashpa/core/parameter.hpp"
#include "rashpa/sink/hdf5_config.hpp"
#include "rashpa/sink/nxmx_metadata.hpp"
#include "rashpa/sink/output.hpp"
#include "rashpa/sink/sink.hpp"
#include "rashpa/sink/stream2/lane.hpp"

namespace rashpa::sink {

/// Where an hdf5 sink's chunks are compressed.
enum class Compress : std::uint8_t {
  automatic,  ///< on the unit's device, if it can and no sink of the buffer reads pixels; otherwise as host
  host,       ///< by threads of the sink, which make smaller chunks
};

/// Options of "hdf5": NXmx files, or lists of pixels.
struct Hdf5Options {
  std::string prefix;
  std::uint32_t images_per_file = 1000;
  unsigned threads = 1;
  Compress compress = Compress::automatic;
  Existing existing = Existing::refuse;
  std::uint32_t series_images = 0;  ///< images in each set of files, <prefix>_s0001 …; 0: one set for all
  NxmxMetadata metadata{};
};

/// Options of "raw": files of pixels without HDF5, for `rashpa convert`.
struct RawOptions {
  std::string prefix;  ///< files are <prefix>_master.h5 and <prefix>_data_000001.raw …
  std::uint32_t images_per_file = 1000;
  Existing existing = Existing::refuse;
  std::uint32_t series_images = 0;  ///< as in Hdf5Options
  BlockWay io = BlockWay::automatic;
  unsigned in_flight = 16;
  NxmxMetadata metadata{};
};

/// Options of "memory", which keeps the latest accepted images.
struct MemoryOptions {
  std::uint32_t capacity = 16;  ///< images
};

/// Options of "null", which counts images and stores nothing.
struct NullOptions {};

/// Options of "stream2": images for other programs, as DECTRIS Stream V2.
struct Stream2Options {
  std::string endpoint = "tcp://127.0.0.1:31001";
  std::uint32_t consumers = 1;  ///< number of consumers, each with its own port and queue
  stream2::Pattern pattern = stream2::Pattern::push;
  std::uint32_t waiting = 256;  ///< most messages that wait for each consumer
  double wait_s = 0;            ///< time to wait for consumers before the run begins
  NxmxMetadata metadata{};
};

/// The options of a sink. A new sink adds an alternative here, and its name and maker in factory.cpp.
using Options = std::variant<Hdf5Options, RawOptions, MemoryOptions, NullOptions, Stream2Options>;

/// Returns the names of all sinks: "hdf5", "memory", …
[[nodiscard]] std::vector<std::string> sink_names();
[[nodiscard]] std::string_view name_of(const Options& options) noexcept;
/// Returns the options of the sink with that name. Throws ConfigError that lists the names, or names sink and key.
[[nodiscard]] Options options_named(std::string_view name, const NamedValues& values);
/// Returns the parameters of the sink with that name. Throws ConfigError that lists the names.
[[nodiscard]] const std::vector<Parameter>& parameters_of(std::string_view name);
/// The role of a sink for compressed chunks (ChunkBoard).
enum class ChunkPart : std::uint8_t { none, makes, takes };
[[nodiscard]] ChunkPart chunk_part_of(const Options& options) noexcept;
/// Returns true when the sink needs pixels of images. Other sinks accept chunks as well, or need neither.
[[nodiscard]] bool reads_pixels(const Options& options) noexcept;
/// Makes the sink. Throws what its constructor throws.
[[nodiscard]] std::unique_ptr<Sink> make_sink(const Options& options, const Output& output);

}  // namespace rashpa::sink
