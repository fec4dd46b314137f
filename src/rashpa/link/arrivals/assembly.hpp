// SPDX-License-Identifier: Apache-2.0
#pragma once
/// One DTP's images on the destination side: places lines and records where the link sees them (Sight), keeps the map
/// of arrived lines and the running CRC32C, and decides each image exactly once, in order. Used by one link thread.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "rashpa/link/arrivals/receiver_memory.hpp"
#include "rashpa/link/counters.hpp"
#include "rashpa/link/link.hpp"
#include "rashpa/wire/dual_crc.hpp"
#include "rashpa/wire/packet/packet_numbers.hpp"

namespace rashpa::link {

/// Describes how packets for a slot that is not free are counted: with credits they can only be late, without they
/// overran the receiver.
enum class NotFree : std::uint8_t { late, overrun };

/// The part of an image that a link sees, and so the facts that it can prove.
enum class Sight : std::uint8_t {
  packets,            ///< each packet, checked one by one, which the link then places itself; then the event's record
  unchecked_packets,  ///< the same, but nobody checks a packet: only the record's CRC32C proves lines
  events,             ///< the event with its record; an RNIC or another engine has already written lines and record
  lines,   ///< each packet, checked one by one, and nothing else: no event need come, and none brings a record
  images,  ///< each image as a whole: the link has unpacked it, which proves it, to its lines; then its record. Images
           ///< that come no more are named by pass_events() alone
};

/// Takes decided images.
class ArrivalOutput {
 public:
  virtual ~ArrivalOutput() = default;
  /// Returns true when emit() takes any arrival of DTP `dtp` (index into the receiver's list).
  [[nodiscard]] virtual bool ready(std::uint32_t dtp) noexcept = 0;
  /// Returns false when there is no room: the image stays undecided. A missing one may be taken where ready() says no.
  virtual bool emit(const Arrival& arrival) noexcept = 0;
};

/// The meaning of a run of destination memory, for one DTP at one moment.
struct Target {
  enum class Kind : std::uint8_t { refused, lines, record, skip };
  Kind kind = Kind::refused;
  std::uint64_t index = 0;   ///< image
  std::uint64_t linear = 0;  ///< lines: payload offset in the image, gaps between lines not counted
};

class Assembly {
 public:
  /// The placement must lie inside `memory` (checked: ConfigError). Where the lines lie in an accelerator's, `sight` is
  /// events, and nothing is verified: its maker sees to that.
  /// `verify` is for Sight::events alone: packets are always checked.
  Assembly(const ReceiverDtp& dtp, std::uint32_t list_index, MapUnit unit, const ReceiverMemory& memory,
           NotFree not_free, ReceiverCounters& counters, Sight sight = Sight::packets, Verify verify = Verify::all);

  /// Returns the meaning of `bytes` bytes at `offset`: lines of one image, a whole record, or nothing of this DTP.
  [[nodiscard]] Target locate(std::uint64_t offset, std::uint64_t bytes) const noexcept;
  /// The number of the packet that is put next, where the link numbers packets: with it a packet of an image that lies
  /// a ring away is known as such, also when the events between were lost.
  void number(std::uint32_t psn) noexcept {
    psn_ = numbers_.extend(psn);
    numbered_ = true;
  }
  /// The calls of put_lines() that follow are pieces of one packet, which is counted once. Without it each is one.
  void begin_packet() noexcept {
    in_pieces_ = true;
    counted_ = false;
    ++packets_;
  }
  /// Writes payload of lines: `offset` and `linear` are where `bytes` go; `crc` is their CRC32C where the link has made
  /// it on the way. Slots that are not free are not touched.
  void put_lines(std::uint64_t index, std::uint64_t offset, std::uint64_t linear, std::span<const std::byte> bytes,
                 std::optional<std::uint32_t> crc, std::int64_t now) noexcept;
  /// An event with the record that is to be written to `offset`.
  void put_event(std::uint64_t offset, std::span<const std::byte> record, std::uint32_t immediate,
                 std::int64_t now) noexcept;
  /// The same where the record is there already: its read bytes, or empty where it is none. Returns whether it was new.
  bool put_event(std::uint64_t offset, const std::optional<FrameRecord>& record, std::uint32_t immediate,
                 std::int64_t now) noexcept;
  /// An event that brings no record, of a sender that has none, about an image that locate() has named: its map of
  /// lines is all that is known of it. A record that comes after all counts as ever.
  void put_bare_event(std::uint64_t index, std::int64_t now) noexcept;
  /// The words and flags of a packet's header about an image, of a sender without records; the first ones of each
  /// image count.
  void describe(std::uint64_t index, const FrameRecord::Words& words, std::uint32_t flags) noexcept;
  /// Takes an event with the record in the skip record's place: nobody waits for images up to the one that it names.
  /// Returns true when it was such an event.
  bool put_skip(const std::optional<FrameRecord>& record, std::uint32_t immediate, std::int64_t now) noexcept;
  /// The events of all images < `end` have been put, no other comes: known to links that keep them in order. Without
  /// credits, an image whose event had no record left was overwritten.
  void pass_events(std::uint64_t end) noexcept { passed_ = end; }
  /// Decides what can be decided and finds room. `closed`, `released`: the latest values of close() and release().
  void decide(std::uint64_t closed, std::uint64_t released, std::int64_t now, ArrivalOutput& out) noexcept {
    decide_by(closed, released, now, true, out);
  }
  /// The same while unread packets may have arrived: it goes by arrived ones alone, not by time.
  void settle(std::uint64_t released, std::int64_t now, ArrivalOutput& out) noexcept {
    decide_by(0, released, now, false, out);
  }

  [[nodiscard]] std::uint64_t undecided() const noexcept { return next_; }
  [[nodiscard]] bool finished() const noexcept { return next_ == most_; }
  /// Returns true when the last decide() ended for want of room.
  [[nodiscard]] bool held_up() const noexcept { return held_up_; }
  /// Returns the place of the DTP in the receiver's list.
  [[nodiscard]] std::uint32_t list_index() const noexcept { return list_index_; }
  [[nodiscard]] const ReceiverDtp& dtp() const noexcept { return dtp_; }
  /// Images that the source may send: all below.
  [[nodiscard]] std::uint64_t granted() const noexcept { return released_ + placement_.slots; }
  /// Payload bytes that a source which has sent the event of image `index`, and has left out what it says, has sent.
  [[nodiscard]] std::uint64_t sent_up_to(std::uint64_t index) const noexcept;

 private:
  struct Image {
    std::uint64_t index = ~std::uint64_t{0};  // which image the rest is about
    LineMap map;
    std::uint64_t crc_bytes = 0;  // payload bytes from 0 that crc covers
    std::uint32_t crc = 0;
    bool event = false;
    bool bare = false;            // the event brought no record …
    bool described = false;       // … but a packet has said something of the image: record.user
    bool begun = false;           // line_psn is known
    std::uint64_t line_psn = 0;   // of the latest of its lines
    std::uint64_t event_psn = 0;  // where packets are numbered
    FrameRecord record{};
    std::int64_t last_packet_ns = 0;  // of the event, or of a line that came behind it
  };

  Image& open_image(std::uint64_t index) noexcept;
  void count_not_free(std::uint64_t index) noexcept;
  /// Counts the packet in hand once, however many pieces it has.
  void count_packet(Counter& counter) noexcept {
    if (!counted_) counter.add(1);
    counted_ = in_pieces_;
  }
  /// Returns true when the packet in hand was sent after number `psn`.
  [[nodiscard]] bool after(std::uint64_t psn) const noexcept { return psn_ > psn; }
  [[nodiscard]] bool belongs(const Image& image) noexcept;
  void mark(std::uint64_t index) noexcept;
  bool refine_for(std::uint64_t linear, std::uint64_t bytes) noexcept;
  void note_event(std::uint64_t index, std::int64_t now) noexcept;
  [[nodiscard]] FrameRecord record_of(const Image& image) const noexcept;
  [[nodiscard]] bool valid(const FrameRecord& record, std::uint64_t offset, std::uint32_t immediate) const noexcept;
  [[nodiscard]] std::uint32_t payload_crc(const Image& image) const noexcept;
  [[nodiscard]] bool verified(std::uint64_t index) const noexcept;
  /// Returns true when all lines are there before their event comes, so that nobody counts them one by one.
  [[nodiscard]] bool whole_at_event() const noexcept { return sight_ == Sight::events || sight_ == Sight::images; }
  void decide_by(std::uint64_t closed, std::uint64_t released, std::int64_t now, bool timed,
                 ArrivalOutput& out) noexcept;
  [[nodiscard]] bool given_up(std::int64_t now, bool timed) const noexcept;
  [[nodiscard]] Arrival judge(const Image& image, bool event) noexcept;

  ReceiverDtp dtp_;
  Placement placement_;
  std::uint32_t list_index_;
  std::uint32_t unit_;    // of the line maps of images that are opened from now on
  std::uint32_t finest_;  // the finest unit that it may have
  std::byte* lines_;      // byte 0 of the block in which offsets of lines count …
  std::byte* records_;    // … and those of records
  NotFree not_free_;
  Sight sight_;
  Verify verify_;
  ReceiverCounters* counters_;
  std::uint64_t payload_bytes_;
  std::uint64_t most_;                  // no image has an index from here on
  std::vector<Image> images_;           // by slot
  std::vector<std::uint64_t> overrun_;  // by slot: the last image whose event found the slot not free
  std::uint64_t next_ = 0;              // the first undecided image
  std::uint64_t next_slot_ = 0;         // next_ mod slots
  std::uint64_t released_ = 0;
  std::uint64_t passed_ = 0;   // see pass_events()
  std::uint64_t skipped_ = 0;  // images that the source says it has left out
  std::uint64_t skips_ = 0;    // records by which it has said so
  bool held_up_ = false;
  bool numbered_ = false;
  bool marked_ = false;
  wire::PacketNumbers numbers_;
  std::uint64_t psn_ = 0;       // of the packet in hand
  std::uint64_t mark_psn_ = 0;  // of the latest event or record of skipped images …
  bool floored_ = false;
  std::uint64_t floor_psn_ = 0;  // of the event of the latest decided image that had one: all others have higher ones
  std::uint64_t mark_index_ = 0;  // … and its image: all lines of images up to it have lower numbers, all others higher
  wire::Crc32cJoin join_;
  std::uint64_t packets_ = 0;  // seen by this DTP
  bool in_pieces_ = false;     // packets come by begin_packet() …
  bool counted_ = false;       // … and a piece of this one was late or a duplicate
  bool any_event_ = false;
  std::uint64_t latest_event_ = 0;  // highest image whose event was seen
  std::uint64_t latest_event_packet_ = 0;
  std::int64_t latest_event_ns_ = 0;
};

/// Throws ConfigError when the placement of `dtp` is empty, inconsistent or not inside the memory.
void check(const ReceiverDtp& dtp, std::uint64_t line_bytes, std::uint64_t record_bytes);

}  // namespace rashpa::link
