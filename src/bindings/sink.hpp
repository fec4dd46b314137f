#pragma once
/// What Python says of a buffer's sinks and kernels, before the receiver makes them.
#include <cstdint>
#include <memory>
#include <string>
#include <variant>

#include "rashpa/receiver/config.hpp"
#include "rashpa/sink/hdf5_sink.hpp"
#include "rashpa/sink/nxmx_metadata.hpp"

namespace rashpa::bindings {

struct Hdf5Spec {
  std::string prefix;
  sink::NxmxMetadata metadata;
  std::uint32_t images_per_file = 1000;
  unsigned threads = 1;
  sink::Existing existing = sink::Existing::refuse;
};
struct NullSpec {};
struct MemorySpec {
  std::uint32_t capacity = 0;
};
using SinkSpec = std::variant<Hdf5Spec, NullSpec, MemorySpec>;

/// The factory that the receiver calls with the pipeline's output.
receiver::SinkFactory factory_of(const SinkSpec& spec);

}  // namespace rashpa::bindings
