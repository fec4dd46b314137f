// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/stream2/sending/sender.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>
#include <thread>
#include <utility>

#include "rashpa/core/error.hpp"
#include "rashpa/core/frame/frame_record.hpp"
#include "rashpa/core/frame/storage_cell.hpp"
#include "rashpa/link/stream2/messages/message.hpp"

namespace rashpa::link::stream2 {

namespace {

constexpr std::size_t kMostLeaving = 2;  // messages that wait for room, before the next image is taken

constexpr std::uint64_t tag_of(PixelType type) noexcept {
  switch (type) {
    case PixelType::u8:
      return 64;
    case PixelType::u16:
      return 69;
    case PixelType::u32:
      return 70;
    case PixelType::i16:
      return 77;
    case PixelType::i32:
      return 78;
    case PixelType::f32:
      break;
  }
  return 85;
}

PixelType pixel_of(const Endpoint& destination) {
  if (destination.psn <= static_cast<std::uint32_t>(PixelType::f32)) return static_cast<PixelType>(destination.psn);
  throw ConfigError(
      fmt::format("stream2: the receiver's pixels are of type {}, which there is not; use receivers of "
                  "this version",
                  destination.psn));
}

const SenderConfig& checked(const SenderConfig& config) {
  const std::uint64_t image = std::uint64_t{config.destination.qpn} * config.destination.rkey;
  if (image == config.payload_bytes && image != 0) return config;
  throw ConfigError(
      fmt::format("stream2: DTP {} has {} bytes an image, and its receiver {} lines of {}; use stream2 "
                  "on both sides",
                  config.dtp, config.payload_bytes, config.destination.qpn, config.destination.rkey));
}

}  // namespace

Stream2Sender::Stream2Sender(const SenderConfig& config)
    : options_(checked(config).options),
      images_(config.images),
      rows_(config.destination.qpn),
      columns_(config.destination.rkey / pixel_bytes(pixel_of(config.destination))),
      pixel_(pixel_of(config.destination)),
      queue_(config.faults, config.dtp, config.images),
      faulty_(config.faults.has_value()),
      outlet_(config.bind_address),
      compressor_(pixel_bytes(pixel_)),
      pixels_(config.payload_bytes),
      channel_("threshold_1") {
  if (options_.packing == Packing::bslz4) {
    packed_.resize(kernel::bitshuffle_lz4::compressed_bound(pixels_.size(), pixel_bytes(pixel_)));
  }
}

Endpoint Stream2Sender::endpoint() const { return {.address = outlet_.local().text(), .port = outlet_.local().port()}; }

std::uint32_t Stream2Sender::largest_message() const noexcept {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(pixels_.size(), std::numeric_limits<std::int32_t>::max()));
}

bool Stream2Sender::room() noexcept {
  if (queue_.size() >= kMostLeaving) pump();
  return queue_.size() < kMostLeaving;
}

std::size_t Stream2Sender::post(std::span<const BufferDescriptor> writes) {
  if (!room()) {
    counters_.waits.add(1);
    return 0;
  }
  for (const BufferDescriptor& write : writes) {
    const std::uint64_t bytes = std::min<std::uint64_t>(write.bytes, pixels_.size() - linear_);
    std::memcpy(pixels_.data() + linear_, write.source, bytes);
    linear_ += bytes;
  }
  done_ += writes.size();
  return writes.size();
}

bool Stream2Sender::post_event(const Event& event) {
  if (!room()) return false;
  linear_ = 0;
  const auto record = decode_frame_record({event.record, FrameRecord::kBytes});
  if (!record || (record->flags & FrameRecord::skipped) != 0) return true;  // nobody is told of images left out
  if (!std::exchange(started_, true)) write_start(*record);
  write_image(*record);
  if ((record->flags & FrameRecord::last_of_run) != 0 || record->index + 1 == images_) write_end(*record);
  pump();
  return true;
}

std::size_t Stream2Sender::poll(std::uint32_t wait_us) {
  pump();
  if (wait_us != 0 && done_ == 0 && queue_.size() != 0) {
    constexpr std::uint32_t kLongestUs = 100;
    std::this_thread::sleep_for(std::chrono::microseconds(std::min(wait_us, kLongestUs)));
    pump();
  }
  return std::exchange(done_, 0);
}

void Stream2Sender::pump() noexcept {
  while (!queue_.front().empty() && outlet_.send(queue_.front())) {
    counters_.packets.add(1);
    counters_.payload_bytes.add(queue_.front().size());
    queue_.pop();
  }
}

Counts Stream2Sender::stats() const {
  Counts counts;
  counters_.add_to(counts);
  return counts;
}

void Stream2Sender::write_series(Cbor::Map& map, std::string_view type, const FrameRecord& record) {
  map.key("type").text(type);
  map.key("series_id").count(record.run);
  map.key("series_unique_id").text(fmt::format("rashpa-emulator-{:010}", record.run));
}

void Stream2Sender::write_start(const FrameRecord& record) {
  message_.clear();
  {
    Cbor::Map map(message_);
    write_series(map, "start", record);
    map.key("channels").array(1);
    message_.text(channel_);
    map.key("image_dtype").text(pixel_name(pixel_));
    map.key("image_size_x").count(columns_);
    map.key("image_size_y").count(rows_);
    map.key("number_of_images").count(images_);
  }
  queue_.add(message_.bytes(), false);
}

void Stream2Sender::write_image(const FrameRecord& record) {
  std::span<const std::byte> data = pixels_;
  if (options_.packing == Packing::bslz4) data = std::span(packed_).first(compressor_.compress(pixels_, packed_));
  message_.clear();
  {
    Cbor::Map map(message_);
    write_series(map, "image", record);
    map.key("image_id").count(record.frame_number);
    map.key("user_data");
    {
      Cbor::Map user(message_);
      user.key("timestamp_ns").count(record.timestamp_ns);
      user.key("flags").count(record.flags & (FrameRecord::dark | FrameRecord::laser | kCellBits));
    }
    map.key("data");
    Cbor::Map channels(message_);
    channels.key(channel_);
    message_.tag(kArrayTag);
    message_.array(2);
    message_.array(2);
    message_.count(rows_);
    message_.count(columns_);
    message_.tag(tag_of(pixel_));
    if (options_.packing == Packing::bslz4) {
      message_.tag(kCompressedTag);
      message_.array(3);
      message_.text("bslz4");
      message_.count(pixel_bytes(pixel_));
    }
    message_.bytes_head(data.size());
    message_.append(data);
  }
  counters_.messages.add(1);
  queue_.add_image(record.index, message_.bytes());
}

void Stream2Sender::write_end(const FrameRecord& record) {
  message_.clear();
  {
    Cbor::Map map(message_);
    write_series(map, "end", record);
  }
  queue_.add(message_.bytes(), true);
}

}  // namespace rashpa::link::stream2
