#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "rashpa/core/pixel_type.hpp"
#include "rashpa/core/region.hpp"
#include "rashpa/link/factory/link_options.hpp"
#include "rashpa/memory/buffer.hpp"
#include "rashpa/scheduler/scheduler.hpp"
#include "rashpa/sink/sink.hpp"
#include "rashpa/unit/factory.hpp"

namespace rashpa::receiver {

/// One DTP as the receiver knows it: where its region lies in the buffer's image, pixels.
struct DtpConfig {
  std::uint32_t id = 0;
  std::uint32_t module = 0;
  std::uint32_t x = 0;
  std::uint32_t y = 0;
  std::uint32_t width = 0;
  std::uint32_t height = 0;
};

/// What comes out of a buffer's pipeline; what a sink must know at construction.
struct Output {
  std::string buffer;
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  PixelType pixel = PixelType::u16;
  bool sparse = false;  ///< the pipeline makes CSR
  std::uint32_t stack = 0;
  std::uint64_t images = 0;  ///< expected
  Slice slice{};
};

/// Makes a sink; called once in the receiver's constructor, so that a file that cannot be written is known before the
/// run.
using SinkFactory = std::function<std::unique_ptr<sink::Sink>(const Output&)>;

/// One RASHPA buffer with all that hangs on it.
struct BufferConfig {
  std::string name;
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  PixelType pixel = PixelType::u16;
  std::uint32_t slots = 0;
  std::uint32_t stack = 0;
  Slice slice{};
  std::uint64_t images = 0;
  std::int64_t deadline_ns = 0;
  std::vector<DtpConfig> dtps;
  unit::Pipeline pipeline;
  std::vector<SinkFactory> sinks;
  unit::Choice unit{};  ///< the receiver places its threads
};

struct Config {
  std::vector<BufferConfig> buffers;
  memory::MemoryKind memory = memory::MemoryKind::huge;
  link::LinkOptions link{};          ///< of this side
  std::string source_link = "roce";  ///< of the other side: roce, verbs or pcie
  std::string bind_address = "127.0.0.1";
  std::uint16_t port = 4791;  ///< 0: any free one
  std::uint32_t link_threads = 1;
  link::Flow flow = link::Flow::credits;
  std::uint32_t run = 0;
  scheduler::Poll poll = scheduler::Poll::event;
  int first_processor = -1;  ///< link threads, then scheduler, then units; −1: nothing is pinned
};

}  // namespace rashpa::receiver
