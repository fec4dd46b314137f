// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/sls/port_shape.hpp"

namespace rashpa::link::sls {

namespace {

constexpr std::uint32_t kHalfRows = 256;  // of a half module of EIGER

// Pixels of 16 bits, packets of `rows_a_packet` rows; the middle rows of the module are read out.
PortShape by_rows(const Options& options, std::uint32_t port, std::uint32_t width, std::uint32_t rows_a_packet) {
  const Module module = module_of(options);
  const std::uint32_t all = module.rows / module.ports;
  PortShape shape;
  shape.width = width;
  shape.rows = options.read_rows == 0 ? all : options.read_rows / module.ports;
  shape.wire_row = shape.row_bytes = width * 2;
  shape.payload = rows_a_packet * shape.wire_row;
  shape.packets = shape.rows / rows_a_packet;
  const std::uint32_t left_out = (all - shape.rows) / rows_a_packet;  // packets that keep their numbers
  if (module.ports == 1) {
    shape.first_packet = left_out / 2;
  } else if (port % 2 == 0) {
    shape.first_packet = left_out;  // its last rows lie at the middle
  }
  return shape;
}

PortShape eiger_shape(const Options& options) noexcept {
  PortShape shape;
  shape.width = 512;
  shape.rows = options.read_rows == 0 ? kHalfRows : options.read_rows;
  shape.wire_row = shape.width * options.bits / 8;
  shape.row_bytes = options.bits == 4 ? shape.width : shape.wire_row;
  shape.payload = options.gigabits == 10 ? 4096 : 1024;
  shape.packets = shape.rows * shape.wire_row / shape.payload;
  return shape;
}

}  // namespace

Module module_of(const Options& options) noexcept {
  switch (options.detector) {
    case Detector::jungfrau:
      return {512, 8, options.interfaces};
    case Detector::moench:
      return {400, 16, options.interfaces};
    case Detector::eiger:
      break;
  }
  // n rows are n·N/256 of N packets, which must be a whole number.
  const std::uint32_t packets = kHalfRows * 512 * options.bits / 8 / (options.gigabits == 10 ? 4096 : 1024);
  std::uint32_t step = 1;
  while (step * packets % kHalfRows != 0) ++step;
  return {kHalfRows, step, 2};
}

PortShape shape_of(const Options& options, std::uint32_t port) noexcept {
  switch (options.detector) {
    case Detector::jungfrau:
      return by_rows(options, port, 1024, 4);
    case Detector::moench:
      return by_rows(options, port, 400, 8);
    case Detector::eiger:
      break;
  }
  return eiger_shape(options);
}

bool flipped(const Options& options, std::uint16_t row) noexcept {
  switch (options.flip) {
    case Flip::detector:
      return options.detector == Detector::eiger && row % 2 == 0;
    case Flip::none:
      return false;
    case Flip::even:
      return row % 2 == 0;
    case Flip::odd:
      return row % 2 == 1;
    case Flip::all:
      break;
  }
  return true;
}

}  // namespace rashpa::link::sls
