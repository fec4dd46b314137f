// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Packets on their way into the kernel. Headers and ICRCs are made here; the payload stays in place. Packets of equal
/// size are joined to datagrams of up to 64 KiB, which the kernel cuts (UDP_SEGMENT).
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "rashpa/core/frame/frame_record.hpp"
#include "rashpa/link/roce/options.hpp"
#include "rashpa/wire/frame_header.hpp"
#include "rashpa/wire/headers.hpp"
#include "rashpa/wire/icrc.hpp"

namespace rashpa::link::roce {

/// One packet to be sent.
struct Outgoing {
  std::uint8_t opcode = 0;
  bool has_reth = false;
  bool has_deth = false;  ///< true: with a DETH, and a line header behind the extended headers
  bool has_immediate = false;
  bool ack_request = false;
  std::uint32_t psn = 0;
  wire::Reth reth{};
  wire::Deth deth{};
  wire::LineHeader line{};
  std::uint32_t immediate = 0;
  const std::byte* payload = nullptr;  ///< must stay until the batch is sent, except for events, which are copied
  std::uint32_t bytes = 0;
};

class PacketBatch {
 public:
  static constexpr std::size_t kPackets = 256;
  enum class Sent : std::uint8_t { all, some };
  /// The datagrams to send. `full`: only those that cannot grow, so that none is sent too short.
  enum class Flush : std::uint8_t { full, all };

  /// Takes all memory. `socket` sends; `path` leads from its address to `destination`. v1: `front` precedes each
  /// packet.
  PacketBatch(int socket, const wire::Address& destination, const wire::IcrcPath& path, std::uint32_t qpn, bool gso,
              const std::optional<wire::FrameHeader>& front = std::nullopt);
  PacketBatch(const PacketBatch&) = delete;
  PacketBatch& operator=(const PacketBatch&) = delete;

  /// Adds a packet; there must be room(). Returns the CRC32C of its payload, appended to bytes with the CRC32C
  /// `crc32c`.
  std::uint32_t append(const Outgoing& packet, std::uint32_t crc32c = 0) noexcept;
  /// Flips bit `bit`, counted from the begin of the BTH, of the last appended packet. `payload` must be the caller's
  /// own copy of that packet's payload (null: an event's record). Returns false, and changes nothing, when an ICRC
  /// check modulo id would not find the flip.
  bool corrupt_last(std::byte* payload, std::uint32_t bit) noexcept;
  [[nodiscard]] std::uint32_t last_bits() const noexcept;
  /// Returns the number of bits before that packet's payload.
  [[nodiscard]] std::uint32_t last_header_bits() const noexcept;

  /// Sends as much as the kernel takes without waiting. `all` means that the batch is empty again.
  Sent flush(Flush what) noexcept;

  [[nodiscard]] std::size_t room() const noexcept { return kPackets - packets_; }
  [[nodiscard]] std::size_t packets() const noexcept { return packets_; }
  /// Returns the bytes in full datagrams that are not sent yet.
  [[nodiscard]] std::size_t full_bytes() const noexcept { return full_bytes_; }
  [[nodiscard]] bool empty() const noexcept { return packets_ == 0; }
  /// Returns the number of datagrams that the system has refused for good.
  [[nodiscard]] std::uint64_t errors() const noexcept { return errors_; }

 private:
  struct Slot {
    std::array<std::byte, 48> header;
    std::array<std::byte, 8> tail;
    std::array<std::byte, FrameRecord::kBytes> record;
    std::uint32_t header_bytes;
    std::uint32_t payload_bytes;
    std::uint16_t id;
  };
  struct Control {
    alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(std::uint16_t))> bytes;
  };
  std::uint16_t place(std::uint32_t wire_bytes) noexcept;
  void close_datagram() noexcept;

  int socket_;
  wire::Address destination_;
  wire::IcrcPath path_;
  std::uint32_t qpn_;
  bool gso_;
  std::optional<wire::FrameHeader> front_;
  std::vector<std::array<std::byte, wire::FrameHeader::kBytes>> fronts_;
  std::vector<Slot> slots_;
  std::vector<iovec> pieces_;
  std::vector<mmsghdr> messages_;
  std::vector<Control> controls_;
  std::size_t packets_ = 0;
  std::size_t used_pieces_ = 0;
  std::size_t datagrams_ = 0;  // the last of them may still grow
  std::size_t sent_datagrams_ = 0;
  std::size_t full_bytes_ = 0;
  std::uint32_t segment_ = 0;      // of the datagram that grows
  std::uint32_t in_datagram_ = 0;  // its packets
  std::uint32_t datagram_bytes_ = 0;
  bool growing_ = false;
  std::uint64_t errors_ = 0;
};

}  // namespace rashpa::link::roce
