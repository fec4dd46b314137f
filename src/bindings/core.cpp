// SPDX-License-Identifier: Apache-2.0
/// Nouns that every part shares: exceptions, Region, Orientation, Slice, Placement, Books; endpoints and options of
/// links.
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstring>
#include <exception>
#include <string_view>
#include <tuple>
#include <vector>

#include "bindings/bindings.hpp"
#include "bindings/link.hpp"
#include "bindings/named_values.hpp"
#include "rashpa/core/books/books.hpp"
#include "rashpa/core/components.hpp"
#include "rashpa/core/error.hpp"
#include "rashpa/core/image/orientation.hpp"
#include "rashpa/core/image/placement.hpp"
#include "rashpa/core/image/region.hpp"
#include "rashpa/link/factory/link_options.hpp"

namespace rashpa::bindings {

namespace nb = nanobind;
using namespace nb::literals;
using link::Endpoint;

void bind_core(nb::module_& m) {
  const nb::exception<Error> root(m, "NativeError", PyExc_RuntimeError);
  const nb::exception<ConfigError> config(m, "ConfigError", root.ptr());
  const nb::exception<ResourceError> resource(m, "ResourceError", root.ptr());
  const nb::exception<FileError> file(m, "FileError", root.ptr());
  const nb::exception<StateError> state(m, "StateError", root.ptr());
  // Ahead of those above: a message may name a file whose name is no UTF-8.
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    const auto raise = [](const char* type, const char* text) {
      const nb::object words =
          nb::steal(PyUnicode_DecodeUTF8(text, static_cast<Py_ssize_t>(std::strlen(text)), "backslashreplace"));
      PyErr_SetObject(nb::module_::import_("rashpa._native").attr(type).ptr(), words.ptr());
    };
    try {
      std::rethrow_exception(thrown);
    } catch (const ConfigError& error) {
      raise("ConfigError", error.what());
    } catch (const ResourceError& error) {
      raise("ResourceError", error.what());
    } catch (const FileError& error) {
      raise("FileError", error.what());
    } catch (const StateError& error) {
      raise("StateError", error.what());
    } catch (const Error& error) {
      raise("NativeError", error.what());
    }
  });

  m.def("components", [] {
    std::vector<std::tuple<std::string_view, bool, std::string_view, std::string_view>> rows;
    for (const Component& one : components()) rows.emplace_back(one.name, one.built, one.adds, one.needs);
    return rows;
  });

  nb::class_<Region>(m, "Region")
      .def(
          "__init__",
          [](Region* self, std::uint32_t x, std::uint32_t y, std::uint32_t width, std::uint32_t height) {
            new (self) Region{x, y, width, height};
          },
          "x"_a, "y"_a, "width"_a, "height"_a)
      .def_rw("x", &Region::x)
      .def_rw("y", &Region::y)
      .def_rw("width", &Region::width)
      .def_rw("height", &Region::height);

  nb::class_<Orientation>(m, "Orientation")
      .def(
          "__init__",
          [](Orientation* self, std::uint32_t turn, bool flip) {
            new (self) Orientation{turn, flip};
          },
          "turn"_a = 0, "flip"_a = false)
      .def_rw("turn", &Orientation::turn)
      .def_rw("flip", &Orientation::flip);

  nb::class_<Slice>(m, "Slice")
      .def(
          "__init__",
          [](Slice* self, std::uint64_t every, std::uint64_t phase) {
            new (self) Slice{every, phase};
          },
          "every"_a = 1, "phase"_a = 0)
      .def_rw("every", &Slice::every)
      .def_rw("phase", &Slice::phase);

  nb::class_<Placement>(m, "Placement")
      .def(nb::init<>())
      .def_rw("pixels_offset", &Placement::pixels_offset)
      .def_rw("slot_bytes", &Placement::slot_bytes)
      .def_rw("slots", &Placement::slots)
      .def_rw("first_line_offset", &Placement::first_line_offset)
      .def_rw("pitch", &Placement::pitch)
      .def_rw("line_bytes", &Placement::line_bytes)
      .def_rw("lines", &Placement::lines)
      .def_rw("records_offset", &Placement::records_offset)
      .def_rw("event_lines", &Placement::event_lines);

  nb::class_<Endpoint>(m, "Endpoint")
      .def(
          "__init__",
          [](Endpoint* self, std::string address, std::uint16_t port, std::uint32_t qpn, std::uint32_t rkey,
             std::uint64_t credit_offset, std::uint64_t window_bytes, std::uint32_t psn, std::uint32_t records_rkey,
             std::uint64_t word_offset) {
            new (self) Endpoint{std::move(address), port, qpn,          rkey,       credit_offset,
                                window_bytes,       psn,  records_rkey, word_offset};
          },
          "address"_a = "", "port"_a = 0, "qpn"_a = 0, "rkey"_a = 0, "credit_offset"_a = 0, "window_bytes"_a = 0,
          "psn"_a = 0, "records_rkey"_a = 0, "word_offset"_a = 0)
      .def_rw("address", &Endpoint::address)
      .def_rw("port", &Endpoint::port)
      .def_rw("qpn", &Endpoint::qpn)
      .def_rw("rkey", &Endpoint::rkey)
      .def_rw("credit_offset", &Endpoint::credit_offset)
      .def_rw("window_bytes", &Endpoint::window_bytes)
      .def_rw("psn", &Endpoint::psn)
      .def_rw("records_rkey", &Endpoint::records_rkey)
      .def_rw("word_offset", &Endpoint::word_offset);

  nb::class_<BoundLink>(m, "LinkOptions")
      .def(
          "__init__",
          [](BoundLink* self, const std::string& kind, const nb::dict& values) {
            new (self) BoundLink{link::options_named(kind, values_of("link " + kind, values))};
          },
          "kind"_a, "values"_a)
      .def_prop_ro("kind",
                   [](const BoundLink& self) { return std::string(link::name_of(link::kind_of(self.options))); })
      .def_prop_ro("gpu", [](const BoundLink& self) { return link::gpu_of(self.options); });
  m.def("links_json", &link::links_json);

  nb::class_<Books>(m, "Books")
      .def_ro("expected", &Books::expected)
      .def_ro("complete", &Books::complete)
      .def_ro("partial", &Books::partial)
      .def_ro("missing", &Books::missing)
      .def_ro("accepted", &Books::accepted)
      .def_ro("vetoed", &Books::vetoed)
      .def_ro("errored", &Books::errored)
      .def_ro("written", &Books::written)
      .def_prop_ro("balanced", &Books::balanced);
}

}  // namespace rashpa::bindings
