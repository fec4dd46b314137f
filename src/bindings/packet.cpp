// SPDX-License-Identifier: Apache-2.0
/// decode_packet and encode_packet: the packet tree of wire/packet/packet.hpp as Python dicts. Numbers are int,
/// addresses and payloads are bytes; rashpa.data.wire.packet makes text of them.
#include "rashpa/wire/packet/packet.hpp"

#include <fmt/format.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "bindings/bindings.hpp"
#include "rashpa/core/error.hpp"
#include "rashpa/core/frame/frame_record.hpp"

namespace nb = nanobind;
namespace wire = rashpa::wire;  // NOLINT(misc-unused-alias-decls): templates use it

namespace rashpa::bindings {
namespace {

template <typename T, typename H>
concept Is = std::same_as<std::remove_const_t<T>, H>;

// The names of the fields, once, for both directions: f(name, member).
void each_field(Is<wire::EthernetHeader> auto& h, auto&& f) {
  f("destination", h.destination), f("source", h.source), f("ethertype", h.ethertype);
}
void each_field(Is<wire::VlanTag> auto& h, auto&& f) {
  f("tpid", h.tpid), f("priority", h.priority), f("dei", h.dei), f("id", h.id);
}
void each_field(Is<wire::Ipv4Header> auto& h, auto&& f) {
  f("tos", h.tos), f("total_length", h.total_length), f("identification", h.id), f("flags", h.flags);
  f("fragment_offset", h.fragment_offset), f("ttl", h.ttl), f("protocol", h.protocol), f("checksum", h.checksum);
  f("source", h.source), f("destination", h.destination), f("options", h.options);
}
void each_field(Is<wire::Ipv6Header> auto& h, auto&& f) {
  f("traffic_class", h.traffic_class), f("flow_label", h.flow_label), f("payload_length", h.payload_length);
  f("next_header", h.next_header), f("hop_limit", h.hop_limit), f("source", h.source), f("destination", h.destination);
}
void each_field(Is<wire::GrhHeader> auto& h, auto&& f) {
  f("version", h.version), f("traffic_class", h.traffic_class), f("flow_label", h.flow_label);
  f("payload_length", h.payload_length), f("next_header", h.next_header), f("hop_limit", h.hop_limit);
  f("source", h.source), f("destination", h.destination);
}
void each_field(Is<wire::UdpHeader> auto& h, auto&& f) {
  f("source_port", h.source_port), f("destination_port", h.destination_port), f("length", h.length);
  f("checksum", h.checksum);
}
void each_field(Is<wire::BthHeader> auto& h, auto&& f) {
  f("opcode", h.opcode), f("solicited_event", h.solicited), f("migration_request", h.migration);
  f("pad_count", h.pad_count), f("transport_version", h.version), f("partition_key", h.pkey), f("fecn", h.fecn);
  f("becn", h.becn), f("reserved6", h.reserved6), f("destination_qp", h.destination_qp);
  f("ack_request", h.ack_request), f("reserved7", h.reserved7), f("psn", h.psn);
}
void each_field(Is<wire::DethHeader> auto& h, auto&& f) {
  f("queue_key", h.qkey), f("reserved", h.reserved), f("source_qp", h.source_qp);
}
void each_field(Is<wire::RethHeader> auto& h, auto&& f) {
  f("virtual_address", h.virtual_address), f("remote_key", h.rkey), f("dma_length", h.dma_length);
}
void each_field(Is<wire::AethHeader> auto& h, auto&& f) { f("syndrome", h.syndrome), f("msn", h.msn); }
void each_field(Is<wire::AtomicEthHeader> auto& h, auto&& f) {
  f("virtual_address", h.virtual_address), f("remote_key", h.rkey), f("swap_or_add", h.swap_or_add);
  f("compare", h.compare);
}

// ---- C++ to Python

nb::object to_python(std::integral auto value) { return nb::int_(value); }
template <std::size_t N>
nb::object to_python(const std::array<std::uint8_t, N>& value) {
  return nb::bytes(value.data(), N);
}
nb::object to_python(const std::vector<std::byte>& value) { return nb::bytes(value.data(), value.size()); }
template <typename T>
nb::object to_python(const std::optional<T>& value) {
  return value ? to_python(*value) : nb::none();
}

nb::dict dict_of(const auto& header) {
  nb::dict out;
  each_field(header, [&](const char* name, const auto& member) { out[name] = to_python(member); });
  return out;
}

void put(nb::dict& out, const char* name, const auto& header) {
  if (header) out[name] = dict_of(*header);
}

void put_number(nb::dict& out, const char* header, const char* field, const auto& value) {
  if (!value) return;
  nb::dict inner;
  inner[field] = to_python(*value);
  out[header] = inner;
}

nb::object record_of(const std::vector<std::byte>& payload) {
  if (payload.size() != FrameRecord::kBytes) return nb::none();
  const auto record = decode_frame_record(payload);
  if (!record) return nb::none();
  nb::dict out;
  out["dtp"] = record->dtp;
  out["flags"] = record->flags;
  out["frame_number"] = record->frame_number;
  out["timestamp_ns"] = record->timestamp_ns;
  out["index"] = record->index;
  out["slot"] = record->slot;
  out["lines"] = record->lines;
  out["payload_bytes"] = record->payload_bytes;
  out["payload_crc32c"] = record->payload_crc32c;
  out["run"] = record->run;
  nb::list user;
  for (const auto word : record->user) user.append(word);
  out["user"] = user;
  return out;
}

nb::dict dict_of_packet(const wire::Packet& packet) {
  nb::dict out;
  put(out, "ethernet", packet.ethernet);
  if (!packet.vlan.empty()) {
    nb::list tags;
    for (const auto& tag : packet.vlan) tags.append(dict_of(tag));
    out["vlan"] = tags;
  }
  put(out, "ipv4", packet.ipv4);
  put(out, "ipv6", packet.ipv6);
  put(out, "grh", packet.grh);
  put(out, "udp", packet.udp);
  nb::dict bth = dict_of(packet.bth);
  bth["opcode_name"] = wire::opcode_name(packet.bth.opcode);
  out["bth"] = bth;
  put(out, "deth", packet.deth);
  put(out, "reth", packet.reth);
  put(out, "atomiceth", packet.atomic);
  put(out, "aeth", packet.aeth);
  put_number(out, "atomicacketh", "original_data", packet.atomic_ack);
  put_number(out, "immdt", "immediate_data", packet.immediate);
  put_number(out, "ieth", "remote_key", packet.invalidate_rkey);
  out["payload"] = to_python(packet.payload);
  out["pad"] = to_python(packet.pad);
  nb::dict icrc;
  icrc["value"] = to_python(packet.icrc.value);
  icrc["computed"] = to_python(packet.icrc.computed);
  icrc["verdict"] = std::string(wire::name_of(packet.icrc.verdict));
  if (packet.icrc.ip_id) icrc["identification"] = *packet.icrc.ip_id;
  out["icrc"] = icrc;
  if (!packet.trailing.empty()) out["trailing"] = to_python(packet.trailing);
  if (nb::object record = record_of(packet.payload); !record.is_none()) out["frame_record"] = record;
  return out;
}

// ---- Python to C++. `where` names the value in messages: "bth.psn".

// Text that came from outside, for messages: Python has no text for numbers of thousands of digits, nor UTF-8 for half
// a surrogate pair.
std::string utf8_of(nb::handle value, PyObject* (*text_of)(PyObject*)) {
  constexpr std::size_t kLongest = 80;
  const nb::object text = nb::steal(text_of(value.ptr()));
  if (text.is_valid()) {
    if (const char* const utf8 = PyUnicode_AsUTF8AndSize(text.ptr(), nullptr))
      return std::string(utf8).substr(0, kLongest);
  }
  PyErr_Clear();
  return "something that has no text";
}

void from_python(nb::handle value, const std::string& where, std::integral auto& out) {
  using T = std::remove_reference_t<decltype(out)>;
  if (!nb::try_cast<T>(value, out)) {
    throw ConfigError(fmt::format("packet: {} is {}; give a whole number of {} bits", where,
                                  utf8_of(value, PyObject_Repr), 8 * sizeof(T)));
  }
}
std::span<const std::byte> bytes_of(nb::handle value, const std::string& where) {
  if (!nb::isinstance<nb::bytes>(value)) throw ConfigError(fmt::format("packet: {} is no bytes; give bytes", where));
  const auto bytes = nb::borrow<nb::bytes>(value);
  return {static_cast<const std::byte*>(bytes.data()), bytes.size()};  // `value`'s owner outlives the call
}
template <std::size_t N>
void from_python(nb::handle value, const std::string& where, std::array<std::uint8_t, N>& out) {
  const auto bytes = bytes_of(value, where);
  if (bytes.size() != N) {
    throw ConfigError(fmt::format("packet: {} has {} bytes; give {}", where, bytes.size(), N));
  }
  std::memcpy(out.data(), bytes.data(), N);
}
void from_python(nb::handle value, const std::string& where, std::vector<std::byte>& out) {
  const auto bytes = bytes_of(value, where);
  out.assign(bytes.begin(), bytes.end());
}
template <typename T>
void from_python(nb::handle value, const std::string& where, std::optional<T>& out) {
  from_python(value, where, out.emplace());
}

nb::dict dict_at(nb::handle value, const std::string& where) {
  if (!nb::isinstance<nb::dict>(value))
    throw ConfigError(fmt::format("packet: {} is no object; give its fields by name", where));
  return nb::borrow<nb::dict>(value);
}

/// Sets the members named in `fields`; None leaves the member's default. Unknown names are an error that lists the
/// known.
void read_header(nb::handle value, const std::string& where, auto& header) {
  const nb::dict fields = dict_at(value, where);
  std::vector<std::string> known;
  each_field(header, [&](const char* name, auto& member) {
    known.emplace_back(name);
    if (fields.contains(name) && !fields[name].is_none()) {
      from_python(fields[name], fmt::format("{}.{}", where, name), member);
    }
  });
  for (const auto& [key, ignored] : fields) {
    const std::string name = utf8_of(key, PyObject_Str);
    if (std::ranges::find(known, name) == known.end()) {
      throw ConfigError(fmt::format("packet: {} has no field {}; give one of {}", where, name, fmt::join(known, ", ")));
    }
  }
}

bool has(const nb::dict& fields, const char* name) { return fields.contains(name) && !fields[name].is_none(); }

template <typename H>
void read(const nb::dict& fields, const char* name, std::optional<H>& out) {
  if (has(fields, name)) read_header(fields[name], name, out.emplace());
}

template <typename T>
void read_number(const nb::dict& fields, const char* header, const char* field, std::optional<T>& out) {
  if (!has(fields, header)) return;
  const nb::dict inner = dict_at(fields[header], header);
  if (!has(inner, field)) throw ConfigError(fmt::format("packet: {0} lacks {1}; add {0}.{1}", header, field));
  from_python(inner[field], fmt::format("{}.{}", header, field), out);
}

wire::Packet packet_of(const nb::dict& fields) {
  wire::Packet packet;
  read(fields, "ethernet", packet.ethernet);
  if (has(fields, "vlan")) {
    for (nb::handle tag : nb::borrow<nb::list>(fields["vlan"])) read_header(tag, "vlan", packet.vlan.emplace_back());
  }
  read(fields, "ipv4", packet.ipv4);
  read(fields, "ipv6", packet.ipv6);
  read(fields, "grh", packet.grh);
  read(fields, "udp", packet.udp);
  read_header(fields["bth"], "bth", packet.bth);
  read(fields, "deth", packet.deth);
  read(fields, "reth", packet.reth);
  read(fields, "atomiceth", packet.atomic);
  read(fields, "aeth", packet.aeth);
  read_number(fields, "atomicacketh", "original_data", packet.atomic_ack);
  read_number(fields, "immdt", "immediate_data", packet.immediate);
  read_number(fields, "ieth", "remote_key", packet.invalidate_rkey);
  if (has(fields, "payload")) from_python(fields["payload"], "payload", packet.payload);
  if (has(fields, "pad")) from_python(fields["pad"], "pad", packet.pad);
  if (has(fields, "trailing")) from_python(fields["trailing"], "trailing", packet.trailing);
  if (has(fields, "icrc")) from_python(fields["icrc"], "icrc.value", packet.icrc.value);
  return packet;
}

wire::Layer layer_of(const std::string& name) {
  if (name == "ethernet") return wire::Layer::ethernet;
  if (name == "ip") return wire::Layer::ip;
  if (name == "udp_payload") return wire::Layer::udp_payload;
  throw ConfigError(fmt::format("packet: there is no layer {}; choose ethernet, ip or udp_payload", name));
}

}  // namespace

void bind_packet(nb::module_& m) {
  m.def(
      "decode_packet",
      [](const nb::bytes& data, const std::string& layer) {
        return dict_of_packet(wire::decode({static_cast<const std::byte*>(data.data()), data.size()}, layer_of(layer)));
      },
      nb::arg("data"), nb::arg("layer"));
  m.def(
      "encode_packet",
      [](const nb::dict& fields, bool udp_checksum) {
        const wire::EncodeOptions options{udp_checksum ? wire::UdpChecksum::compute : wire::UdpChecksum::zero};
        const std::vector<std::byte> bytes = wire::encode(packet_of(fields), options);
        return nb::bytes(bytes.data(), bytes.size());
      },
      nb::arg("fields"), nb::arg("udp_checksum") = false);
  m.def(
      "opcode_of", [](const std::string& name) { return wire::opcode_of(name); }, nb::arg("name"));
}

}  // namespace rashpa::bindings
