// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Assembles one DTP's images at the destination. It places lines and records where the link sees them (Sight), keeps
/// the map of arrived lines and the running CRC32C, and decides each image exactly once, in order. One link thread uses
/// it.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "rashpa/link/arrivals/receiver_memory.hpp"
#include "rashpa/link/arrivals/scattered_bytes.hpp"
#include "rashpa/link/counters.hpp"
#include "rashpa/link/link.hpp"
#include "rashpa/memory/gather/gather.hpp"
#include "rashpa/wire/dual_crc.hpp"
#include "rashpa/wire/packet/packet_numbers.hpp"

namespace rashpa::link {

/// The counter for packets whose slot is not free: with credits they can only be late, without they overran the
/// receiver.
enum class NotFree : std::uint8_t { late, overrun };

/// The part of an image that a link sees, which determines the facts that it can prove.
enum class Sight : std::uint8_t {
  packets,            ///< each packet, checked one by one and placed by the link; then the event's record
  unchecked_packets,  ///< each packet, unchecked and placed by the link: only the record's CRC32C proves lines
  events,             ///< the event with its record; an RNIC or another engine has already written lines and record
  lines,  ///< each packet, checked one by one, and nothing else: events are optional, and none brings a record
  /// each whole image, proven by its unpacking to its lines, then its record; only pass_events() reports images that
  /// will not come
  images,
};

/// Receives decided images.
class ArrivalOutput {
 public:
  virtual ~ArrivalOutput() = default;
  /// Returns true when emit() accepts any arrival of DTP `dtp` (index into the receiver's list).
  [[nodiscard]] virtual bool ready(std::uint32_t dtp) noexcept = 0;
  /// Passes an arrival on. Returns false when there is no room: the image stays undecided. A missing image may be
  /// accepted even when ready() returns false.
  virtual bool emit(const Arrival& arrival) noexcept = 0;
  /// Reports that Assembly::progress() has gone on.
  virtual void news() noexcept {}
};

/// The meaning of a run of destination memory for one DTP at one moment.
struct Target {
  enum class Kind : std::uint8_t { refused, lines, record, part, skip };
  Kind kind = Kind::refused;
  std::uint64_t index = 0;   ///< index of the image
  std::uint64_t linear = 0;  ///< for lines: payload offset in the image, without the gaps between lines
};

class Assembly {
 public:
  /// Checks the placement. Throws ConfigError unless it lies inside `memory`. Where the lines lie in an accelerator's
  /// memory, the caller ensures that `sight` is events and nothing is verified, or calls gather_by(). `verify` concerns
  /// Sight::events alone: packets are always checked.
  Assembly(const ReceiverDtp& dtp, std::uint32_t list_index, MapUnit unit, const ReceiverMemory& memory,
           NotFree not_free, ReceiverCounters& counters, Sight sight = Sight::packets, Verify verify = Verify::all);

  /// Makes put_lines() list lines for `gather`, which puts them into their places and decodes them; an image is decided
  /// when its lists have ended. No byte is read from memory, so the record's CRC32C is compared only when all lines
  /// came in order; not for Sight::unchecked_packets. `full` counts packets for which there was no list. Both outlive
  /// this object. The thread calls gather->submit() behind each batch of packets, and look() before it decides.
  void gather_by(memory::Gather& gather, memory::Decode decode, Counter& full) noexcept {
    gather_ = &gather;
    decode_ = decode;
    full_ = &full;
  }

  /// Returns the meaning of `bytes` bytes at `offset`: lines of one image, a whole record, or nothing of this DTP.
  [[nodiscard]] Target locate(std::uint64_t offset, std::uint64_t bytes) const noexcept;
  /// Sets the number of the next packet, where the link numbers packets. It reveals a packet that belongs to an image
  /// one ring later or earlier, even when the events in between were lost.
  void number(std::uint32_t psn) noexcept {
    psn_ = numbers_.extend(psn);
    numbered_ = true;
  }
  /// Makes all following put_lines() calls pieces of one packet, which is counted once. Without it, each call is a
  /// packet.
  void begin_packet() noexcept {
    in_pieces_ = true;
    counted_ = false;
    ++packets_;
  }
  /// Writes payload of lines: `bytes` go to `offset` in memory and `linear` in the payload. `crc` is their CRC32C if
  /// the link has computed it. Slots that are not free are not touched.
  void put_lines(std::uint64_t index, std::uint64_t offset, std::uint64_t linear, std::span<const std::byte> bytes,
                 std::optional<std::uint32_t> crc, std::int64_t now) noexcept;
  /// Writes lines that came in several pieces; for Sight::lines alone. With gather_by(), `linear` counts decoded bytes.
  void put_lines(std::uint64_t index, std::uint64_t offset, std::uint64_t linear, const ScatteredBytes& bytes,
                 std::int64_t now) noexcept;
  /// Handles an event and writes its record to `offset`.
  void put_event(std::uint64_t offset, std::span<const std::byte> record, std::uint32_t immediate,
                 std::int64_t now) noexcept;
  /// Handles an event whose record is already in memory. `record` is the decoded record, or nothing when it is none.
  /// Returns true when the event was new.
  bool put_event(std::uint64_t offset, const std::optional<FrameRecord>& record, std::uint32_t immediate,
                 std::int64_t now) noexcept;
  /// Handles the event of a part that is not the last one of its image; it writes the record to `offset` unless the
  /// link's sight is events, where the record is there.
  void put_part(std::uint64_t offset, std::span<const std::byte> record, std::uint32_t immediate,
                std::int64_t now) noexcept;
  /// Returns the lines that are there of the image being received. Any thread.
  [[nodiscard]] PartProgress progress() const noexcept {
    const std::uint64_t word =
        std::atomic_ref(progress_).load(std::memory_order_acquire);  // acquire: lines before it are in memory
    return {word >> kProgressLines, static_cast<std::uint32_t>(word & ((1U << kProgressLines) - 1))};
  }
  /// Handles an event without a record, from a sender that has none, for an image that locate() has named. Only the map
  /// of lines describes the image. A record that comes later counts as usual.
  void put_bare_event(std::uint64_t index, std::int64_t now) noexcept;
  /// Sets words and flags of an image from a packet's header, for a sender without records; the first call for each
  /// image counts.
  void describe(std::uint64_t index, const FrameRecord::Words& words, std::uint32_t flags) noexcept;
  /// Handles an event whose record is the skip record: images up to the one that it names are no longer awaited.
  /// Returns true when it was such an event.
  bool put_skip(const std::optional<FrameRecord>& record, std::uint32_t immediate, std::int64_t now) noexcept;
  /// Records that the events of all images < `end` have been put and no others will come; for links that keep them in
  /// order. Without credits, an image whose event had no record left was overwritten.
  void pass_events(std::uint64_t end) noexcept { passed_ = end; }
  /// Decides all images that can be decided and have room. `closed`, `released`: the latest values of close() and
  /// release().
  void decide(std::uint64_t closed, std::uint64_t released, std::int64_t now, ArrivalOutput& out) noexcept {
    decide_by(closed, released, now, true, out);
  }
  /// Decides by arrivals alone and not by time, while unread packets may have arrived.
  void settle(std::uint64_t released, std::int64_t now, ArrivalOutput& out) noexcept {
    decide_by(0, released, now, false, out);
  }

  [[nodiscard]] std::uint64_t undecided() const noexcept { return next_; }
  [[nodiscard]] bool finished() const noexcept { return next_ == most_; }
  /// Returns true when the last decide() stopped for lack of room, or for a gather under way.
  [[nodiscard]] bool held_up() const noexcept { return held_up_; }
  /// Returns the place of the DTP in the receiver's list.
  [[nodiscard]] std::uint32_t list_index() const noexcept { return list_index_; }
  [[nodiscard]] const ReceiverDtp& dtp() const noexcept { return dtp_; }
  /// Returns the index below which the source may send images.
  [[nodiscard]] std::uint64_t granted() const noexcept { return released_ + placement_.slots; }
  /// Returns the payload bytes that a source has sent when it has sent the event of image `index`, without the images
  /// that it reported as skipped.
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
    LineMap parts;                    // those of which the event came; the last one is not among them
    std::uint64_t list = 0;           // of the gather: the latest that has some of its lines
    std::int64_t last_packet_ns = 0;  // of the event, or of a line that came behind it
  };

  Image& open_image(std::uint64_t index) noexcept;
  /// Returns the image of lines that may be written; null, after counting them, for others.
  [[nodiscard]] Image* admit_lines(std::uint64_t index, std::uint64_t linear, std::uint64_t bytes) noexcept;
  /// Marks lines that were written.
  void mark_lines(Image& image, std::uint64_t linear, std::uint64_t bytes, std::int64_t now) noexcept;
  /// Lists lines for the gather. Returns false, after counting the packet, when that has no list.
  [[nodiscard]] bool list_lines(Image& image, std::uint64_t offset, std::span<const std::byte> bytes) noexcept;
  void count_not_free(std::uint64_t index) noexcept;
  /// Counts the current packet once, however many pieces it has.
  void count_packet(Counter& counter) noexcept {
    if (!counted_) counter.add(1);
    counted_ = in_pieces_;
  }
  /// Returns true when the current packet was sent after packet number `psn`.
  [[nodiscard]] bool after(std::uint64_t psn) const noexcept { return psn_ > psn; }
  [[nodiscard]] bool belongs(const Image& image) noexcept;
  void mark(std::uint64_t index) noexcept;
  bool refine_for(std::uint64_t linear, std::uint64_t bytes) noexcept;
  void note_event(std::uint64_t index, std::int64_t now) noexcept;
  [[nodiscard]] FrameRecord record_of(const Image& image) const noexcept;
  [[nodiscard]] bool of_this_dtp(const FrameRecord& record) const noexcept;
  [[nodiscard]] bool valid(const FrameRecord& record, std::uint64_t offset, std::uint32_t immediate) const noexcept;
  [[nodiscard]] std::uint32_t payload_crc(const Image& image) const noexcept;
  [[nodiscard]] std::uint32_t crc_of_lines(std::uint64_t index, std::uint64_t from, std::uint64_t to,
                                           std::uint32_t crc) const noexcept;
  [[nodiscard]] bool valid_part(const FrameRecord& record, std::uint64_t offset,
                                std::uint32_t immediate) const noexcept;
  [[nodiscard]] std::optional<std::uint32_t> stated_crc(const Image& image, std::uint32_t part) const noexcept;
  bool keep_good_parts(Image& image) noexcept;
  void tell_progress(const Image& image) noexcept;
  void count_parts(const Image& image) noexcept;
  [[nodiscard]] bool verified(const Image& image) const noexcept;
  /// Returns true when all lines are there before their event, so that they are not counted one by one.
  [[nodiscard]] bool whole_at_event() const noexcept { return sight_ == Sight::events || sight_ == Sight::images; }
  void decide_by(std::uint64_t closed, std::uint64_t released, std::int64_t now, bool timed,
                 ArrivalOutput& out) noexcept;
  [[nodiscard]] bool given_up(std::int64_t now, bool timed) const noexcept;
  [[nodiscard]] Arrival judge(Image& image, bool event) noexcept;

  ReceiverDtp dtp_;
  Placement placement_;
  std::uint32_t list_index_;
  std::uint32_t unit_;                // of the line maps of images that are opened from now on
  std::uint32_t finest_;              // the finest unit that it may have
  std::byte* lines_;                  // byte 0 of the block in which offsets of lines count …
  std::byte* records_;                // … and those of records, …
  std::uint64_t records_at_;          // … which begin here
  memory::Gather* gather_ = nullptr;  // null: lines are copied
  memory::Decode decode_ = memory::Decode::copy;
  Counter* full_ = nullptr;
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
  std::uint64_t packets_ = 0;                     // seen by this DTP
  bool in_pieces_ = false;                        // packets come by begin_packet() …
  bool counted_ = false;                          // … and a piece of this one was late or a duplicate
  static constexpr unsigned kProgressLines = 20;  // bits
  mutable std::uint64_t progress_ = 0;            // index and lines of PartProgress; release, for any thread
  bool told_ = false;                             // … has gone on since the last decide()
  bool any_event_ = false;
  std::uint64_t latest_event_ = 0;  // highest image whose event was seen
  std::uint64_t latest_event_packet_ = 0;
  std::int64_t latest_event_ns_ = 0;
};

/// Throws ConfigError when the placement of `dtp` is empty, inconsistent or not inside the memory.
void check(const ReceiverDtp& dtp, std::uint64_t line_bytes, std::uint64_t record_bytes);

}  // namespace rashpa::link
