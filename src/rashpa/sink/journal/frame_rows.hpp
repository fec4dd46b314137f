// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rashpa/core/books/books.hpp"
#include "rashpa/core/frame/results.hpp"
#include "rashpa/core/frame/stack.hpp"
#include "rashpa/core/image/pixel_type.hpp"
#include "rashpa/core/image/region.hpp"
#include "rashpa/sink/hdf5_config.hpp"
#include "rashpa/sink/sink.hpp"

namespace rashpa::sink {

/// Describes where an image was stored.
struct StoredPlace {
  std::uint32_t file = 0;   ///< number of the data file, counted from 1; 0: nowhere
  std::uint32_t place = 0;  ///< which of its images
  std::uint64_t end = 0;    ///< CSR: where its elements end, those of all images before it included
  friend bool operator==(const StoredPlace&, const StoredPlace&) = default;
};

/// The bytes that hold an image: of a raw file, of a chunk, or of the elements of a list. A loss of power may leave
/// others in their place.
struct RawPlace {
  std::uint64_t offset = 0;       ///< in a raw file
  std::uint64_t length = 0;       ///< of a list: elements. 0: nobody has said it
  std::uint32_t crc32c = 0;       ///< of these bytes; of a list: of the indices, then of the values
  std::uint32_t rows_crc32c = 0;  ///< of its rows of tables and its profiles, where they are stored
  friend bool operator==(const RawPlace&, const RawPlace&) = default;
};

/// A row of the tables for one image, but for its numbers and lost lines.
struct FrameRow {
  std::uint64_t index = 0;
  std::uint64_t frame_number = 0;
  std::uint64_t timestamp_ns = 0;
  StoredPlace stored;
  std::uint32_t flags = 0;
  std::uint16_t measured = 0;                           ///< 1: the pipeline has looked at its pixels
  std::uint16_t profiles = 0;                           ///< 1: its profiles are stored
  std::array<std::uint32_t, kMostTables> table_rows{};  ///< of each table, when it is stored
  std::uint32_t lost_runs = 0;
  Completeness completeness = Completeness::open;
  Decision decision = Decision::none;
  VetoReason reason = VetoReason::none;
  ErrorReason error = ErrorReason::none;
};

/// The facts of a run in its journal.
struct JournalHeader {
  static constexpr std::uint64_t kNotKnown = ~std::uint64_t{0};
  std::uint64_t images = 0;  ///< that are due; kNotKnown: as many as there are rows, at least
  [[nodiscard]] bool end_known() const noexcept { return images != kNotKnown; }
  Slice slice{};
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  PixelType pixel = PixelType::u16;
  ImageForm form = ImageForm::dense;
  Results results{};  ///< columns of the images' numbers, reasons of vetoes
};

/// The rows of a run, one an image and in order of images, in memory and in a journal on disk: fixed records with a
/// checksum of their own, of which every one that is whole can be read again, however the process ended.
class FrameRows {
 public:
  /// Bytes besides the rows that it takes to complete the master.
  struct Reserve {
    std::uint64_t fixed = 0;
    std::uint64_t image = 0;  ///< of each
  };

  /// Prepares `journal`, an empty file that outlives this object, for a run: writes its header, and takes room for the
  /// rows of all images and `reserve` besides. Where the number of images is not known, it takes room for kBlock
  /// images, and for as many more whenever those are there. Throws FileError when there is no room at the beginning.
  FrameRows(int journal, const JournalHeader& header, const Reserve& reserve);
  /// Reads the journal. Throws FileError when it is none.
  explicit FrameRows(int journal);

  /// `result`: the sink's result for the image; none: nothing went wrong. Its rows of tables count when it is stored.
  void append(const StackImage& image, ErrorReason result, const StoredPlace& stored, const RawPlace& raw = {});
  /// The row of an image that the sink never had.
  void append(const SkippedImage& image);
  /// A row of another run, whose image is stored here at `stored` and has the bytes `raw`. Its rows of tables are as
  /// they were.
  void append(const FrameRows& from, std::size_t image, const StoredPlace& stored, const RawPlace& raw);
  /// Writes the rows appended since the last time to the journal; false when that failed: the next call tries again.
  bool note();
  /// Brings the rows of note() to the disk; false when that failed.
  [[nodiscard]] bool sync() const noexcept;
  /// Gives back the reserved room; rows of note() stay.
  void give_back_reserve() noexcept;

  [[nodiscard]] const JournalHeader& header() const noexcept { return header_; }
  [[nodiscard]] std::size_t size() const noexcept { return rows_.size(); }
  [[nodiscard]] FrameRow& row(std::size_t image) noexcept { return rows_[image]; }
  [[nodiscard]] const std::vector<FrameRow>& rows() const noexcept { return rows_; }
  [[nodiscard]] Scalar scalar(std::size_t image, std::size_t column) const noexcept {
    return scalars_[image * columns() + column];
  }
  /// The time from the first to the last image whose time is known, by their source.
  [[nodiscard]] std::uint64_t lasted_ns() const noexcept;
  /// The bytes of an image.
  [[nodiscard]] const RawPlace& raw_place(std::size_t image) const noexcept { return raw_[image]; }
  [[nodiscard]] const std::vector<LostRun>& lost() const noexcept { return lost_; }  ///< of all rows, in order
  /// Makes rows of images of which nothing is known: open, undecided, with the frame numbers that they must have.
  void fill_up();

 private:
  static constexpr std::uint64_t kBlock = 65536;  // images
  void add_record(std::size_t image, const LostRun* lost);
  void add_no_scalars();
  [[nodiscard]] std::uint64_t room_of(std::uint64_t images) const noexcept;
  [[nodiscard]] int take_room(std::uint64_t images) noexcept;
  [[nodiscard]] std::size_t columns() const noexcept { return header_.results.columns.size(); }
  [[nodiscard]] std::size_t record_bytes() const noexcept;
  int journal_;
  JournalHeader header_;
  Reserve reserve_;
  std::uint64_t room_ = 0;  // images for which there is room
  std::vector<FrameRow> rows_;
  std::vector<Scalar> scalars_;  // [row][column]
  std::vector<RawPlace> raw_;    // of each row
  bool has_places_ = true;       // the journal's records
  std::vector<LostRun> lost_;
  std::size_t taken_ = 0, taken_lost_ = 0;  // rows of another run, and their lost runs
  std::vector<std::byte> records_;          // scratch of note()
  std::size_t noted_ = 0;                   // rows in the journal …
  std::size_t noted_lost_ = 0;              // … and their lost runs
  std::uint64_t end_ = 0;                   // bytes of the journal that hold them
};

}  // namespace rashpa::sink
