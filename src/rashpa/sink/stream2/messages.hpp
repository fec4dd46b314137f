// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The messages of DECTRIS Stream V2 (docs/reference/stream2.md): their content, as CBOR.
#include <cstddef>
#include <cstdint>
#include <string>

#include "rashpa/core/books/books.hpp"
#include "rashpa/core/cbor/cbor.hpp"
#include "rashpa/core/frame/stack.hpp"
#include "rashpa/sink/nxmx_metadata.hpp"
#include "rashpa/sink/output.hpp"

namespace rashpa::sink::stream2 {

/// The name of the only channel of images.
inline constexpr const char* kChannel = "threshold_1";
/// The most runs of lost lines in an image message; the message also has their total number.
inline constexpr std::uint32_t kMostLost = 16384;

/// The part that all messages of a series share.
struct Series {
  std::uint64_t id = 0;
  std::string unique_id;       ///< a ULID
  std::string arm_date;        ///< ISO 8601, UTC
  std::string date;            ///< of the first image with a known time, from which image times count; empty: none yet
  std::uint64_t first_ns = 0;  ///< time of that image, TAI
};

/// The decisions so far, and the fates of images in this stream.
struct Tally {
  std::uint64_t accepted = 0;  ///< accepted images; the next one has number `accepted`
  std::uint64_t vetoed = 0;
  std::uint64_t errored = 0;
};

/// The counts of images for one consumer.
struct Delivery {
  std::uint64_t sent = 0;
  std::uint64_t missed = 0;
};

void write_start(Cbor& out, const Series& series, const Output& output, const NxmxMetadata& metadata);
/// Writes an image message without the bytes of the chunk, of which `chunk_bytes` follow.
void write_image(Cbor& out, const Series& series, const Tally& tally, const Output& output,
                 const NxmxMetadata& metadata, const StackImage& image, std::size_t chunk_bytes);
/// Writes the end message. `books` are those of the run as offered to this sink; null: the run was left before its end.
void write_end(Cbor& out, const Series& series, const Tally& tally, const Books* books, const Delivery& delivery);

/// Makes a new ULID: 26 letters and digits that sort by time.
[[nodiscard]] std::string make_ulid();
/// Returns the date of nanoseconds since 1970 TAI: "2026-01-31T12:00:00.123456789Z".
[[nodiscard]] std::string date_of_tai(std::uint64_t tai_ns);

}  // namespace rashpa::sink::stream2
