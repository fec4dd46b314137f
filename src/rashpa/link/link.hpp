// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The link contract: how bytes of DTPs travel. It fits links that see every packet (roce), links that only complete
/// (verbs) and links that write memory and a lock word (pcie); nothing above it knows which one it has.
///
/// Its two ends are the sender, one per DTP, used by that DTP's thread alone, and the receiver, one per node and link,
/// which owns its threads and writes into the RASHPA buffer.
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "rashpa/core/books/books.hpp"
#include "rashpa/core/frame/dealt.hpp"
#include "rashpa/core/frame/frame_record.hpp"
#include "rashpa/core/frame/results.hpp"
#include "rashpa/core/image/pixel_type.hpp"
#include "rashpa/core/image/placement.hpp"
#include "rashpa/core/image/region.hpp"
#include "rashpa/link/counters.hpp"
#include "rashpa/link/faults.hpp"
#include "rashpa/link/line_map.hpp"
#include "rashpa/link/words.hpp"

namespace rashpa::link {

/// One contiguous run from source memory to an offset in the destination's registered buffer. Computed just in time.
struct BufferDescriptor {
  const std::byte* source = nullptr;
  std::uint64_t destination = 0;  ///< offset, iova 0
  std::uint32_t bytes = 0;
};

/// The event that follows the last line: the encoded frame record, where it goes, and the 32-bit immediate.
struct Event {
  const std::byte* record = nullptr;  ///< FrameRecord::kBytes bytes, valid until the call returns
  std::uint64_t destination = 0;
  std::uint32_t immediate = 0;
};

/// Payload bytes that the other side says to have, and those on their way. Lost bytes are among the latter until the
/// link takes them for lost. A connection in error shows here alone, and by no value of its credits: another process
/// writes those.
struct Answers {
  std::uint64_t had = 0;
  std::uint64_t open = 0;
  bool in_error = false;  ///< nothing that is sent arrives any more; granted() lets its caller come to its end
};

/// Source side of one DTP. Calls from the DTP's thread unless said otherwise; none blocks longer than `poll`'s
/// argument; none that is used for each image allocates. The classes below it are abilities of only some senders: a
/// caller that uses a sender asks for them once (core/ability.hpp).
class Sender {
 public:
  virtual ~Sender() = default;
  /// Returns where it is, and where its credits are to be written: for Receiver::connect().
  [[nodiscard]] virtual Endpoint endpoint() const = 0;
  /// Queues writes, in order; returns how many of them were taken (fewer when the queue or window is full: poll,
  /// repeat). Source memory must stay unchanged until poll() has reported the descriptors done.
  virtual std::size_t post(std::span<const BufferDescriptor> writes) = 0;
  /// Queues the event behind all earlier writes. False when the queue is full: poll, repeat.
  virtual bool post_event(const Event& event) = 0;
  /// Makes progress (sends what is queued, reads credits), waiting at most `wait_us` microseconds when nothing can be
  /// done at once. Returns how many posted writes (not events) became done since the last call.
  virtual std::size_t poll(std::uint32_t wait_us) = 0;
  /// Writes and events posted that have not been handed to the network yet; 0 when everything is out.
  [[nodiscard]] virtual std::size_t pending() const noexcept = 0;
  /// Images granted so far: image index k may be sent while k < granted(). The largest value when flow is paced.
  [[nodiscard]] virtual std::uint64_t granted() const noexcept = 0;
  /// The largest write that makes sense as one descriptor; runs are merged up to this many bytes. In the packetisation
  /// "only" this is the path MTU.
  [[nodiscard]] virtual std::uint32_t largest_message() const noexcept = 0;
  /// Any thread: its counters, by name (counters.hpp).
  [[nodiscard]] virtual Counts stats() const = 0;
};

/// A sender that writes into slots itself. It sees that an image is not waited for any more, and takes its writes and
/// its event without doing them.
class ImageAware {
 public:
  virtual ~ImageAware() = default;
  /// The writes that follow are of image `index`, until its event.
  virtual void begin(std::uint64_t index) = 0;
};

/// A sender to which the other side speaks of bytes, by credits or acknowledgements, or that knows of its own end.
class Answering {
 public:
  virtual ~Answering() = default;
  [[nodiscard]] virtual Answers answers() const noexcept = 0;
};

/// A sender that computes the CRC32C of its payload, or passes the payload to an object that does.
class Checksumming {
 public:
  virtual ~Checksumming() = default;
  /// Returns false where what carries its writes (an engine) does not make it. Does not change.
  [[nodiscard]] virtual bool makes_payload_crc32c() const noexcept = 0;
  /// CRC32C of all writes posted since the last event, in their order. Empty while one of them has not been read yet
  /// (poll, repeat), and always where none is made.
  [[nodiscard]] virtual std::optional<std::uint32_t> payload_crc32c() const noexcept = 0;
};

/// A sender that injects faults where they are asked for. Any thread.
class Injecting {
 public:
  virtual ~Injecting() = default;
  /// Faults so far; all 0 where none are asked for.
  [[nodiscard]] virtual FaultCounts injected() const noexcept = 0;
  /// Fates by the injector's log; null without one.
  [[nodiscard]] virtual const Fates* fates() const noexcept = 0;
};

inline constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();

/// The proof of one DTP's image, and its maker.
enum class Proof : std::uint8_t {
  none,   ///< the event arrived, nothing is known of the lines (verify the record's CRC32C before use)
  lines,  ///< the map of lines is full
  crc,    ///< map (if any) and the record's CRC32C agree
};

/// Gives the reason why a DTP's image is not complete.
enum class Loss : std::uint8_t {
  none,
  lines,     ///< partial: the event came, some lines did not
  event,     ///< missing: the event was lost (a later one came), or its source left the image out
  deadline,  ///< missing: closed by the scheduler
  overrun,   ///< missing: it came while its slot was not free
  corrupt,   ///< partial, with no line to be trusted: the record's CRC32C does not match, or proves nothing because
             ///< lines are missing and nobody has checked the packets of the others
};

/// A source that leaves images out, because no slot was granted, says so with an event of its own: a record with
/// FrameRecord::skipped and the index of the latest of them, written to Placement::skip_offset(). Images that were not
/// sent until then are missing at once, so that its user can release it and the source gets slots again. Such an event
/// may be lost or come late: the next one says more.
///
/// One DTP's image has been decided. A link emits exactly one Arrival per image of a DTP, in order of `index`, without
/// gaps.
struct Arrival {
  std::uint32_t dtp = 0;  ///< index into the receiver's list of DTPs (not the DTP id)
  std::uint64_t index = 0;
  Completeness completeness = Completeness::missing;
  Loss loss = Loss::none;
  Proof proof = Proof::none;
  std::uint32_t lines_missing =
      0;                         ///< lines of which at least one byte is missing (all of them when missing or corrupt)
  const LineMap* map = nullptr;  ///< which, when partial by Loss::lines; valid until the image is released
  FrameRecord record{};          ///< valid unless missing
  std::int64_t last_packet_ns = 0;  ///< monotonic clock, when the deciding packet was taken from the system
};

/// One DTP as its receiver knows it.
struct ReceiverDtp {
  std::uint32_t id = 0;      ///< 0 … 65535; its low byte is in the immediate
  std::uint64_t images = 0;  ///< expected in this run; of the whole slice, where they are dealt
  Slice slice{};             ///< so that the record's frame number can be checked
  Placement placement{};
  std::uint32_t run = 0;     ///< run number that records must carry
  bool dealt = false;        ///< its images are any of the slice's, in any order: the source deals them among receivers
  std::uint32_t module = 0;  ///< of the detector; for links that bring images with their names and types …
  PixelType pixel = PixelType::u16;  ///< … and the type that the buffer has
  /// The index of each image is below it.
  [[nodiscard]] std::uint64_t most() const noexcept { return most_images(images, dealt); }
};

/// Destination side. The classes below it are abilities of only some receivers. Order of calls: construct, endpoints()
/// → senders, connect(), start(), … stop(), all from one thread unless marked "any thread"; those are wait-free.
class Receiver {
 public:
  virtual ~Receiver() = default;
  /// One per DTP, in order.
  [[nodiscard]] virtual std::vector<Endpoint> endpoints() const = 0;
  /// The senders, one per DTP in order; before start(). Throws ConfigError or StateError.
  virtual void connect(std::span<const Endpoint> senders) = 0;
  /// Starts the link's threads. A link has one queue of arrivals per DTP, given to its constructor (arrival_queue.hpp),
  /// each fed by that DTP's thread only. The link's doorbell is rung after pushes. A full queue holds up its own DTP
  /// and nobody else: the thread goes on with the others and comes back to it when there is room.
  virtual void start() = 0;
  /// Any thread. The slots of images < `end` of DTP `dtp` are free again: grants credits up to end + slots.
  virtual void release(std::uint32_t dtp, std::uint64_t end) noexcept = 0;
  /// Any thread. Images < `end` of DTP `dtp` are not waited for any longer. The link first takes what has arrived by
  /// then; those undecided after that are emitted as partial or missing.
  virtual void close(std::uint32_t dtp, std::uint64_t end) noexcept = 0;
  /// Returns true where sources, or engines of theirs, write into the slots, and not this link's threads: then lines of
  /// an image that was decided without them may still come, until its slot is granted again.
  [[nodiscard]] virtual bool sources_write() const noexcept = 0;
  /// Ends the threads; no arrival is emitted after it returns. Bounded: at most 100 ms.
  virtual void stop() noexcept = 0;
  /// Any thread, though it allocates: the link's counters, by name (counters.hpp). Bad data is counted and never
  /// thrown.
  [[nodiscard]] virtual Counts stats() const = 0;
};

/// A receiver whose detector says more of an image than its pixels: words of the frame record, FrameRecord::user.
class Heading {
 public:
  virtual ~Heading() = default;
  /// Returns the columns by their names, in their order, all Column::of_header and i64; does not change.
  [[nodiscard]] virtual std::vector<Column> header_columns() const = 0;
};

/// A receiver with a device that writes the memory, which must be registered.
class Registering {
 public:
  virtual ~Registering() = default;
  /// The base that senders must add to every offset; 0 but for an RNIC that cannot register at iova 0.
  [[nodiscard]] virtual std::uint64_t base() const noexcept = 0;
  /// Returns how the memory was registered, in words.
  [[nodiscard]] virtual std::string registration() const = 0;
};

/// A receiver whose sources describe themselves.
class Describing {
 public:
  virtual ~Describing() = default;
  /// Any thread, though it allocates: their words so far, as they have said them.
  [[nodiscard]] virtual std::vector<std::string> descriptions() const = 0;
};

/// A receiver that sees writes into slots that are still read. One that places the bytes itself refuses them.
class Watching {
 public:
  virtual ~Watching() = default;
  /// Any thread, before the release of image `index`: true when a later image was written into its slot since it was
  /// decided, so that a read of it may be wrong. docs/explanations/links.md says which cases a link can see. Lines of
  /// the image itself that come late are not among them: see sources_write().
  [[nodiscard]] virtual bool overwritten(std::uint32_t dtp, std::uint64_t index) const noexcept = 0;
};

}  // namespace rashpa::link
