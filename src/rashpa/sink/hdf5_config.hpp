// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The configuration of sinks that write files: names, sizes, and how blocks are written. The rooms know one another by
/// it.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "rashpa/core/end.hpp"
#include "rashpa/core/frame/results.hpp"
#include "rashpa/core/image/pixel_type.hpp"
#include "rashpa/core/image/region.hpp"
#include "rashpa/core/image/special_value.hpp"
#include "rashpa/sink/chunk_board.hpp"
#include "rashpa/sink/nxmx_metadata.hpp"
#include "rashpa/sink/special_mask.hpp"

namespace rashpa::sink {

/// Describes how accepted images are stored.
enum class ImageForm : std::uint8_t {
  dense,   ///< every pixel, bitshuffle-LZ4 chunks of one image
  sparse,  ///< StackImage::sparse as CSR by image: index, intensity, frame_ptr
  raw,     ///< every pixel as it is, in files without HDF5 (raw_file.hpp)
};

/// The sink that stores images so, as messages begin.
[[nodiscard]] constexpr const char* sink_of(ImageForm form) noexcept {
  return form == ImageForm::raw ? "raw sink: " : "hdf5 sink: ";
}

/// The fate of the files of an earlier run of the same name.
enum class Existing : std::uint8_t {
  refuse,   ///< they are in the way
  replace,  ///< they stay until begin(), and go then
};

/// The way in which blocks of a file are written.
enum class BlockWay : std::uint8_t {
  automatic,  ///< io_uring where the kernel allows it, else threads
  io_uring,
  threads,  ///< pwrite() in threads
};

struct BlockWriting {
  BlockWay way = BlockWay::automatic;
  unsigned in_flight = 16;  ///< most writes at a time
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
  std::uint64_t images = 0;  ///< images that are due, or the most that may come
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

}  // namespace rashpa::sink
