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
#include "rashpa/sink/hdf5_config.hpp"
#include "rashpa/sink/nxmx_metadata.hpp"
#include "rashpa/sink/output.hpp"
#include "rashpa/sink/sink.hpp"
#include "rashpa/sink/stream2/lane.hpp"

namespace rashpa::sink {

/// The maker of the chunks of an hdf5 sink.
enum class Compress : std::uint8_t {
  automatic,  ///< the unit's device, where it can and no sink of the buffer reads pixels; otherwise as host
  host,       ///< threads of the sink: smaller chunks
};

/// "hdf5": NXmx files, or lists of pixels.
struct Hdf5Options {
  std::string prefix;
  std::uint32_t images_per_file = 1000;
  unsigned threads = 1;
  Compress compress = Compress::automatic;
  Existing existing = Existing::refuse;
  std::uint32_t series_images = 0;  ///< images in each set of files, <prefix>_s0001 …; 0: one set for all
  NxmxMetadata metadata{};
};

/// "raw": files of pixels without HDF5, for `rashpa convert`.
struct RawOptions {
  std::string prefix;  ///< files are <prefix>_master.h5 and <prefix>_data_000001.raw …
  std::uint32_t images_per_file = 1000;
  Existing existing = Existing::refuse;
  std::uint32_t series_images = 0;  ///< as of hdf5
  BlockWay io = BlockWay::automatic;
  unsigned in_flight = 16;
  NxmxMetadata metadata{};
};

/// "memory": the latest accepted images.
struct MemoryOptions {
  std::uint32_t capacity = 16;  ///< images
};

/// "null": counts and stores nothing.
struct NullOptions {};

/// "stream2": images for other programs, as DECTRIS Stream V2.
struct Stream2Options {
  std::string endpoint = "tcp://127.0.0.1:31001";
  std::uint32_t consumers = 1;  ///< each has a port and a queue of its own
  stream2::Pattern pattern = stream2::Pattern::push;
  std::uint32_t waiting = 256;  ///< messages, of each consumer
  double wait_s = 0;            ///< for consumers, before the run begins
  NxmxMetadata metadata{};
};

/// One alternative a sink: this line, its name and its maker in factory.cpp add one.
using Options = std::variant<Hdf5Options, RawOptions, MemoryOptions, NullOptions, Stream2Options>;

/// "hdf5", "memory", …
[[nodiscard]] std::vector<std::string> sink_names();
[[nodiscard]] std::string_view name_of(const Options& options) noexcept;
/// The options of the sink of that name. Throws ConfigError that lists the names, or names sink and key.
[[nodiscard]] Options options_named(std::string_view name, const NamedValues& values);
/// The parameters of the sink of that name. Throws ConfigError that lists the names.
[[nodiscard]] const std::vector<Parameter>& parameters_of(std::string_view name);
/// The part of a sink in compressed chunks (ChunkBoard).
enum class ChunkPart : std::uint8_t { none, makes, takes };
[[nodiscard]] ChunkPart chunk_part_of(const Options& options) noexcept;
/// Returns true when it needs the pixels of images: others take their chunks as well, or look at neither.
[[nodiscard]] bool reads_pixels(const Options& options) noexcept;
/// Throws what the sink's constructor throws.
[[nodiscard]] std::unique_ptr<Sink> make_sink(const Options& options, const Output& output);

}  // namespace rashpa::sink
