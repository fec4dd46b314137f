// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "rashpa/core/end.hpp"
#include "rashpa/core/frame/results.hpp"
#include "rashpa/core/image/region.hpp"
#include "rashpa/core/image/special_value.hpp"
#include "rashpa/sink/chunk_board.hpp"
#include "rashpa/sink/nxmx_metadata.hpp"
#include "rashpa/sink/raw/block_writer.hpp"
#include "rashpa/sink/sink.hpp"
#include "rashpa/sink/special_mask.hpp"

namespace rashpa::sink {

/// How accepted images are stored.
enum class ImageForm : std::uint8_t {
  dense,   ///< every pixel, bitshuffle-LZ4 chunks of one image
  sparse,  ///< StackImage::sparse as CSR by image: index, intensity, frame_ptr
  raw,     ///< every pixel as it is, in files without HDF5 (raw_file.hpp)
};

/// The sink that stores images so, as messages begin.
[[nodiscard]] constexpr const char* sink_of(ImageForm form) noexcept {
  return form == ImageForm::raw ? "raw sink: " : "hdf5 sink: ";
}

/// What becomes of the files of an earlier run of the same name.
enum class Existing : std::uint8_t {
  refuse,   ///< they are in the way
  replace,  ///< they stay until begin(), and go then
};

struct Hdf5Config {
  std::string prefix;  ///< files are <prefix>_master.h5 and <prefix>_data_000001.h5 …
  Existing existing = Existing::refuse;
  std::uint32_t images_per_file = 1000;
  unsigned threads = 1;  ///< that compress, besides the thread that calls put()
  BlockWriting raw{};    ///< how raw files are written
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  PixelType pixel = PixelType::u16;  ///< of StackImage::pixels, or of the values of lists
  ImageForm form = ImageForm::dense;
  std::string buffer;        ///< name of the RASHPA buffer
  std::uint64_t images = 0;  ///< that are due, or at most so many
  End end = End::known;
  Slice slice{};           ///< gives images their frame numbers
  Results results{};       ///< columns of StackImage::scalars, reasons of vetoes
  bool delivered = false;  ///< as in Output, these four
  std::int64_t largest_count = kNoLargestCount;
  std::vector<SpecialValue> special{};
  std::shared_ptr<const SpecialMask> special_mask{};
  bool chunked = false;                  ///< dense: images come as StackImage::chunk, and are stored as they are
  std::shared_ptr<ChunkBoard> chunks{};  ///< where sinks of the same buffer find the chunks; null: none wants them
  NxmxMetadata metadata;
};

/// Writes NXmx (docs/reference/files.md): accepted images in order, and under /entry/rashpa one row for every image of
/// the run, the lost lines and the books; rows of tables lie in <prefix>_tables.h5, accumulations in
/// <prefix>_accumulated.h5. Data files can be read while they grow (SWMR); the master file is made complete by close(),
/// at once: until then there is what the constructor wrote.
///
/// Until begin() all files have the suffix ".new", and go when it is never called. The rows of the tables are kept in
/// memory and in a journal, <prefix>_master.journal, which holds room for the master besides, so that a full disk does
/// not take it; it goes when the master is complete. Where that cannot be, it stays, for repair().
///
/// An image is written when a flush of its file came back well: it then survives the end of this process, and, after
/// settle(), a loss of power. settle() reads every file anew and takes back what is not there.
///
/// Memory for compression is taken in the constructor; the HDF5 library allocates on its own in put(), and the rows
/// take 64 bytes an image and 8 for each column. Images that cannot be stored (disk full) are said to be lost; storing
/// is tried again with the next one.
class Hdf5Sink final : public Sink {
 public:
  /// Creates the master file and the first data file. Throws ConfigError for a request that makes no sense, FileError
  /// when a folder cannot be written, has no room for the tables, or is another's, and when one of the files exists
  /// (Existing::refuse).
  explicit Hdf5Sink(const Hdf5Config& config);
  ~Hdf5Sink() override;
  void begin() override;
  Put put(const Stack& stack, std::span<ErrorReason> results) override;
  void skip(std::span<const SkippedImage> images) override;
  const Stack* take() noexcept override;
  void put_windows(const Accumulated& accumulated) override;
  std::vector<LostImage> settle() override;
  void close(const Books& books) override;
  [[nodiscard]] SinkStats stats() const noexcept override;
  [[nodiscard]] std::string error() const override;

 private:
  void put_tables(const Stack& stack, std::span<ErrorReason> results, std::string& error);

  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rashpa::sink
