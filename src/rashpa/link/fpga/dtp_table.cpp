// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/fpga/dtp_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "rashpa/core/error.hpp"
#include "rashpa/core/image/runs.hpp"
#include "rashpa/core/numbers/checksum.hpp"

namespace rashpa::link::fpga {

namespace {

constexpr std::uint32_t kOne = 0x80000000U;                 // the polynomial 1, reflected
constexpr std::uint64_t kMemory = std::uint64_t{1} << 44U;  // the card's adders go as far

/// x^(8·r), r: bytes of the last packet of a message of `bytes`.
std::uint32_t factor(std::uint64_t bytes, std::uint32_t pmtu) {
  if (bytes == 0) return kOne;
  return crc32c_combined(kOne, 0, (bytes - 1) % pmtu + 1);
}

std::uint32_t narrow(const char* what, std::uint64_t value, std::uint64_t most) {
  if (value > most) throw ConfigError(fmt::format("fpga: {} of {} bytes; a card takes at most {}", what, value, most));
  return static_cast<std::uint32_t>(value);
}

std::uint64_t mac(const std::array<std::uint8_t, 6>& bytes) noexcept {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) value |= std::uint64_t{bytes[i]} << (8 * i);
  return value;
}

std::array<std::uint32_t, 4> ip(const std::array<std::uint8_t, 16>& bytes) noexcept {
  std::array<std::uint32_t, 4> words{};
  for (std::size_t i = 0; i < bytes.size(); ++i) words[i / 4] |= std::uint32_t{bytes[i]} << (8 * (i % 4));
  return words;
}

}  // namespace

void set_transfer(card::registers::DtpTable& table, const CardDtp& dtp, const FrameRing& frames,
                  const CardPackets& packets) {
  const Placement& to = dtp.placement;
  const Region& region = dtp.region;
  if (to.line_bytes != region.width * frames.pixel_bytes || to.lines != region.height) {
    throw ConfigError(fmt::format(
        "fpga: DTP {}: a region of {} x {} pixels of {} bytes does not match its placement of {} lines of {} "
        "bytes; give both the same size",
        dtp.id, region.width, region.height, frames.pixel_bytes, to.lines, to.line_bytes));
  }
  if (to.line_bytes == 0 || to.lines == 0 || to.slots == 0 || frames.frames == 0) {
    throw ConfigError(
        fmt::format("fpga: DTP {}: lines, their bytes, slots or frames is 0; give 1 or more of each", dtp.id));
  }
  if (frames.address % 64 != 0 || frames.stride % 64 != 0) {
    throw ConfigError(
        fmt::format("fpga: DTP {}: frames begin at {} + n * {} in card memory; place them at multiples of 64 bytes",
                    dtp.id, frames.address, frames.stride));
  }
  if (frames.address + frames.stride * frames.frames > kMemory) {
    throw ConfigError(
        fmt::format("fpga: DTP {}: {} frames of {} bytes do not fit into card memory; use fewer or smaller frames",
                    dtp.id, frames.frames, frames.stride));
  }
  table.mtu_path_mtu = packets.pmtu;
  table.mtu_first_middle_last = packets.packetisation == Packetisation::first_middle_last;
  table.factor_mtu = factor(packets.pmtu, packets.pmtu);

  const auto [lines_per_run, piece] = runs_of(to, frames.pitch_bytes, packets.largest_message);
  if (piece > 0) {
    table.inner_count = (to.line_bytes + piece - 1) / piece;
    table.piece_bytes = piece;
    table.rest_bytes = to.line_bytes - (table.inner_count - 1) * piece;
    table.last_bytes = table.rest_bytes;
  } else {
    table.inner_count = 1;
    table.rest_bytes = lines_per_run * to.line_bytes;
    table.piece_bytes = table.rest_bytes;
    table.last_bytes = ((to.lines - 1) % lines_per_run + 1) * to.line_bytes;
  }
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();
  table.lines_per_run = lines_per_run;
  table.outer_count = (to.lines + lines_per_run - 1) / lines_per_run;
  table.outer_source_step = narrow("a step from run to run", frames.pitch_bytes * lines_per_run, kMost);
  table.outer_destination_step = narrow("a step from run to run", to.pitch * lines_per_run, kMost);
  table.factor_piece = factor(table.piece_bytes, packets.pmtu);
  table.factor_rest = factor(table.rest_bytes, packets.pmtu);
  table.factor_last = factor(table.last_bytes, packets.pmtu);

  table.source = frames.address + FrameRing::kPixels + region.y * frames.pitch_bytes +
                 std::uint64_t{region.x} * frames.pixel_bytes;
  table.record_source = frames.address;
  table.frame_ring = frames.stride * frames.frames;
  table.frame_step = dtp.slice.every % frames.frames * frames.stride;
  table.frame_offset = dtp.slice.phase % frames.frames * frames.stride;
  table.first_frame = static_cast<std::uint32_t>(dtp.slice.phase);
  table.frames_between = static_cast<std::uint32_t>(dtp.slice.every);

  table.destination = dtp.base + to.pixels_offset + to.first_line_offset;
  table.slot_bytes = to.slot_bytes;
  table.slots = to.slots;
  table.records = dtp.base + to.records_offset;
  table.images = dtp.images;
  table.lines = to.lines;
  table.payload_bytes = to.payload_bytes();
  table.run = dtp.run;
  table.dtp_id = dtp.id;
  table.dtp_enabled = true;
}

std::string last_sent(const card::registers::DtpTable& table, std::uint64_t images, std::uint64_t packets) {
  const auto of = [&](std::uint64_t bytes) { return (bytes + table.mtu_path_mtu - 1) / table.mtu_path_mtu; };
  const std::uint64_t pieces = (table.inner_count - 1) * of(table.piece_bytes);
  const std::uint64_t a_run = pieces + of(table.rest_bytes);
  const std::uint64_t an_image = (table.outer_count - 1) * a_run + pieces + of(table.last_bytes) + 1;
  if (packets == 0) return "nothing";
  if (packets <= images * an_image) return fmt::format("the event of image {}", images - 1);
  const std::uint64_t run = (packets - images * an_image - 1) / a_run;
  const std::uint64_t line = std::min<std::uint64_t>((run + 1) * table.lines_per_run, table.lines) - 1;
  return fmt::format("line {} of image {}", line, images);
}

void set_path(card::registers::DtpTable& table, const CardPath& path) noexcept {
  table.destination_mac = mac(path.destination_mac);
  table.source_mac = mac(path.source_mac);
  table.ip_destination = ip(path.destination_ip);
  table.ip_source = ip(path.source_ip);
  table.mtu_ipv6 = path.ipv6;
  table.ports_source_port = path.source_port;
  table.ports_destination_port = path.destination_port;
  table.traffic_class = path.traffic_class;
  table.traffic_hop_limit = path.hop_limit;
  table.qpn = path.qpn;
  table.rkey = path.rkey;
  table.first_psn = path.first_psn;
  // Version, header length, service; identification 0; don't fragment; hops, UDP; addresses.
  std::uint32_t sum = 0x4500U + path.traffic_class + 0x4000U + (std::uint32_t{path.hop_limit} << 8U) + 17U;
  for (std::size_t i = 0; i < 4; i += 2) {
    sum += (std::uint32_t{path.source_ip[i]} << 8U) + path.source_ip[i + 1];
    sum += (std::uint32_t{path.destination_ip[i]} << 8U) + path.destination_ip[i + 1];
  }
  while (sum > 0xFFFFU) sum = (sum & 0xFFFFU) + (sum >> 16U);
  table.ipv4_sum = sum;
}

void record_template(std::span<std::byte, FrameRecord::kBytes> at, std::uint64_t frame_number,
                     std::uint64_t timestamp_ns, std::uint32_t flags,
                     const std::array<std::uint64_t, 6>& user) noexcept {
  FrameRecord record{};
  record.frame_number = frame_number;
  record.timestamp_ns = timestamp_ns;
  record.flags = flags & ~std::uint32_t{FrameRecord::last_of_run};
  record.user = user;
  encode(record, at);
}

}  // namespace rashpa::link::fpga
