// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The unit of work from the scheduler through the unit to the sinks: one stack of images and the facts of each.
/// All of it is allocated at start. One thread at a time owns a stack (scheduler → unit → distributor) and hands it
/// over in rings; then all sinks read it, none changes it, and it goes back when the last one is through.
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
  std::uint32_t dtp = 0;  ///< DTP id
  std::uint32_t first_line = 0;
  std::uint32_t lines = 0;
  friend bool operator==(const LostRun&, const LostRun&) = default;
};

/// One non-zero pixel list, CSR by image: index = row · width + column in the assembled image.
struct SparseView {
  const std::uint32_t* index = nullptr;
  const void* value = nullptr;  ///< photons, of the unit's output type
  std::uint32_t count = 0;
};

/// Most columns that a pipeline has.
inline constexpr std::size_t kMostColumns = 64;

/// One image of a stack. Inputs are set by the scheduler, results by the unit.
struct StackImage {
  // inputs
  std::uint64_t index = 0;         ///< k: counts the images of the buffer's time slice
  std::uint64_t frame_number = 0;  ///< of the detector
  std::uint64_t timestamp_ns = 0;  ///< TAI, of the first DTP's record; 0 when missing
  std::uint32_t flags = 0;         ///< FrameRecord::Flag bits, or-ed over the DTPs
  Completeness completeness = Completeness::open;
  std::byte* raw =  ///< the slot: height × width pixels of the buffer's type, row-major; lost lines already filled.
      nullptr;      ///< Null: it lies in memory of the unit's device, and the host sees nothing of it.
  std::uint32_t lost_count = 0;     ///< valid entries of `lost`
  LostRun* lost = nullptr;          ///< room for every run that can occur; owned by the scheduler
  std::int64_t last_packet_ns = 0;  ///< monotonic, of the last packet of the image
  bool proved = false;   ///< `raw` is a copy meanwhile that nobody writes over, and it was intact when it was made
  bool refused = false;  ///< it was written over before that: nothing is made from it
  std::span<const PayloadSum> sums{};  ///< one for each DTP; none where nobody says it. Of the scheduler
  FrameRecord::Words header{};         ///< of the first DTP that brought something: the link knows their meaning …
  bool has_header = false;             ///< … if one has

  // results
  Decision decision = Decision::none;
  VetoReason reason = VetoReason::none;
  ErrorReason error = ErrorReason::none;
  bool measured = false;                       ///< the pipeline has looked at its pixels
  std::array<Scalar, kMostColumns> scalars{};  ///< by column of the unit's results; 0 of steps that it did not reach
  const std::byte* pixels =
      nullptr;  ///< height × width, and type, of the unit's output, row-major; valid when accepted
  std::span<const std::byte> chunk{};  ///< these pixels as the kernel bitshuffle_lz4 packs them; empty: nobody has
  SparseView sparse{};                 ///< when the pipeline makes CSR
  std::array<TableView, kMostTables> tables{};        ///< by table of the unit's results
  std::array<ProfileView, kMostProfiles> profiles{};  ///< by profile of the unit's results; of accepted images
  std::uint8_t failed_in = 0;  ///< errored by the unit: n: its n-th step could not do its work; 0: another reason

  [[nodiscard]] std::span<const LostRun> lost_runs() const noexcept { return {lost, lost_count}; }
  /// The pixels for a sink of whole images: those that the unit has made, or the slot. Not of an image that has only
  /// its chunk.
  [[nodiscard]] const std::byte* dense() const noexcept { return pixels != nullptr ? pixels : raw; }
  /// Returns true when a sink reads the slot itself, because the unit has made nothing of it.
  [[nodiscard]] bool lies_in_slot() const noexcept {
    return pixels == nullptr ? sparse.index == nullptr && chunk.empty() : pixels == raw;
  }
  /// Returns true when others can write into the slot that a sink reads: only a copy that was compared is sure to stay
  /// as it is.
  [[nodiscard]] bool may_change() const noexcept { return lies_in_slot() && any_compared(sums); }
  void fail(ErrorReason why) noexcept {
    decision = Decision::errored;
    reason = VetoReason::none;
    error = why;
  }
};

/// Knows of an image in its slot whether a later one was written over it. Any thread, without waiting.
class SlotGuard {
 public:
  [[nodiscard]] virtual bool overwritten(const StackImage& image) const noexcept = 0;

 protected:
  ~SlotGuard() = default;
};

/// k consecutive images processed as a whole.
struct Stack {
  std::uint32_t slot = 0;            ///< which stack of the ring: number mod ring
  std::uint64_t number = 0;          ///< counts stacks from 0
  std::uint32_t count = 0;           ///< images in it: k, fewer in the last stack of a run
  std::vector<StackImage> images;    ///< sized to k once
  std::int64_t ready_ns = 0;         ///< monotonic: the global event
  std::int64_t decided_ns = 0;       ///< all decisions made
  std::int64_t written_ns = 0;       ///< the last sink that needed it is through
  Accumulated accumulated{};         ///< windows that end with this stack; memory of the unit, valid as its pixels are
  const SlotGuard* guard = nullptr;  ///< null: nothing can be written over these images

  [[nodiscard]] std::span<StackImage> view() noexcept { return {images.data(), count}; }
  [[nodiscard]] std::span<const StackImage> view() const noexcept { return {images.data(), count}; }
  /// Returns false when an image was overwritten or changed while it was read straight from its slot: then the copy is
  /// worth nothing. Call it after the last read, before the pixels are used.
  [[nodiscard]] bool intact(const StackImage& image) const noexcept { return intact(image, image.raw); }
  /// Returns true when a copy of all pixels is intact, for a reader that goes on with the copy.
  [[nodiscard]] bool intact(const StackImage& image, const std::byte* copy) const noexcept {
    return !image.lies_in_slot() || slot_intact(image, copy);
  }
  /// Returns true when the slot itself, or a copy of it, is intact, also where the unit has made other pixels from it.
  [[nodiscard]] bool slot_intact(const StackImage& image, const std::byte* read) const noexcept {
    return guard == nullptr || (still_agree(image.sums, read) && !guard->overwritten(image));
  }
};

}  // namespace rashpa
