// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Messages of a detector, written by the CBOR writer, for tests of the link.
#include <string>
#include <string_view>
#include <vector>

#include "rashpa/core/cbor/cbor.hpp"
#include "rashpa/link/stream2/messages/message.hpp"

namespace rashpa::link::stream2::testing {

using Bytes = std::vector<std::byte>;

/// The description of an image in a message, which may be wrong.
struct ImageSays {
  std::uint64_t series = 1;
  std::uint64_t image = 0;
  std::uint64_t rows = 2;
  std::uint64_t columns = 4;
  std::uint64_t dtype = 69;
  std::string packing = "";  ///< empty: plain bytes
  std::uint64_t element = 2;
  std::vector<std::string> channels{"threshold_1"};
  Bytes data = Bytes(16, std::byte{7});
  std::string completeness = "";
};

inline Bytes bytes_of(const Cbor& cbor) { return {cbor.bytes().begin(), cbor.bytes().end()}; }

inline void write_series(Cbor::Map& map, std::string_view type, std::uint64_t series) {
  map.key("type").text(type);
  map.key("series_id").count(series);
}

inline Bytes image_message(const ImageSays& says) {
  Cbor out;
  {
    Cbor::Map map(out);
    write_series(map, "image", says.series);
    map.key("image_id").count(says.image);
    map.key("series_date").tag(0);
    out.text("2025-01-01T00:00:00Z");
    map.key("real_time").array(2);
    out.count(3);
    out.count(2000);
    map.key("start_time").array(2);
    out.count(5'000'000);
    out.count(10'000'000);
    if (!says.completeness.empty()) {
      map.key("user_data");
      Cbor::Map user(out);
      user.key("completeness").text(says.completeness);
    }
    map.key("data");
    Cbor::Map data(out);
    for (const std::string& channel : says.channels) {
      data.key(channel).tag(kArrayTag);
      out.array(2);
      out.array(2);
      out.count(says.rows);
      out.count(says.columns);
      out.tag(says.dtype);
      if (!says.packing.empty()) {
        out.tag(kCompressedTag);
        out.array(3);
        out.text(says.packing);
        out.count(says.element);
      }
      out.bytes_head(says.data.size());
      out.append(says.data);
    }
  }
  return bytes_of(out);
}

inline Bytes start_message(std::uint64_t series, const std::vector<std::string>& channels = {"threshold_1"}) {
  Cbor out;
  {
    Cbor::Map map(out);
    write_series(map, "start", series);
    map.key("channels").array(channels.size());
    for (const std::string& channel : channels) out.text(channel);
    map.key("incident_energy").real(12400);
  }
  return bytes_of(out);
}

inline Bytes end_message(std::uint64_t series) {
  Cbor out;
  {
    Cbor::Map map(out);
    write_series(map, "end", series);
  }
  return bytes_of(out);
}

}  // namespace rashpa::link::stream2::testing
