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

/// The place of a stored image.
struct StoredPlace {
  std::uint32_t file = 0;   ///< number of the data file, from 1; 0: not stored
  std::uint32_t place = 0;  ///< position among the images of the file
  std::uint64_t end = 0;    ///< for CSR: end of its elements, counted over all images
  friend bool operator==(const StoredPlace&, const StoredPlace&) = default;
};

/// The bytes of a stored image: in a raw file, in a chunk, or as the elements of a list. After a loss of power the file
/// may have other bytes there.
struct RawPlace {
  std::uint64_t offset = 0;       ///< offset in a raw file
  std::uint64_t length = 0;       ///< for a list: elements; 0: unknown
  std::uint32_t crc32c = 0;       ///< CRC32C of these bytes; for a list: of the indices, then of the values
  std::uint32_t rows_crc32c = 0;  ///< CRC32C of its stored table rows and profiles
  friend bool operator==(const RawPlace&, const RawPlace&) = default;
};

/// A row of the tables for one image, without its numbers and lost lines.
struct FrameRow {
  std::uint64_t index = 0;
  std::uint64_t frame_number = 0;
  std::uint64_t timestamp_ns = 0;
  StoredPlace stored;
  std::uint32_t flags = 0;
  std::uint16_t measured = 0;                           ///< 1: the pipeline has read its pixels
  std::uint16_t profiles = 0;                           ///< 1: its profiles are stored
  std::array<std::uint32_t, kMostTables> table_rows{};  ///< stored rows of each table
  std::uint32_t lost_runs = 0;
  Completeness completeness = Completeness::open;
  Decision decision = Decision::none;
  VetoReason reason = VetoReason::none;
  ErrorReason error = ErrorReason::none;
};

/// The facts of a run in its journal.
struct JournalHeader {
  static constexpr std::uint64_t kNotKnown = ~std::uint64_t{0};
  std::uint64_t images = 0;  ///< images that are due; kNotKnown: at least as many as there are rows
  [[nodiscard]] bool end_known() const noexcept { return images != kNotKnown; }
  Slice slice{};
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  PixelType pixel = PixelType::u16;
  ImageForm form = ImageForm::dense;
  Results results{};  ///< columns of the images' numbers, and veto reasons
};

/// The rows of a run, one for each image in order, in memory and in a journal on disk. The journal has fixed records
/// with checksums, so that each whole record can be read again, however the process ended.
class FrameRows {
 public:
  /// The bytes, besides the rows, that completing the master takes.
  struct Reserve {
    std::uint64_t fixed = 0;
    std::uint64_t image = 0;  ///< bytes for each image
  };

  /// Prepares `journal`, an empty file that outlives this object, for a run. It writes the header and reserves room for
  /// the rows of all images and for `reserve`. With an unknown number of images it reserves room for kBlock images, and
  /// for as many more each time these are used up. Throws FileError when there is no room at the beginning.
  FrameRows(int journal, const JournalHeader& header, const Reserve& reserve);
  /// Reads a journal. Throws FileError when the file is none.
  explicit FrameRows(int journal);

  /// Appends the row of an image. `result` is the sink's result; none: stored without error. Its table rows count when
  /// it is stored.
  void append(const StackImage& image, ErrorReason result, const StoredPlace& stored, const RawPlace& raw = {});
  /// Appends the row of an image that the sink never got.
  void append(const SkippedImage& image);
  /// Appends a row of another run, whose image is now stored at `stored` with the bytes `raw`. Its table rows are
  /// unchanged.
  void append(const FrameRows& from, std::size_t image, const StoredPlace& stored, const RawPlace& raw);
  /// Writes the rows appended since the last call to the journal; returns false when that failed, and the next call
  /// retries.
  bool note();
  /// Flushes the written rows to the disk; returns false when that failed.
  [[nodiscard]] bool sync() const noexcept;
  /// Frees the reserved room; written rows stay.
  void give_back_reserve() noexcept;

  [[nodiscard]] const JournalHeader& header() const noexcept { return header_; }
  [[nodiscard]] std::size_t size() const noexcept { return rows_.size(); }
  [[nodiscard]] FrameRow& row(std::size_t image) noexcept { return rows_[image]; }
  [[nodiscard]] const std::vector<FrameRow>& rows() const noexcept { return rows_; }
  [[nodiscard]] Scalar scalar(std::size_t image, std::size_t column) const noexcept {
    return scalars_[image * columns() + column];
  }
  /// Returns the time from the first to the last image with a known time, by the source's clock.
  [[nodiscard]] std::uint64_t lasted_ns() const noexcept;
  /// Returns the bytes in which an image is stored.
  [[nodiscard]] const RawPlace& raw_place(std::size_t image) const noexcept { return raw_[image]; }
  [[nodiscard]] const std::vector<LostRun>& lost() const noexcept { return lost_; }  ///< of all rows, in order
  /// Appends rows of unknown images up to the end of the run: open and undecided, with their frame numbers.
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
