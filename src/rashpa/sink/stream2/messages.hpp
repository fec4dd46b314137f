// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The messages of DECTRIS Stream V2, docs/reference/stream2.md: their content, as CBOR.
#include <cstddef>
#include <cstdint>
#include <string>

#include "rashpa/core/books/books.hpp"
#include "rashpa/core/cbor/cbor.hpp"
#include "rashpa/core/frame/stack.hpp"
#include "rashpa/sink/nxmx_metadata.hpp"
#include "rashpa/sink/output.hpp"

namespace rashpa::sink::stream2 {

/// The one channel that images have.
inline constexpr const char* kChannel = "threshold_1";
/// Most runs of lost lines that an image message lists; it says how many there are in all.
inline constexpr std::uint32_t kMostLost = 16384;

/// The common part of all messages of a series.
struct Series {
  std::uint64_t id = 0;
  std::string unique_id;  ///< a ULID
  std::string arm_date;   ///< ISO 8601, UTC
  std::string date;       ///< of the first image whose time is known, from which images count theirs; empty: none yet
  std::uint64_t first_ns = 0;  ///< TAI, the same
};

/// The decisions so far, and their fates in this stream.
struct Tally {
  std::uint64_t accepted = 0;  ///< images: the next one is image number `accepted`
  std::uint64_t vetoed = 0;
  std::uint64_t errored = 0;
};

/// The images of one consumer.
struct Delivery {
  std::uint64_t sent = 0;
  std::uint64_t missed = 0;
};

void write_start(Cbor& out, const Series& series, const Output& output, const NxmxMetadata& metadata);
/// All but the bytes of the chunk, of which there are `chunk_bytes`: they follow behind.
void write_image(Cbor& out, const Series& series, const Tally& tally, const Output& output,
                 const NxmxMetadata& metadata, const StackImage& image, std::size_t chunk_bytes);
/// `books`: of the run as this sink was offered it; null: it was left before its end.
void write_end(Cbor& out, const Series& series, const Tally& tally, const Books* books, const Delivery& delivery);

/// A new one: sorted by time, 26 letters and digits.
[[nodiscard]] std::string make_ulid();
/// "2026-01-31T12:00:00.123456789Z" of nanoseconds since 1970 TAI.
[[nodiscard]] std::string date_of_tai(std::uint64_t tai_ns);

}  // namespace rashpa::sink::stream2
