// SPDX-License-Identifier: Apache-2.0
#include "rashpa/sink/stream2/stream2_sink.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <span>
#include <string_view>
#include <thread>
#include <utility>

#include "rashpa/core/clock.hpp"
#include "rashpa/core/error.hpp"
#include "rashpa/core/log.hpp"

namespace rashpa::sink {

namespace bslz4 = kernel::bitshuffle_lz4;
using stream2::Message;
using stream2::Outlet;

namespace {

constexpr std::chrono::seconds kPatience{5};  // for a consumer whose queue has no room for the end
constexpr std::chrono::milliseconds kPause{2};
constexpr unsigned kLastPort = 65535;

/// tcp://ADDRESS:PORT as both parts. Throws ConfigError.
std::pair<std::string, unsigned> parts_of(const std::string& endpoint) {
  const std::size_t colon = endpoint.rfind(':');
  unsigned port = 0;
  const char* const end = endpoint.data() + endpoint.size();
  const char* const first = colon == std::string::npos ? end : endpoint.data() + colon + 1;
  const auto [rest, failure] = std::from_chars(first, end, port);
  if (!endpoint.starts_with("tcp://") || failure != std::errc() || rest != end || port > kLastPort) {
    throw ConfigError(fmt::format("sink stream2: {} is no endpoint; give tcp://ADDRESS:PORT", endpoint));
  }
  return {endpoint.substr(0, colon), port};
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
      zeromq_(load_zeromq()),
      compressor_(pixel_bytes(output.pixel)),
      scratch_(output.chunked ? 0 : bslz4::compressed_bound(output.image_bytes(), pixel_bytes(output.pixel))),
      wait_(config.wait_s) {
  series_.id = output.run != 0 ? output.run : metadata_.run_number;
  series_.unique_id = stream2::make_ulid();
  context_ = zeromq_.ctx_new();
  try {
    door_ = std::make_unique<stream2::Door>(zeromq_, context_);
    make_outlets(config);
  } catch (...) {
    hang_up();
    throw;
  }
}

void Stream2Sink::make_outlets(const Stream2Config& config) {
  const auto [address, port] = parts_of(config.endpoint);
  if (port != 0 && port + config.outlets - 1 > kLastPort) {
    throw ConfigError(fmt::format("sink stream2: {} consumers from port {} on need ports up to {}; give a lower one",
                                  config.outlets, port, port + config.outlets - 1));
  }
  for (std::uint32_t n = 0; n < config.outlets; ++n) {
    const std::string endpoint = fmt::format("{}:{}", address, port == 0 ? 0 : port + n);
    outlets_.push_back(
        std::make_unique<Outlet>(zeromq_, context_, endpoint, config.pattern, static_cast<int>(config.waiting), n));
  }
}

Stream2Sink::~Stream2Sink() {
  if (begun_ && !ended_) send_ends(nullptr);
  hang_up();
}

void Stream2Sink::hang_up() noexcept {
  if (context_ == nullptr) return;
  {
    const std::lock_guard lock(lock_);
    for (const auto& outlet : outlets_) last_.push_back(outlet->status());
    outlets_.clear();
  }
  door_.reset();
  zeromq_.ctx_term(context_);  // waits for what lingers
  context_ = nullptr;
}

void Stream2Sink::begin() {
  if (std::exchange(begun_, true)) return;
  wait_for_consumers();
  series_.arm_date = stream2::date_of_tai(tai_ns());
  send_starts();
}

void Stream2Sink::wait_for_consumers() {
  const auto until = std::chrono::steady_clock::now() + wait_;
  const auto alone = [](const auto& outlet) { return !outlet->is_connected(); };
  for (look(); std::chrono::steady_clock::now() < until && std::any_of(outlets_.begin(), outlets_.end(), alone);
       look()) {
    std::this_thread::sleep_for(kPause);
  }
}

/// Sees who has come and gone, at all outlets.
void Stream2Sink::look() {
  door_->look(outlets_);
  for (auto& outlet : outlets_) outlet->look();
}

void Stream2Sink::send_starts() {
  look();
  const auto owed = [](const auto& outlet) { return outlet->owes_start() && outlet->ready(); };
  if (std::none_of(outlets_.begin(), outlets_.end(), owed)) return;
  stream2::write_start(cbor_, series_, output_, metadata_);
  const Message start(zeromq_, cbor_.bytes());
  for (auto& outlet : outlets_) {
    if (owed(outlet)) outlet->send_start(start);
  }
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

/// Null: nobody wants it, it was overwritten, or cannot be compressed.
ChunkRef Stream2Sink::chunk_of(const Stack& stack, const StackImage& image, bool wanted) {
  if (output_.chunked) {
    const bool whole = bslz4::uncompressed_bytes(image.chunk) == output_.image_bytes();
    return wanted && whole ? std::make_shared<Chunk>(image.chunk) : nullptr;
  }
  ChunkRef chunk = output_.chunks ? output_.chunks->take(image.index) : nullptr;
  if (chunk || !wanted) return chunk;
  const std::byte* pixels = image.dense();
  if (pixels == nullptr) return nullptr;
  const std::size_t bytes = compressor_.compress({pixels, output_.image_bytes()}, scratch_);
  if (bytes == 0 || !stack.intact(image)) return nullptr;
  return std::make_shared<Chunk>(std::span<const std::byte>(scratch_).first(bytes));
}

ErrorReason Stream2Sink::send(const Stack& stack, const StackImage& image) {
  send_starts();
  const auto can = [](const auto& outlet) { return !outlet->owes_start() && outlet->ready(); };
  const bool wanted = std::any_of(outlets_.begin(), outlets_.end(), can);
  ChunkRef chunk = chunk_of(stack, image, wanted);
  if (!wanted || !chunk) {
    for (auto& outlet : outlets_) outlet->miss_image();
    if (!wanted) return ErrorReason::dropped;
    return stack.intact(image) ? ErrorReason::storage : ErrorReason::overwritten;
  }
  const std::size_t bytes = chunk->size;
  stream2::write_image(cbor_, series_, tally_, output_, metadata_, image, bytes);
  const Message message(zeromq_, cbor_.bytes(), std::move(chunk));
  bool taken = false;
  for (auto& outlet : outlets_) {
    if (outlet->owes_start()) {
      outlet->miss_image();
    } else {
      taken = outlet->send_image(message) || taken;
    }
  }
  if (!taken) return ErrorReason::dropped;
  const std::lock_guard lock(lock_);
  stats_.images_written += 1;
  stats_.bytes_written += output_.image_bytes();
  stats_.bytes_stored += bytes;
  return ErrorReason::none;
}

void Stream2Sink::close(const Books& books) {
  begin();
  send_ends(&books);
  hang_up();
}

/// To everyone who has got the start; a queue that has no room for it is waited for a little.
void Stream2Sink::send_ends(const Books* books) {
  if (std::exchange(ended_, true)) return;
  send_starts();
  const auto until = std::chrono::steady_clock::now() + kPatience;
  std::vector<Outlet*> owed;
  for (auto& outlet : outlets_) {
    if (!outlet->owes_start()) owed.push_back(outlet.get());
  }
  while (!owed.empty()) {
    std::erase_if(owed, [&](Outlet* outlet) {
      const ConsumerStatus got = outlet->status();
      stream2::write_end(cbor_, series_, tally_, books, {.sent = got.sent, .missed = got.missed});
      return outlet->send_end(Message(zeromq_, cbor_.bytes()));
    });
    if (owed.empty() || std::chrono::steady_clock::now() >= until) break;
    std::this_thread::sleep_for(kPause);
    look();
    std::erase_if(owed, [](const Outlet* outlet) { return !outlet->is_connected(); });
  }
  for (const Outlet* outlet : owed) {
    log::write(log::Level::warning, {.run = output_.run, .buffer = output_.buffer},
               "sink stream2: the consumer at {} has not taken the end of the stream: it reads nothing",
               outlet->status().endpoint);
  }
}

SinkStats Stream2Sink::stats() const noexcept {
  const std::lock_guard lock(lock_);
  return stats_;
}

std::vector<ConsumerStatus> Stream2Sink::consumers() const {
  const std::lock_guard lock(lock_);
  std::vector<ConsumerStatus> all = last_;
  for (const auto& outlet : outlets_) all.push_back(outlet->status());
  return all;
}

}  // namespace rashpa::sink
