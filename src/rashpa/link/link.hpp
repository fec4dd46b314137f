#pragma once
/// The link contract: how bytes of DTPs travel. It fits links that see every packet (roce), links that only complete
/// (verbs) and links that write memory and a lock word (pcie); nothing above it knows which one it has.
///
/// Source side: one `Sender` per DTP, used by that DTP's thread alone.
/// Destination side: one `ReceiverLink` per receiver and link; it owns its threads and writes into the RASHPA buffer.
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>

#include "rashpa/core/books.hpp"
#include "rashpa/core/frame_record.hpp"
#include "rashpa/core/placement.hpp"
#include "rashpa/core/region.hpp"
#include "rashpa/link/line_map.hpp"

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

/// What a sender counts. Plain numbers: read by other threads through Sender::stats() only.
struct SenderStats {
  std::uint64_t messages = 0;
  std::uint64_t packets = 0;
  std::uint64_t payload_bytes = 0;
  std::uint64_t waits = 0;            ///< times the window or the queue was full
  std::uint64_t window_timeouts = 0;  ///< times the window was reopened without news from the receiver
  std::uint64_t send_errors = 0;      ///< datagrams the system refused for good: lost, as if on the wire; of a
                                      ///< connection in error: what it lost and took for nothing
  std::uint64_t cnps_received = 0;    ///< congestion notifications from the destination; nothing slows down for them
  // Reliable connections of user space; those of an RNIC say nothing.
  std::uint64_t acks = 0;                     ///< acknowledgements taken
  std::uint64_t naks = 0;                     ///< negative ones: gaps, or refusals
  std::uint64_t rnr_naks = 0;                 ///< times the receiver had no receive posted
  std::uint64_t retransmitted_packets = 0;    ///< counted in `packets`, too
  std::uint64_t retransmission_timeouts = 0;  ///< times nothing was heard for too long
  std::uint64_t connection_errors = 0;        ///< 1: given up, nothing is sent any more
};

/// Source side of one DTP. All calls from the DTP's thread; none blocks longer than `poll`'s argument; none allocates.
class Sender {
 public:
  virtual ~Sender() = default;
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
  [[nodiscard]] virtual SenderStats stats() const noexcept = 0;
  /// True when the link makes the CRC32C of the payload on its way, so that its user need not read all bytes once more.
  [[nodiscard]] virtual bool makes_payload_crc32c() const noexcept { return false; }
  /// CRC32C of all writes posted since the last event, in their order. Empty while one of them has not been read yet
  /// (poll, repeat), and always on links that do not make it.
  [[nodiscard]] virtual std::optional<std::uint32_t> payload_crc32c() const noexcept { return std::nullopt; }
};

inline constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();

/// Who proved what about one DTP's image.
enum class Proof : std::uint8_t {
  none,   ///< the event arrived, nothing is known of the lines (verify the record's CRC32C before use)
  lines,  ///< the map of lines is full
  crc,    ///< map (if any) and the record's CRC32C agree
};

/// Of which images a link that sees no packets compares the CRC32C of the lines in memory with the record's. `sampled`:
/// one in 16; the others are then complete with Proof::none.
enum class Verify : std::uint8_t { all, sampled, off };

/// Why a DTP's image is not complete.
enum class Loss : std::uint8_t {
  none,
  lines,     ///< partial: the event came, some lines did not
  event,     ///< missing: the event was lost (a later one came)
  deadline,  ///< missing: closed by the scheduler
  overrun,   ///< missing: it came while its slot was not free
  corrupt,   ///< partial, with no line to be trusted: the record's CRC32C does not match, or proves nothing because
             ///< lines are missing and nobody has checked the packets of the others
};

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

/// One DTP as the destination side knows it.
struct DestinationDtp {
  std::uint32_t id = 0;      ///< 0 … 255, in the immediate's top byte
  std::uint64_t images = 0;  ///< expected in this run
  Slice slice{};             ///< so that the record's frame number can be checked
  Placement placement{};
  std::uint32_t run = 0;          ///< run number that records must carry
  std::uint32_t granularity = 0;  ///< bytes, divides line_bytes: the units in which the line map counts; 0: one line
};

/// What a receiving link counts. Bad data is counted and never thrown.
struct ReceiverStats {
  std::uint64_t packets = 0;
  std::uint64_t payload_bytes = 0;  ///< accepted into the buffer; of links that see events alone: what those announce
  std::uint64_t events = 0;         ///< accepted
  std::uint64_t duplicate_packets = 0;  ///< lines that had already arrived, events of images already decided; of
                                        ///< reliable connections: packets already executed
  std::uint64_t late_packets = 0;       ///< for an image already decided (the slot was not touched)
  std::uint64_t overrun_packets = 0;    ///< for a slot that was not free
  std::uint64_t icrc_exact = 0;
  std::uint64_t icrc_modulo_id = 0;
  std::uint64_t icrc_bad = 0;
  std::uint64_t malformed = 0;  ///< not a RoCE packet, wrong length, wrong P_Key or version
  std::uint64_t unknown_qp = 0;
  std::uint64_t wrong_source = 0;    ///< not from the connected queue pair's address; UD: nor from its queue pair
  std::uint64_t refused_key = 0;     ///< wrong key or out of bounds
  std::uint64_t sequence_drops = 0;  ///< dropped by the responder's state machine
  std::uint64_t bad_records = 0;     ///< event payloads that are no frame record of this run
  std::uint64_t crc_mismatches = 0;  ///< images whose CRC32C differs from the record's
  std::uint64_t ce_packets = 0;      ///< marked by a router: congestion experienced (links that see IP headers)
  std::uint64_t fecn_packets = 0;    ///< marked in the BTH: forward congestion
  std::uint64_t becn_packets = 0;    ///< marked in the BTH: backward congestion
  std::uint64_t cnps_sent = 0;       ///< congestion notifications sent to sources
  // Reliable connections of user space.
  std::uint64_t acks = 0;           ///< acknowledgements sent
  std::uint64_t naks = 0;           ///< negative ones: gaps, or refusals
  std::uint64_t rnr_naks = 0;       ///< "receiver not ready"
  std::uint64_t sequence_gaps = 0;  ///< UD: packets missing at the moment a later one came
  /// Images whose slot was written again before they were released; counted by who asks overwritten().
  std::uint64_t overwritten_images = 0;
};

/// Destination side. Calls marked "any thread" are wait-free.
class ReceiverLink {
 public:
  virtual ~ReceiverLink() = default;
  /// Starts the link's threads. A link has one queue of arrivals per DTP, given to its constructor (arrival_queue.hpp),
  /// each fed by that DTP's thread only. The link's doorbell is rung after pushes. A full queue holds up its own DTP
  /// and nobody else: the thread goes on with the others and comes back to it when there is room.
  virtual void start() = 0;
  /// Any thread. The slots of images < `end` of DTP `dtp` are free again: grants credits up to end + slots.
  virtual void release(std::uint32_t dtp, std::uint64_t end) noexcept = 0;
  /// Any thread. Images < `end` of DTP `dtp` are not waited for any longer: those undecided are emitted as partial or
  /// missing.
  virtual void close(std::uint32_t dtp, std::uint64_t end) noexcept = 0;
  /// Any thread, before the release of image `index`: true when a later image was written into its slot since it was
  /// decided, so that what was read of it may be wrong. What a link can see of that is said in
  /// docs/explanations/links.md; one that places the bytes itself refuses such writes, so that it never happens.
  [[nodiscard]] virtual bool overwritten(std::uint32_t /*dtp*/, std::uint64_t /*index*/) const noexcept {
    return false;
  }
  /// Ends the threads; no arrival is emitted after it returns. Bounded: at most 100 ms.
  virtual void stop() noexcept = 0;
  [[nodiscard]] virtual ReceiverStats stats() const noexcept = 0;
};

}  // namespace rashpa::link
