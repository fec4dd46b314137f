// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "rashpa/core/end.hpp"
#include "rashpa/core/frame/dealt.hpp"
#include "rashpa/core/image/pixel_type.hpp"
#include "rashpa/core/image/region.hpp"
#include "rashpa/core/image/special_value.hpp"
#include "rashpa/core/parameter.hpp"
#include "rashpa/feedback/publisher.hpp"
#include "rashpa/link/factory/link_options.hpp"
#include "rashpa/memory/buffer.hpp"
#include "rashpa/scheduler/scheduler.hpp"
#include "rashpa/sink/factory.hpp"
#include "rashpa/unit/factory.hpp"

namespace rashpa::receiver {

/// One DTP in the form that the receiver needs: the place of its region in the buffer's image, in pixels.
struct DtpConfig {
  std::uint32_t id = 0;
  std::uint32_t module = 0;
  std::uint32_t x = 0;
  std::uint32_t y = 0;
  std::uint32_t width = 0;
  std::uint32_t height = 0;
};

using sink::Output;

/// Makes a sink. The receiver's constructor calls it once, so that a file that cannot be written is known before the
/// run.
using SinkFactory = std::function<std::unique_ptr<sink::Sink>(const Output&)>;

/// The treatment of stacks for a sink that is behind.
enum class OnFull : std::uint8_t {
  wait,  ///< the stack waits in its slots, so that in the end the source waits or finds no free slot
  drop,  ///< the sink gets copies in its own memory, and misses images without room there
};

/// One sink of a buffer, and how it gets stacks.
struct SinkConfig {
  SinkConfig() = default;
  /// Describes a sink of the factory, under its name there.
  explicit SinkConfig(const sink::Options& options, OnFull full = OnFull::wait, std::uint32_t stacks = 4)
      : make([options](const Output& output) { return sink::make_sink(options, output); }),
        name(sink::name_of(options)),
        chunks(sink::chunk_part_of(options)),
        reads_pixels(sink::reads_pixels(options)),
        on_full(full),
        queue(stacks) {}
  template <typename Make>
  requires std::is_invocable_r_v < std::unique_ptr<sink::Sink>, Make,
  const Output& > SinkConfig(Make maker)
      : make(std::move(maker)) {}  // NOLINT(google-explicit-constructor): a sink that is waited for

  SinkFactory make;
  std::string name = "sink";  ///< name in status, messages and reports; made unique in its buffer
  sink::ChunkPart chunks = sink::ChunkPart::none;
  bool reads_pixels = true;  ///< the sink needs pixels; chunks do not suffice
  OnFull on_full = OnFull::wait;
  std::uint32_t queue = 4;  ///< for drop: stacks that the sink's own memory holds, at least 1
  /// The longest time for a sink that may drop, at the end of the run: this time for one put(), ten times as long for
  /// settle() and close(). After that the sink is abandoned, and images that it has not stored are lost.
  std::int64_t patience_ns = 30'000'000'000;
};

/// One RASHPA buffer with all its parts. The parameters of [[buffer]] keys are declared below.
struct BufferConfig {
  std::string name;
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  PixelType pixel = PixelType::u16;
  std::vector<SpecialValue> special{};     ///< special values of the detector's pixels
  std::optional<kernel::Masked> masked{};  ///< as unit::Layout
  std::uint32_t slots = 40;
  std::uint32_t stack = 10;
  Slice slice{};
  std::uint64_t images =
      0;  ///< images that are due, or the most that may come; for dealt images, those of the whole slice
  End end = End::known;
  bool dealt = false;  ///< one of several buffers among which images are dealt: records name their frames
  std::uint32_t deadline_ms = 1000;
  std::string events = "image";  ///< or "lines:N": an event for each part of N lines
  std::uint32_t quiet_ms = 0;    ///< as in scheduler::Lane; 0: unlimited
  std::vector<DtpConfig> dtps;
  unit::Pipeline pipeline;
  std::vector<SinkConfig> sinks;                ///< at least one
  std::optional<feedback::Options> feedback{};  ///< none: decisions are not published
  unit::Choice unit{};                          ///< the receiver sets its threads
  /// Returns the exclusive upper bound of image indices.
  [[nodiscard]] std::uint64_t most() const noexcept { return most_images(images, dealt); }
};

/// Returns the keys of [[buffer]] that the receiver carries out, each declared once. The declaration provides the run
/// file's model, telegrams, their schema, the reference page and the reading of values (tools/make_kernels.py). Keys
/// that a plan computes (region, device, card …) are not among them.
inline const Parameters<BufferConfig>& buffer_parameters() {
  using Buffer = BufferConfig;
  static const auto declared =
      Parameters<Buffer>("buffer")
          .add(
              {.name = "every", .doc = "takes every n-th frame …", .least = 1, .most = 4'294'967'295},
              [](Buffer & buffer) -> auto& { return buffer.slice.every; })
          .add(
              {.name = "phase", .doc = "… beginning with this one", .least = 0, .most = 4'294'967'295},
              [](Buffer & buffer) -> auto& { return buffer.slice.phase; })
          .add({.name = "slots",
                .doc = "images in the ring; a multiple of stack, at least 2 stacks",
                .least = 2,
                .most = 1 << 20},
               &Buffer::slots)
          .add({.name = "stack", .doc = "images processed as a whole", .least = 1, .most = 1 << 16}, &Buffer::stack)
          .add({.name = "deadline_ms",
                .doc = "an image of which some is missing is given up so long after it was sent, or part of it, or one "
                       "after it",
                .least = 1,
                .most = 600'000},
               &Buffer::deadline_ms)
          .add({.name = "events",
                .doc = "image, or lines:N: an event for each N lines of a DTP's image, for units that begin early "
                       "(links roce and verbs)"},
               &Buffer::events)
          .add(
              {.name = "partial", .choices = {"keep", "veto"}},
              [](Buffer & buffer) -> auto& { return buffer.pipeline.partial; })
          .add(
              {.name = "keep_darks"}, [](Buffer & buffer) -> auto& { return buffer.pipeline.keep_darks; })
          .add(
              {.name = "threads", .doc = "of the unit cpu", .least = 1, .most = 256},
              [](Buffer & buffer) -> auto& { return buffer.unit.cores.threads; })
          .add(
              {.name = "unit", .doc = "the processor of the kernels", .choices = unit::kind_names()},
              [](Buffer & buffer) -> auto& { return buffer.unit.kind; })
          .add(
              {.name = "trigger",
               .doc = "cuda: how a stack is started; auto: the fastest that fits",
               .choices = unit::trigger_names()},
              [](Buffer & buffer) -> auto& { return buffer.unit.trigger; })
          .add(
              {.name = "share",
               .doc = "of several devices: each stack goes to the idlest; rows: each has a strip of every image, where "
                      "one device is too slow (cuda)",
               .choices = unit::share_names()},
              [](Buffer & buffer) -> auto& { return buffer.unit.share; });
  return declared;
}

struct Config {
  std::vector<BufferConfig> buffers;
  memory::MemoryKind memory = memory::MemoryKind::huge;
  unit::ImagesIn images_in =
      unit::ImagesIn::host;  ///< place of the images of all buffers; device: that of their units (device_buffers.hpp)
  link::LinkOptions link{};  ///< options of this side
  std::string source_link = "roce";  ///< kind of the other side: roce, verbs or pcie
  std::string bind_address = "127.0.0.1";
  std::uint16_t port = 4791;  ///< 0: any free port
  std::uint32_t link_threads = 1;
  link::Flow flow = link::Flow::credits;
  std::uint32_t run = 0;
  scheduler::Poll poll = scheduler::Poll::event;
  /// first processor for link threads, then scheduler, then units; −1: threads are not pinned
  int first_processor = -1;
};

}  // namespace rashpa::receiver
