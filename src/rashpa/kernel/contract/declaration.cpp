// SPDX-License-Identifier: Apache-2.0
#include "rashpa/kernel/contract/declaration.hpp"

#include <fmt/format.h>

namespace rashpa::kernel {

namespace {

std::string_view name_of(Port::Kind kind) noexcept {
  constexpr std::string_view names[] = {"pixels", "list", "scalars", "table", "profile", "verdict", "accumulation"};
  return names[static_cast<std::size_t>(kind)];
}
std::string_view name_of(Tap tap) noexcept { return tap == Tap::count ? "count" : "mark"; }

std::string in_quotes(std::string_view text) { return rashpa::json_of(text); }

template <typename List, typename Json>
std::string array_of(const List& list, Json json) {
  std::string out;
  for (const auto& one : list) out += (out.empty() ? "" : ", ") + json(one);
  return "[" + out + "]";
}

std::string json_of(const Column& column) {
  return fmt::format(R"({{"name": {}, "type": "{}", "unit": {}, "doc": {}}})", in_quotes(column.name),
                     name_of(column.type), in_quotes(column.unit), in_quotes(column.doc));
}

std::string json_of(const Axis& axis) {
  return fmt::format(R"({{"name": {}, "unit": {}, "doc": {}}})", in_quotes(axis.name), in_quotes(axis.unit),
                     in_quotes(axis.doc));
}

std::string json_of(const Port& port) {
  std::string out = fmt::format(R"({{"port": "{}")", name_of(port.kind));
  if (!port.pixels.empty()) {
    out += R"(, "pixels": )" + array_of(port.pixels, [](PixelType type) { return in_quotes(pixel_name(type)); });
  }
  if (!port.by.empty()) out += R"(, "by": )" + in_quotes(port.by);
  if (!port.capacity.empty()) out += R"(, "capacity": )" + in_quotes(port.capacity);
  if (!port.per.empty()) out += R"(, "per": )" + in_quotes(port.per);
  if (!port.columns.empty()) {
    out += R"(, "columns": )" + array_of(port.columns, [](const Column& column) { return json_of(column); });
  }
  if (!port.axes.empty()) {
    out += R"(, "axes": )" + array_of(port.axes, [](const Axis& axis) { return json_of(axis); });
  }
  if (!port.definition.empty()) out += R"(, "definition": )" + in_quotes(port.definition);
  if (!port.limits.empty()) out += R"(, "limits": )" + array_of(port.limits, in_quotes);
  if (!port.reasons.empty()) out += R"(, "reasons": )" + array_of(port.reasons, in_quotes);
  return out + "}";
}

std::string json_of(const Input& input) {
  return fmt::format(R"({{"name": {}, "type": "{}", "shape": "{}", "needed": {}, "doc": {}}})", in_quotes(input.name),
                     name_of(input.type), input.shape == Input::Shape::image ? "image" : "values", input.needed,
                     in_quotes(input.doc));
}

std::string json_of(const DeviceCost& cost) {
  const std::string each = cost.each.empty() ? "" : fmt::format(R"(, "each": {})", in_quotes(cost.each));
  return fmt::format(R"({{"bytes": {}, "of": "{}", "unit": {}, "when": {}{}{}{}}})", cost.bytes,
                     cost.of == DeviceCost::Of::run ? "run" : "image", in_quotes(cost.unit), in_quotes(cost.when), each,
                     cost.counted ? R"(, "counted": true)" : "", cost.by_set ? R"(, "by_set": true)" : "");
}

}  // namespace

const std::vector<PixelType>& photon_types() {
  static const std::vector<PixelType> types{PixelType::u8, PixelType::u16, PixelType::u32, PixelType::i16,
                                            PixelType::i32};
  return types;
}

const std::vector<PixelType>& image_types() {
  static const std::vector<PixelType> types = [] {
    std::vector<PixelType> all = photon_types();
    all.push_back(PixelType::f32);
    return all;
  }();
  return types;
}

std::string json_of(const Declaration& declaration) {
  const auto tap = [](Tap one) { return in_quotes(name_of(one)); };
  return fmt::format(
      R"({{"name": {}, "purpose": {}, "parameters": {}, "takes": {}, "makes": {}, "several": {}, "strips": {}, "delivered": {}, )"
      R"("calibration": {}, "inputs": {}, "units": {}, )"
      R"("offers": {}, "rides": {}, "stack_bytes": {}, "scratch_bytes": {}, "device": {}}})",
      in_quotes(declaration.name), in_quotes(declaration.purpose),
      array_of(declaration.parameters, [](const Parameter& one) { return rashpa::json_of(one); }),
      json_of(declaration.takes), array_of(declaration.makes, [](const Port& one) { return json_of(one); }),
      declaration.several, declaration.strips, declaration.delivered, declaration.calibration,
      array_of(declaration.inputs, [](const Input& one) { return json_of(one); }),
      array_of(declaration.units, in_quotes), array_of(declaration.offers, tap), array_of(declaration.rides, tap),
      declaration.stack_bytes, declaration.scratch_bytes,
      array_of(declaration.device, [](const DeviceCost& one) { return json_of(one); }));
}

}  // namespace rashpa::kernel
