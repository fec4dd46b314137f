// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The link contract: how bytes of DTPs travel. It suits links that see all packets (roce), links that only see
/// completions (verbs) and links that write memory and a lock word (pcie). The layers above do not know which.
/// A DTP's sender is used by that DTP's thread alone. A node has one receiver for each link, which owns its threads and
/// writes into the RASHPA buffer.
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
#include "rashpa/core/frame/last_word.hpp"
#include "rashpa/core/frame/results.hpp"
#include "rashpa/core/image/pixel_type.hpp"
#include "rashpa/core/image/placement.hpp"
#include "rashpa/core/image/region.hpp"
#include "rashpa/link/counters.hpp"
#include "rashpa/link/faults.hpp"
#include "rashpa/link/line_map.hpp"
#include "rashpa/link/words.hpp"

namespace rashpa::link {

/// One contiguous run from source memory to an offset in the destination's registered buffer. Computed just before its
/// use.
struct BufferDescriptor {
  const std::byte* source = nullptr;
  std::uint64_t destination = 0;  ///< offset in the buffer, iova 0
  std::uint32_t bytes = 0;
};

/// The event that follows the last line: the encoded frame record, its destination, and the 32-bit immediate.
struct Event {
  const std::byte* record = nullptr;  ///< FrameRecord::kBytes bytes, valid until the call returns
  std::uint64_t destination = 0;
  std::uint32_t immediate = 0;
};

/// The payload bytes that the other side has reported as received, and those in flight. Lost bytes stay in flight until
/// the link takes them as lost. Only this shows a connection in error; credits cannot, because another process writes
/// them.
struct Answers {
  std::uint64_t had = 0;
  std::uint64_t open = 0;
  bool in_error = false;  ///< nothing that is sent arrives any more; granted() then lets the caller reach its end
};

/// The source side of one DTP. The DTP's thread calls it unless stated otherwise. No call blocks longer than poll()'s
/// argument, and calls for each image do not allocate. The classes below are abilities of only some senders: a caller
/// asks for each once (core/ability.hpp).
class Sender {
 public:
  virtual ~Sender() = default;
  /// Returns the sender's own endpoint, to which its credits are written, for Receiver::connect().
  [[nodiscard]] virtual Endpoint endpoint() const = 0;
  /// Queues writes in order; returns how many were accepted. It accepts fewer when the queue or window is full: poll,
  /// then repeat. Source memory must stay unchanged until poll() reports the descriptors done.
  virtual std::size_t post(std::span<const BufferDescriptor> writes) = 0;
  /// Queues the event behind all earlier writes. Returns false when the queue is full: poll, then repeat.
  virtual bool post_event(const Event& event) = 0;
  /// Makes progress: sends queued data and reads credits. Waits at most `wait_us` microseconds when nothing can be done
  /// at once. Returns how many posted writes (not events) were done since the last call.
  virtual std::size_t poll(std::uint32_t wait_us) = 0;
  /// Returns the number of posted writes and events that have not been passed to the network yet.
  [[nodiscard]] virtual std::size_t pending() const noexcept = 0;
  /// Returns the number of images granted so far: image index k may be sent while k < granted(). It is the largest
  /// value when flow is paced.
  [[nodiscard]] virtual std::uint64_t granted() const noexcept = 0;
  /// Returns the largest useful descriptor in bytes; runs are merged up to this size. In the packetisation "only" it is
  /// the path MTU.
  [[nodiscard]] virtual std::uint32_t largest_message() const noexcept = 0;
  /// Returns the counters by name (counters.hpp). Any thread.
  [[nodiscard]] virtual Counts stats() const = 0;
};

/// A sender that writes into slots itself. It detects that an image is no longer awaited, and then accepts its writes
/// and its event without carrying them out.
class ImageAware {
 public:
  virtual ~ImageAware() = default;
  /// Assigns all following writes to image `index`, until its event.
  virtual void begin(std::uint64_t index) = 0;
};

/// A sender that gets answers about bytes, by credits or acknowledgements, or that detects its own failure.
class Answering {
 public:
  virtual ~Answering() = default;
  [[nodiscard]] virtual Answers answers() const noexcept = 0;
};

/// A sender that computes the CRC32C of its payload, or passes the payload to an object that does.
class Checksumming {
 public:
  virtual ~Checksumming() = default;
  /// Returns false where the engine of its writes does not compute the CRC32C. Constant.
  [[nodiscard]] virtual bool makes_payload_crc32c() const noexcept = 0;
  /// Returns the CRC32C of all writes posted since the last event, in order. Empty while one of them has not been read
  /// yet (poll, then repeat), and always where none is computed.
  [[nodiscard]] virtual std::optional<std::uint32_t> payload_crc32c() const noexcept = 0;
};

/// A sender that injects faults on request. Any thread.
class Injecting {
 public:
  virtual ~Injecting() = default;
  /// Returns the number of faults so far; all 0 where none are requested.
  [[nodiscard]] virtual FaultCounts injected() const noexcept = 0;
  /// Returns the fates in the injector's log; null without a log.
  [[nodiscard]] virtual const Fates* fates() const noexcept = 0;
};

inline constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();

/// The proof that one DTP's image is complete.
enum class Proof : std::uint8_t {
  none,   ///< no proof: the event arrived, but the lines are unknown (check the record's CRC32C before use)
  lines,  ///< the map of lines is full
  crc,    ///< the map (if any) and the record's CRC32C agree
};

/// The reason why a DTP's image is not complete.
enum class Loss : std::uint8_t {
  none,
  lines,     ///< partial: the event came, some lines are missing
  event,     ///< missing: the event was lost (a later one came), or the source skipped the image
  deadline,  ///< missing: closed by the scheduler
  overrun,   ///< missing: it came when its slot was not free
  /// partial, with no valid line: the record's CRC32C does not match, or proves nothing because lines are missing and
  /// the packets of the others were not checked
  corrupt,
};

/// The decision on one DTP's image. A link emits exactly one Arrival for each image of a DTP, in order of `index`,
/// without gaps.
/// A source that skips images, because no slot was granted, reports that by an event of its own: a record with
/// FrameRecord::skipped and the index of the latest skipped image, written to Placement::skip_offset(). Unsent images
/// up to that index are missing at once, so that their user can release them and the source gets slots again. When such
/// an event is lost or late, the next one covers its images.
struct Arrival {
  std::uint32_t dtp = 0;  ///< index into the receiver's list of DTPs (not the DTP id)
  std::uint64_t index = 0;
  Completeness completeness = Completeness::missing;
  Loss loss = Loss::none;
  Proof proof = Proof::none;
  std::uint32_t lines_missing = 0;  ///< lines with at least one missing byte (all lines when missing or corrupt)
  const LineMap* map = nullptr;  ///< the arrived units, when partial by Loss::lines; valid until the image is released
  FrameRecord record{};          ///< valid unless missing
  /// time, by the monotonic clock, when the deciding packet was taken from the system
  std::int64_t last_packet_ns = 0;
};

/// One DTP in the form that its receiver needs.
struct ReceiverDtp {
  std::uint32_t id = 0;      ///< 0 … 65535; its low byte is in the immediate
  std::uint64_t images = 0;  ///< images expected in this run; for dealt images, those of the whole slice
  Slice slice{};             ///< for the check of the record's frame number
  Placement placement{};
  std::uint32_t run = 0;     ///< run number that records must carry
  bool dealt = false;        ///< its images are any of the slice, in any order: the source deals them among receivers
  std::uint32_t module = 0;  ///< module of the detector, for links whose images carry names and types
  PixelType pixel = PixelType::u16;  ///< pixel type of the buffer, for the same links
  /// Returns the exclusive upper bound of image indices.
  [[nodiscard]] std::uint64_t most() const noexcept { return most_images(images, dealt); }
};

/// The destination side. Order of calls: construct, endpoints() → senders, connect(), start(), … stop(). One thread
/// makes them, except calls marked "any thread", which are wait-free. The classes below are abilities of only some
/// receivers.
class Receiver {
 public:
  virtual ~Receiver() = default;
  /// Returns the endpoint of each DTP, in order.
  [[nodiscard]] virtual std::vector<Endpoint> endpoints() const = 0;
  /// Connects the senders, one for each DTP in order, before start(). Throws ConfigError or StateError.
  virtual void connect(std::span<const Endpoint> senders) = 0;
  /// Starts the link's threads. The constructor got one queue of arrivals for each DTP (arrival_queue.hpp), which only
  /// that DTP's thread fills; it rings the link's doorbell after pushes. A full queue delays its own DTP alone: the
  /// thread continues with the others and retries when there is room.
  virtual void start() = 0;
  /// Frees the slots of images < `end` of DTP `dtp`, and grants credits up to end + slots. Any thread.
  virtual void release(std::uint32_t dtp, std::uint64_t end) noexcept = 0;
  /// Ends the wait for images < `end` of DTP `dtp`. The link first takes all arrivals so far, and then emits undecided
  /// images as partial or missing. Any thread.
  virtual void close(std::uint32_t dtp, std::uint64_t end) noexcept = 0;
  /// Returns true where sources, or their engines, write into the slots in place of this link's threads. Then lines of
  /// an image that was decided without them may still arrive, until its slot is granted again.
  [[nodiscard]] virtual bool sources_write() const noexcept = 0;
  /// Ends the threads within 100 ms; no arrival is emitted after it returns.
  virtual void stop() noexcept = 0;
  /// Returns the link's counters by name (counters.hpp). Bad data is counted and never thrown. Any thread; it
  /// allocates.
  [[nodiscard]] virtual Counts stats() const = 0;
};

/// A receiver whose detector sends words about each image besides its pixels, in FrameRecord::user.
class Heading {
 public:
  virtual ~Heading() = default;
  /// Returns the columns of these words by name, in their order, all Column::of_header and i64. Constant.
  [[nodiscard]] virtual std::vector<Column> header_columns() const = 0;
};

/// A receiver whose device writes the memory, which must be registered.
class Registering {
 public:
  virtual ~Registering() = default;
  /// Returns the base that senders add to the offsets of lines; 0 except for an RNIC that cannot register at iova 0.
  [[nodiscard]] virtual std::uint64_t base() const noexcept = 0;
  /// Returns the same of the offsets of records, which may be in a block of their own.
  [[nodiscard]] virtual std::uint64_t base_of_records() const noexcept = 0;
  /// Returns how the memory was registered, as text.
  [[nodiscard]] virtual std::string registration() const = 0;
};

/// A receiver whose sources end each image with a word in memory that a device can watch. The link's thread watches it,
/// too: it alone decides on images.
class Watchable {
 public:
  virtual ~Watchable() = default;
  /// Returns the last words of each DTP, in order; empty where they prove nothing: without credits, or where the link
  /// compares lines itself.
  [[nodiscard]] virtual std::vector<LastWord> last_words() const = 0;
};

/// The image of a DTP that is being received, and its lines from the first on that are in memory, by the events of its
/// parts. It says nothing of the parts of other images.
struct PartProgress {
  std::uint64_t index = 0;
  std::uint32_t lines = 0;
};

/// A receiver whose sources may send events for parts of images (Placement::event_lines). It rings the link's doorbell
/// for each.
class Parted {
 public:
  virtual ~Parted() = default;
  /// Returns the progress of DTP `dtp`. The lines are in memory, and not proven before their image is. Any thread.
  [[nodiscard]] virtual PartProgress progress(std::uint32_t dtp) const noexcept = 0;
};

/// A receiver whose sources send descriptions of themselves.
class Describing {
 public:
  virtual ~Describing() = default;
  /// Returns the descriptions so far, unchanged. Any thread; it allocates.
  [[nodiscard]] virtual std::vector<std::string> descriptions() const = 0;
};

/// A receiver that detects writes into slots that are still read. A receiver that places the bytes itself refuses such
/// writes.
class Watching {
 public:
  virtual ~Watching() = default;
  /// Returns true when a later image was written into the slot of image `index` since its decision, so that a read may
  /// be wrong. Late lines of the image itself do not count: see sources_write(). docs/explanations/links.md lists the
  /// cases that a link can detect. Any thread, before the release of the image.
  [[nodiscard]] virtual bool overwritten(std::uint32_t dtp, std::uint64_t index) const noexcept = 0;
};

}  // namespace rashpa::link
