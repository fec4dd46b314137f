// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/sls/header.hpp"

namespace rashpa::link::sls {

namespace {

template <typename T>
T take(const std::byte*& from) noexcept {
  T value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) value |= static_cast<T>(static_cast<T>(from[i]) << (8 * i));
  from += sizeof(T);
  return value;
}

template <typename T>
void put(std::byte*& to, T value) noexcept {
  for (std::size_t i = 0; i < sizeof(T); ++i) to[i] = static_cast<std::byte>(value >> (8 * i));
  to += sizeof(T);
}

}  // namespace

Header load_header(std::span<const std::byte, kHeaderBytes> bytes) noexcept {
  const std::byte* from = bytes.data();
  Header header;
  header.frame_number = take<std::uint64_t>(from);
  header.exposure = take<std::uint32_t>(from);
  header.packet_number = take<std::uint32_t>(from);
  header.bunch_id = take<std::uint64_t>(from);
  header.timestamp = take<std::uint64_t>(from);
  header.module = take<std::uint16_t>(from);
  header.row = take<std::uint16_t>(from);
  header.column = take<std::uint16_t>(from);
  header.spec2 = take<std::uint16_t>(from);
  header.daq_info = take<std::uint32_t>(from);
  header.spec4 = take<std::uint16_t>(from);
  header.type = take<std::uint8_t>(from);
  header.version = take<std::uint8_t>(from);
  return header;
}

void store(const Header& header, std::span<std::byte, kHeaderBytes> out) noexcept {
  std::byte* to = out.data();
  put(to, header.frame_number);
  put(to, header.exposure);
  put(to, header.packet_number);
  put(to, header.bunch_id);
  put(to, header.timestamp);
  put(to, header.module);
  put(to, header.row);
  put(to, header.column);
  put(to, header.spec2);
  put(to, header.daq_info);
  put(to, header.spec4);
  put(to, header.type);
  put(to, header.version);
}

std::vector<Column> header_columns() {
  const auto column = [](const char* name, const char* unit, const char* doc) {
    return Column{name, Column::Type::i64, unit, doc, true};
  };
  return {column("detector_frame", "", "frameNumber of the detector's header"),
          column("bunch_id", "", "detSpec1: bunch id of JUNGFRAU, train id of GOTTHARD2"),
          column("detector_time", "100 ns", "timestamp since a start that is each module's own"),
          column("exposure", "100 ns", "expLength; of EIGER the number of the sub-frame"),
          column("daq_info", "", "detSpec3; of JUNGFRAU bits of gain, bits 8 to 11 the storage cell"),
          column("module_id", "", "modId of the first module that came")};
}

}  // namespace rashpa::link::sls
