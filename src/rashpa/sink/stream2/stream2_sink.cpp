// SPDX-License-Identifier: Apache-2.0
#include "rashpa/sink/stream2/stream2_sink.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <span>
#include <thread>
#include <utility>

#include "rashpa/core/error.hpp"
#include "rashpa/core/log.hpp"
#include "rashpa/core/time/clock.hpp"

namespace rashpa::sink {

namespace bslz4 = kernel::bitshuffle_lz4;

namespace {

constexpr std::chrono::seconds kPatience{5};  // for a consumer whose queue has no room for the end
constexpr std::chrono::milliseconds kPause{2};
/// Room beyond pixels: numbers of the pipeline and lost lines of an image; texts of a start, the run file among them.
constexpr std::uint64_t kUsualHead = 1U << 16U;
constexpr std::uint64_t kLargestHead = 16U << 20U;
constexpr std::uint64_t kMaskPixelBytes = 4;

stream2::LaneConfig lane_of(const Stream2Config& config, const Output& output) {
  const std::uint64_t image = bslz4::compressed_bound(output.image_bytes(), pixel_bytes(output.pixel));
  const std::uint64_t mask = bslz4::compressed_bound(kMaskPixelBytes * output.width * output.height, kMaskPixelBytes);
  return {.endpoint = config.endpoint,
          .outlets = config.outlets,
          .pattern = config.pattern,
          .waiting = config.waiting,
          .image_bytes = image + kUsualHead,
          .message_bytes = std::max(image, mask) + kLargestHead,
          .run = output.run,
          .buffer = output.buffer};
}

const Output& checked(const Output& output) {
  if (output.sparse) {
    throw ConfigError(
        "sink stream2: images are lists of pixels here, and a stream has whole ones; leave kernel csr out, or the "
        "sink");
  }
  return output;
}

}  // namespace

Stream2Sink::Stream2Sink(const Stream2Config& config, const Output& output)
    : output_(checked(output)),
      metadata_(config.metadata),
      lane_(lane_of(config, output)),
      compressor_(pixel_bytes(output.pixel)),
      scratch_(output.chunked ? 0 : bslz4::compressed_bound(output.image_bytes(), pixel_bytes(output.pixel))),
      wait_(config.wait_s) {
  series_.id = output.run != 0 ? output.run : metadata_.run_number;
  series_.unique_id = stream2::make_ulid();
}

Stream2Sink::~Stream2Sink() {
  if (begun_ && !ended_) send_ends(nullptr);
}

void Stream2Sink::begin() {
  if (std::exchange(begun_, true)) return;
  wait_for_consumers();
  series_.arm_date = stream2::date_of_tai(tai_ns());
  send_start();
}

void Stream2Sink::wait_for_consumers() {
  const auto until = std::chrono::steady_clock::now() + wait_;
  const auto all = [this] {
    for (std::size_t n = 0; n < lane_.outlets(); ++n) {
      if (!lane_.is_connected(n)) return false;
    }
    return true;
  };
  while (std::chrono::steady_clock::now() < until && !all()) std::this_thread::sleep_for(kPause);
}

/// Sends the start message to the process that sends, which gives it to newcomers; one that has just begun does not
/// know it.
void Stream2Sink::send_start() {
  if (!lane_.owes_start()) return;
  stream2::write_start(cbor_, series_, output_, metadata_);
  lane_.send_start(cbor_.bytes());
}

Put Stream2Sink::put(const Stack& stack, std::span<ErrorReason> results) {
  begin();
  const auto images = stack.view();
  for (std::size_t i = 0; i < images.size(); ++i) {
    if (series_.date.empty() && images[i].timestamp_ns != 0) {
      series_.first_ns = images[i].timestamp_ns;
      series_.date = stream2::date_of_tai(series_.first_ns);
    }
    if (images[i].decision == Decision::accepted) {
      results[i] = send(stack, images[i]);
      tally_.accepted += 1;
    }
    tally_.vetoed += images[i].decision == Decision::vetoed ? 1U : 0U;
    tally_.errored += images[i].decision == Decision::errored ? 1U : 0U;
  }
  return Put::done;
}

void Stream2Sink::skip(std::span<const SkippedImage> images) {
  for (const SkippedImage& image : images) {
    tally_.vetoed += image.decision == Decision::vetoed ? 1U : 0U;
    tally_.errored += image.decision == Decision::errored ? 1U : 0U;
  }
}

/// Returns the chunk of an image; null when nobody wants it, or when it was overwritten or cannot be compressed: then
/// `why` says it.
ChunkRef Stream2Sink::chunk_of(const Stack& stack, const StackImage& image, bool wanted, ErrorReason& why) {
  if (output_.chunked) {
    const bool whole = bslz4::uncompressed_bytes(image.chunk) == output_.image_bytes();
    return wanted && whole ? std::make_shared<Chunk>(image.chunk) : nullptr;
  }
  ChunkRef chunk = output_.chunks ? output_.chunks->take(image.index) : nullptr;
  if (chunk || !wanted) return chunk;
  const std::byte* pixels = image.dense();
  if (pixels == nullptr) return nullptr;
  if (image.may_change()) {
    copy_.assign(pixels, pixels + output_.image_bytes());
    pixels = copy_.data();
  }
  const std::size_t bytes = compressor_.compress({pixels, output_.image_bytes()}, scratch_);
  if (!stack.intact(image, pixels)) why = ErrorReason::overwritten;
  if (bytes == 0 || why == ErrorReason::overwritten) return nullptr;
  return std::make_shared<Chunk>(std::span<const std::byte>(scratch_).first(bytes));
}

ErrorReason Stream2Sink::send(const Stack& stack, const StackImage& image) {
  send_start();
  const bool wanted = lane_.wants_image();
  ErrorReason why = wanted ? ErrorReason::storage : ErrorReason::dropped;
  const ChunkRef chunk = chunk_of(stack, image, wanted, why);
  if (!wanted || !chunk) {
    lane_.miss_image();
    return why;
  }
  stream2::write_image(cbor_, series_, tally_, output_, metadata_, image, chunk->bytes().size());
  const std::optional<std::uint32_t> taken = lane_.send_image(cbor_.bytes(), chunk->bytes());
  if (!taken) return ErrorReason::storage;
  if (*taken == 0) return ErrorReason::dropped;
  const std::lock_guard lock(lock_);
  stats_.images_written += 1;
  stats_.bytes_written += output_.image_bytes();
  stats_.bytes_stored += chunk->bytes().size();
  return ErrorReason::none;
}

void Stream2Sink::close(const Books& books) {
  begin();
  send_ends(&books);
}

/// Sends the end message to all consumers that have the start; waits a little for a queue that has no room for it.
void Stream2Sink::send_ends(const Books* books) {
  if (std::exchange(ended_, true)) return;
  send_start();
  const auto until = std::chrono::steady_clock::now() + kPatience;
  std::vector<std::size_t> owed;
  for (std::size_t n = 0; n < lane_.outlets(); ++n) {
    if (lane_.is_started(n)) owed.push_back(n);
  }
  while (!owed.empty()) {
    std::erase_if(owed, [&](std::size_t n) {
      const ConsumerStatus got = lane_.status(n);
      stream2::write_end(cbor_, series_, tally_, books, {.sent = got.sent, .missed = got.missed});
      return lane_.send_end(n, cbor_.bytes());
    });
    if (owed.empty() || std::chrono::steady_clock::now() >= until) break;
    std::this_thread::sleep_for(kPause);
    std::erase_if(owed, [&](std::size_t n) { return !lane_.is_connected(n); });
  }
  for (const std::size_t n : owed) {
    log::write(log::Level::warning, {.run = output_.run, .buffer = output_.buffer},
               "sink stream2: the consumer at {} has not taken the end of the stream: it reads nothing",
               lane_.status(n).endpoint);
  }
  lane_.leave();
}

SinkStats Stream2Sink::stats() const noexcept {
  const std::lock_guard lock(lock_);
  return stats_;
}

std::vector<ConsumerStatus> Stream2Sink::consumers() const {
  std::vector<ConsumerStatus> all;
  for (std::size_t n = 0; n < lane_.outlets(); ++n) all.push_back(lane_.status(n));
  return all;
}

}  // namespace rashpa::sink
