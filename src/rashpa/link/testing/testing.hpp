// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A small set-up of one or more DTPs with known pixels, for this folder's tests and its benchmark.
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "rashpa/core/ability.hpp"
#include "rashpa/core/numbers/checksum.hpp"
#include "rashpa/core/system/doorbell.hpp"
#include "rashpa/core/time/clock.hpp"
#include "rashpa/link/link.hpp"
#include "rashpa/wire/testing.hpp"

namespace rashpa::link::testing {

using wire::testing::fill;

/// Returns a DTP whose lines adjoin (pitch = line_bytes + gap) in a region of its own: pixels, then records.
inline ReceiverDtp small_dtp(std::uint32_t id, std::uint64_t images, std::uint32_t lines, std::uint32_t line_bytes,
                             std::uint32_t slots, std::uint32_t gap = 0, std::uint64_t base = 0) {
  ReceiverDtp dtp;
  dtp.id = id;
  dtp.images = images;
  dtp.run = 7;
  dtp.slice = {3, 1};
  Placement& p = dtp.placement;
  p.pixels_offset = base;
  p.first_line_offset = gap;
  p.pitch = line_bytes + gap;
  p.line_bytes = line_bytes;
  p.lines = lines;
  p.slots = slots;
  p.slot_bytes = (p.pitch * lines + gap + 63) / 64 * 64;
  p.records_offset = base + p.slot_bytes * slots;
  return dtp;
}

/// Returns the offset behind the DTP's memory.
inline std::uint64_t end_of(const ReceiverDtp& dtp) {
  return dtp.placement.records_offset + dtp.placement.records_bytes();
}

/// A limit that makes a `Source` give up after a minute, so that a test fails and does not hang.
class Patience {
 public:
  bool operator()() const { return now_ns() > until_; }

 private:
  std::int64_t until_ = now_ns() + 60'000'000'000;
};

/// Sends images of one DTP as the transfer folder does, from one payload that changes with the image.
class Source {
 public:
  Source(const ReceiverDtp& dtp, Sender& sender)
      : dtp_(dtp), sender_(&sender), payload_(dtp.placement.payload_bytes()) {
    fill(payload_, dtp.id + 1);
  }

  /// Prepares the payload of image `index`: the bytes of fill(), beginning with the index.
  void prepare(std::uint64_t index) {
    for (std::size_t i = 0; i < sizeof index && i < payload_.size(); ++i) {
      payload_[i] = static_cast<std::byte>(index >> (8 * i));
    }
  }
  [[nodiscard]] std::span<const std::byte> payload() const { return payload_; }

  FrameRecord record(std::uint64_t index) const {
    const Placement& p = dtp_.placement;
    FrameRecord record;
    record.dtp = dtp_.id;
    record.frame_number = dtp_.slice.frame(index);
    record.index = index;
    record.slot = static_cast<std::uint32_t>(index % p.slots);
    record.lines = p.lines;
    record.payload_bytes = p.payload_bytes();
    record.payload_crc32c = crc32c(payload_);
    record.run = dtp_.run;
    return record;
  }

  /// Sends image `index` once it is granted; returns false when `give_up` returns true before.
  bool send(std::uint64_t index, const std::function<bool()>& give_up) {
    while (sender_->granted() <= index) {
      if (give_up()) return false;
      sender_->poll(500);
    }
    if (!write(index, give_up)) return false;
    while (outstanding_ > 0 && !give_up()) outstanding_ -= sender_->poll(500);
    sender_->poll(0);
    return true;
  }
  /// Writes the image, granted or not, as soon as the link accepts it. Returns false when `give_up` returns true
  /// before.
  bool write(std::uint64_t index, const std::function<bool()>& give_up) {
    prepare(index);
    if (auto* const aware = able<ImageAware>(*sender_)) aware->begin(index);
    const Placement& p = dtp_.placement;
    const std::uint64_t run = p.contiguous() ? p.payload_bytes() : p.line_bytes;
    for (std::uint64_t linear = 0; linear < p.payload_bytes();) {
      std::uint64_t bytes = std::min<std::uint64_t>(sender_->largest_message(), run - linear % run);
      if (bytes > p.line_bytes) bytes -= bytes % p.line_bytes;  // whole lines
      const std::uint64_t offset = p.image_offset(index) + linear / p.line_bytes * p.pitch + linear % p.line_bytes;
      const BufferDescriptor write{payload_.data() + linear, offset, static_cast<std::uint32_t>(bytes)};
      while (sender_->post({&write, 1}) == 0) {
        if (give_up()) return false;
        outstanding_ -= sender_->poll(500);
      }
      ++outstanding_;
      linear += bytes;
    }
    std::array<std::byte, FrameRecord::kBytes> bytes{};
    encode(record(index), bytes);
    while (!sender_->post_event({bytes.data(), p.record_offset(index), immediate_of(dtp_.id, index)})) {
      if (give_up()) return false;
      outstanding_ -= sender_->poll(500);
    }
    return true;
  }
  /// Skips `images` images, the last of them `index`, and reports that as the transfer folder does. Returns false when
  /// `give_up` returns true before.
  bool skip(std::uint64_t index, std::uint64_t images, const std::function<bool()>& give_up) {
    const Placement& p = dtp_.placement;
    FrameRecord record;
    record.dtp = dtp_.id;
    record.flags = FrameRecord::skipped;
    record.frame_number = dtp_.slice.frame(index);
    record.index = index;
    record.slot = p.slots;
    record.run = dtp_.run;
    record.user[0] = skipped_ += images;
    record.user[1] = ++skip_events_;
    std::array<std::byte, FrameRecord::kBytes> bytes{};
    encode(record, bytes);
    while (!sender_->post_event({bytes.data(), p.skip_offset(), immediate_of(dtp_.id, index)})) {
      if (give_up()) return false;
      sender_->poll(500);
    }
    sender_->poll(0);
    return true;
  }
  /// Waits until all packets were passed to the network, delayed ones included.
  void drain(const std::function<bool()>& give_up) {
    while (sender_->pending() > 0 && !give_up()) sender_->poll(500);
  }

 private:
  ReceiverDtp dtp_;
  Sender* sender_;
  std::vector<std::byte> payload_;
  std::size_t outstanding_ = 0;  // writes that are not done
  std::uint64_t skipped_ = 0;
  std::uint64_t skip_events_ = 0;
};

}  // namespace rashpa::link::testing
