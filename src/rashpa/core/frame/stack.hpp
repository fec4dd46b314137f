// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The unit of work from the scheduler through the unit to the sinks: one stack of images and their facts. All its
/// memory is allocated at start. One thread at a time owns a stack (scheduler → unit → distributor), and rings pass it
/// on. Then all sinks read it without changes, and it returns after the last of them.
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "rashpa/core/books/books.hpp"
#include "rashpa/core/frame/decision.hpp"
#include "rashpa/core/frame/frame_record.hpp"
#include "rashpa/core/frame/results.hpp"
#include "rashpa/core/numbers/payload_sum.hpp"

namespace rashpa {

/// A run of lost lines of one DTP's region, in lines of that region.
struct LostRun {
  std::uint32_t dtp = 0;  ///< id of the DTP
  std::uint32_t first_line = 0;
  std::uint32_t lines = 0;
  friend bool operator==(const LostRun&, const LostRun&) = default;
};

/// The non-zero pixels of an image in CSR form: index = row · width + column in the assembled image.
struct SparseView {
  const std::uint32_t* index = nullptr;
  const void* value = nullptr;  ///< photons, in the type of the unit's output
  std::uint32_t count = 0;
};

/// Most columns that a pipeline has.
inline constexpr std::size_t kMostColumns = 64;

/// One image of a stack. The scheduler writes the inputs, the unit writes the results.
struct StackImage {
  // inputs
  std::uint64_t index = 0;         ///< index k in the buffer's time slice
  std::uint64_t frame_number = 0;  ///< frame number of the detector
  std::uint64_t timestamp_ns = 0;  ///< ns TAI, from the first DTP's record; 0 when the image is missing
  std::uint32_t flags = 0;         ///< FrameRecord::Flag bits of all DTPs, or-ed
  Completeness completeness = Completeness::open;
  std::byte* raw =  ///< the slot: height × width pixels of the buffer's type, row-major, with lost lines filled
      nullptr;      ///< null: the slot lies in memory of the unit's device, which the host cannot read
  std::uint32_t lost_count = 0;     ///< valid entries of `lost`
  LostRun* lost = nullptr;          ///< room for each possible run; owned by the scheduler
  std::int64_t last_packet_ns = 0;  ///< time of the image's last packet, monotonic clock
  bool proved = false;              ///< `raw` is now a copy that nobody overwrites, and it was intact when it was made
  bool refused = false;             ///< the slot was overwritten before a copy was made: the image gives no results
  std::span<const PayloadSum> sums{};  ///< one sum for each DTP; empty where sources send none; owned by the scheduler
  FrameRecord::Words header{};         ///< words of the first DTP that brought data; the link knows their meaning
  bool has_header = false;             ///< true when a DTP brought such words

  // results
  Decision decision = Decision::none;
  VetoReason reason = VetoReason::none;
  ErrorReason error = ErrorReason::none;
  bool measured = false;  ///< the pipeline has read the pixels
  /// by column of the unit's results; 0 for steps that the image did not reach
  std::array<Scalar, kMostColumns> scalars{};
  const std::byte* pixels =
      nullptr;  ///< height × width pixels of the unit's output type, row-major; valid when accepted
  std::span<const std::byte> chunk{};  ///< the same pixels as packed by the kernel bitshuffle_lz4; empty: not packed
  SparseView sparse{};                 ///< valid when the pipeline makes CSR lists
  std::array<TableView, kMostTables> tables{};        ///< by table of the unit's results
  std::array<ProfileView, kMostProfiles> profiles{};  ///< by profile of the unit's results; of accepted images
  std::uint8_t failed_in = 0;  ///< n: the unit's n-th step failed on this image; 0: any other reason of an error

  [[nodiscard]] std::span<const LostRun> lost_runs() const noexcept { return {lost, lost_count}; }
  /// Returns the pixels for a sink of whole images: the unit's output, or the slot. Not valid for an image that has
  /// only its chunk.
  [[nodiscard]] const std::byte* dense() const noexcept { return pixels != nullptr ? pixels : raw; }
  /// Returns true when a sink reads the slot itself, because the unit made no pixels of its own.
  [[nodiscard]] bool lies_in_slot() const noexcept {
    return pixels == nullptr ? sparse.index == nullptr && chunk.empty() : pixels == raw;
  }
  /// Returns true when other writers can change the slot that a sink reads. Only a copy that was compared cannot
  /// change.
  [[nodiscard]] bool may_change() const noexcept { return lies_in_slot() && any_compared(sums); }
  void fail(ErrorReason why) noexcept {
    decision = Decision::errored;
    reason = VetoReason::none;
    error = why;
  }
};

/// Tells whether a later image has overwritten an image in its slot. Any thread, without waiting.
class SlotGuard {
 public:
  [[nodiscard]] virtual bool overwritten(const StackImage& image) const noexcept = 0;

 protected:
  ~SlotGuard() = default;
};

/// A stack: k consecutive images that are processed as a whole.
struct Stack {
  std::uint32_t slot = 0;          ///< place of the stack in the ring: number mod ring size
  std::uint64_t number = 0;        ///< number of the stack, from 0
  std::uint32_t count = 0;         ///< images in the stack: k, or fewer in the last stack of a run
  std::vector<StackImage> images;  ///< k elements, allocated once
  std::int64_t ready_ns = 0;       ///< time of the global event, monotonic clock
  std::int64_t decided_ns = 0;     ///< time at which all decisions were made, monotonic clock
  std::int64_t written_ns = 0;     ///< time at which the last sink that needed it finished, monotonic clock
  Accumulated accumulated{};  ///< windows that end with this stack, in memory of the unit; valid as long as its pixels
  const SlotGuard* guard = nullptr;  ///< null: nothing can overwrite these images

  [[nodiscard]] std::span<StackImage> view() noexcept { return {images.data(), count}; }
  [[nodiscard]] std::span<const StackImage> view() const noexcept { return {images.data(), count}; }
  /// Returns false when an image was overwritten or changed while a reader copied it from its slot; discard the copy
  /// then. Call it after the last read and before the pixels are used.
  [[nodiscard]] bool intact(const StackImage& image) const noexcept { return intact(image, image.raw); }
  /// Returns true when `copy`, a copy of all pixels, is intact. For readers that continue with the copy.
  [[nodiscard]] bool intact(const StackImage& image, const std::byte* copy) const noexcept {
    return !image.lies_in_slot() || slot_intact(image, copy);
  }
  /// Returns true when the slot or the copy `read` of it is intact, even where the unit has made other pixels from it.
  [[nodiscard]] bool slot_intact(const StackImage& image, const std::byte* read) const noexcept {
    return guard == nullptr || (still_agree(image.sums, read) && !guard->overwritten(image));
  }
};

}  // namespace rashpa
