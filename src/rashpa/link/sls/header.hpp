// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The 48 bytes before the pixels of each datagram, little endian. The caller owns the memory; any thread.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "rashpa/core/frame/frame_record.hpp"
#include "rashpa/core/frame/results.hpp"
#include "rashpa/core/frame/storage_cell.hpp"
#include "rashpa/link/sls/options.hpp"

namespace rashpa::link::sls {

inline constexpr std::size_t kHeaderBytes = 48;
inline constexpr std::uint8_t kVersion = 2;  ///< the version since package 4

/// The header of a datagram, with slsDetectorPackage's names in lower case.
struct Header {
  std::uint64_t frame_number = 0;   ///< number of the frame; some models send only 48 bits of it
  std::uint32_t exposure = 0;       ///< in 100 ns; for EIGER the number of the sub-frame
  std::uint32_t packet_number = 0;  ///< within the frame of this port, from 0
  std::uint64_t bunch_id = 0;       ///< detSpec1
  std::uint64_t timestamp = 0;      ///< in 100 ns since a time that differs between modules
  std::uint16_t module = 0;         ///< modId
  std::uint16_t row = 0;            ///< row of the port in the detector, counted in ports
  std::uint16_t column = 0;
  std::uint16_t spec2 = 0;
  std::uint32_t daq_info = 0;  ///< detSpec3
  std::uint16_t spec4 = 0;
  std::uint8_t type = 0;
  std::uint8_t version = kVersion;
  friend bool operator==(const Header&, const Header&) = default;
};

/// Returns the number of a detector in the header.
[[nodiscard]] constexpr std::uint8_t type_of(Detector detector) noexcept {
  switch (detector) {
    case Detector::jungfrau:
      return 3;
    case Detector::eiger:
      return 1;
    case Detector::moench:
      return 5;
  }
  return 0;
}

/// Returns the header's words that differ from image to image, for the image's record; header_columns() names them.
constexpr FrameRecord::Words words_of(const Header& header) noexcept {
  return {header.frame_number, header.bunch_id, header.timestamp, header.exposure, header.daq_info, header.module};
}
std::vector<Column> header_columns();

/// Returns the flags of an image with this header: for JUNGFRAU the storage cell.
constexpr std::uint32_t flags_of(Detector detector, const Header& header) noexcept {
  constexpr unsigned kCellInDaqInfo = 8;
  return detector == Detector::jungfrau ? flags_of_cell(header.daq_info >> kCellInDaqInfo) : 0U;
}
/// Returns the DAQ info of an image with these flags: for JUNGFRAU the storage cell.
constexpr std::uint32_t daq_info_of(Detector detector, std::uint32_t flags) noexcept {
  return detector == Detector::jungfrau ? std::uint32_t{cell_of(flags)} << 8U : 0U;
}

/// Reads a header without checks.
Header load_header(std::span<const std::byte, kHeaderBytes> bytes) noexcept;
void store(const Header& header, std::span<std::byte, kHeaderBytes> out) noexcept;

}  // namespace rashpa::link::sls
