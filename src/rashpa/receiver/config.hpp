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

/// One DTP as the receiver knows it: where its region lies in the buffer's image, pixels.
struct DtpConfig {
  std::uint32_t id = 0;
  std::uint32_t module = 0;
  std::uint32_t x = 0;
  std::uint32_t y = 0;
  std::uint32_t width = 0;
  std::uint32_t height = 0;
};

using sink::Output;

/// Makes a sink; called once in the receiver's constructor, so that a file that cannot be written is known before the
/// run.
using SinkFactory = std::function<std::unique_ptr<sink::Sink>(const Output&)>;

/// The fate of a stack for a sink that is behind.
enum class OnFull : std::uint8_t {
  wait,  ///< it waits in its slots: in the end the source waits, or finds no free slot
  drop,  ///< the sink has copies in memory of its own; it does not get images without room there
};

/// One sink of a buffer, and how it is fed.
struct SinkConfig {
  SinkConfig() = default;
  /// A sink of the factory, under its name there.
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
  std::string name = "sink";  ///< in status, messages and reports; made unique in its buffer
  sink::ChunkPart chunks = sink::ChunkPart::none;
  bool reads_pixels = true;  ///< chunks in place of pixels are not enough for it
  OnFull on_full = OnFull::wait;
  std::uint32_t queue = 4;  ///< drop: stacks that the sink's own memory holds, at least 1
  /// The longest time that a sink which may drop has at the end of the run: this long for one put(), ten times as long
  /// for settle() and close(). After it the sink is left behind, and images that it had not stored are lost.
  std::int64_t patience_ns = 30'000'000'000;
};

/// One RASHPA buffer with all its parts. Members that keys of [[buffer]] set are declared below.
struct BufferConfig {
  std::string name;
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  PixelType pixel = PixelType::u16;
  std::vector<SpecialValue> special{};     ///< of the detector's pixels
  std::optional<kernel::Masked> masked{};  ///< see unit::Layout
  std::uint32_t slots = 40;
  std::uint32_t stack = 10;
  Slice slice{};
  std::uint64_t images =
      0;  ///< number of images that are due, or the most that may come; of the whole slice, where they are dealt
  End end = End::known;
  bool dealt = false;  ///< it is one of several among which images are dealt: their records name their frames
  std::uint32_t deadline_ms = 1000;
  std::uint32_t quiet_ms = 0;  ///< scheduler::Lane; 0: for ever
  std::vector<DtpConfig> dtps;
  unit::Pipeline pipeline;
  std::vector<SinkConfig> sinks;                ///< at least one
  std::optional<feedback::Options> feedback{};  ///< none: nothing is published
  unit::Choice unit{};                          ///< the receiver places its threads
  /// The index of each image that comes is below it.
  [[nodiscard]] std::uint64_t most() const noexcept { return most_images(images, dealt); }
};

/// Keys of [[buffer]] that the receiver carries out, each declared once. The model of the run file, telegrams, their
/// schema, the reference page and the reading of values follow from the declaration (tools/make_kernels.py). Keys that
/// a plan works out (region, device, card …) are not among them.
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
      unit::ImagesIn::host;          ///< of all buffers; device: that of their units (device_buffers.hpp)
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
