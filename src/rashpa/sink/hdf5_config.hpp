// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The configuration of sinks that write files: names, sizes, and the way of writing blocks. The folders of the sink
/// share it.
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

/// The form in which accepted images are stored.
enum class ImageForm : std::uint8_t {
  dense,   ///< all pixels, in bitshuffle-LZ4 chunks of one image
  sparse,  ///< StackImage::sparse as CSR by image: index, intensity, frame_ptr
  raw,     ///< all pixels unchanged, in files without HDF5 (raw_file.hpp)
};

/// Returns the sink that stores this form, as prefix of messages.
[[nodiscard]] constexpr const char* sink_of(ImageForm form) noexcept {
  return form == ImageForm::raw ? "raw sink: " : "hdf5 sink: ";
}

/// The treatment of files of an earlier run with the same name.
enum class Existing : std::uint8_t {
  refuse,   ///< they cause an error
  replace,  ///< they stay until begin(), which deletes them
};

/// The way in which blocks of a file are written.
enum class BlockWay : std::uint8_t {
  automatic,  ///< io_uring where the kernel allows it, otherwise threads
  io_uring,
  threads,  ///< pwrite() in threads
};

struct BlockWriting {
  BlockWay way = BlockWay::automatic;
  unsigned in_flight = 16;  ///< most writes in flight
};

struct Hdf5Config {
  std::string prefix;  ///< files are <prefix>_master.h5 and <prefix>_data_000001.h5 …
  Existing existing = Existing::refuse;
  std::uint32_t images_per_file = 1000;
  unsigned threads = 1;  ///< compressing threads, besides the thread that calls put()
  BlockWriting raw{};    ///< way of writing raw files
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  PixelType pixel = PixelType::u16;  ///< type of StackImage::pixels, or of the values of lists
  ImageForm form = ImageForm::dense;
  std::string buffer;        ///< name of the RASHPA buffer
  std::uint64_t images = 0;  ///< images that are due, or the most that may come
  End end = End::known;
  Slice slice{};           ///< gives the frame numbers of images
  Results results{};       ///< columns of StackImage::scalars, reasons of vetoes
  bool delivered = false;  ///< as in Output, like the next three
  std::int64_t largest_count = kNoLargestCount;
  std::vector<SpecialValue> special{};
  std::shared_ptr<const SpecialMask> special_mask{};
  bool chunked = false;                  ///< for dense: images come as StackImage::chunk, and are stored unchanged
  std::shared_ptr<ChunkBoard> chunks{};  ///< the board of chunks for other sinks of the buffer; null: none takes chunks
  NxmxMetadata metadata;
};

}  // namespace rashpa::sink
