// SPDX-License-Identifier: Apache-2.0
#include "rashpa/kernel/veto/rule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "rashpa/core/error.hpp"

namespace rashpa::kernel::veto {

namespace {

using Code = Operation::Code;

constexpr bool is_letter(char c) noexcept { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
constexpr bool is_printable(char c) noexcept { return c >= ' ' && c <= '~'; }

struct Token {
  enum class Kind : std::uint8_t { end, number, name, sign };
  Kind kind = Kind::end;
  std::string_view text{};
  double value = 0;
};

/// Values that a column can have.
struct Bounds {
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  bool whole = true;
};
Bounds bounds_of(Column::Type type) noexcept {
  switch (type) {
    case Column::Type::u32:
      return {0, 4294967295.0};
    case Column::Type::u64:
      return {0, 18446744073709551615.0};
    case Column::Type::i64:
      return {-9223372036854775808.0, 9223372036854775807.0};
    case Column::Type::f64:
      break;
  }
  return {.whole = false};
}
std::string_view range_of(Column::Type type) noexcept {
  switch (type) {
    case Column::Type::u32:
      return "0 to 4294967295";
    case Column::Type::u64:
      return "0 to 18446744073709551615";
    default:
      return "-9223372036854775808 to 9223372036854775807";
  }
}

/// Returns the result of comparing a column with a number where each value of the column gives the same one; else
/// nullopt.
std::optional<bool> always(Code code, const Bounds& column, double number) noexcept {
  const bool none = number < column.least || number > column.most || (column.whole && number != std::floor(number));
  switch (code) {
    case Code::equal:
      return none ? std::optional(false) : std::nullopt;
    case Code::differs:
      return none ? std::optional(true) : std::nullopt;
    case Code::less:
      if (column.least >= number) return false;
      return column.most < number ? std::optional(true) : std::nullopt;
    case Code::at_least:
      if (column.least >= number) return true;
      return column.most < number ? std::optional(false) : std::nullopt;
    case Code::more:
      if (column.most <= number) return false;
      return column.least > number ? std::optional(true) : std::nullopt;
    default:  // at_most
      if (column.most <= number) return true;
      return column.least > number ? std::optional(false) : std::nullopt;
  }
}

Code mirrored(Code code) noexcept {
  switch (code) {
    case Code::less:
      return Code::more;
    case Code::more:
      return Code::less;
    case Code::at_most:
      return Code::at_least;
    case Code::at_least:
      return Code::at_most;
    default:
      return code;
  }
}

/// Compiles by recursive descent; makes operations in the order in which they are done.
class Compiler {
 public:
  Compiler(std::string_view text, std::optional<std::span<const Column>> columns) : text_(text), columns_(columns) {
    if (text.empty()) fail("it is empty; write a condition, as n_peaks >= 15");
    if (text.size() > kMostText) fail(fmt::format("it has {} characters; write {} or fewer", text.size(), kMostText));
    next();
  }
  std::vector<Operation> all() {
    condition(either(0), "the rule");
    if (token_.kind != Token::Kind::end) {
      fail(fmt::format("{} where the rule should end; end it, or go on with and, or", shown()));
    }
    if (!names_column_) fail("it names no column; compare a column with a number, as n_peaks >= 15");
    emit(Code::end);
    return std::move(operations_);
  }

 private:
  enum class Type : std::uint8_t { number, condition };
  struct Value {
    Type type = Type::number;
    std::string_view text{};           // as written
    const Column* column = nullptr;    // it is nothing but a column
    std::optional<double> constant{};  // it is nothing but a number
  };

  [[noreturn]] void fail(const std::string& what) const { throw ConfigError(what); }
  [[nodiscard]] std::string shown() const {
    return token_.kind == Token::Kind::end ? "it ends" : fmt::format("it has \"{}\"", token_.text);
  }

  void next() {
    begin_ = at_;
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) ++at_;
    const std::size_t first = at_;
    begin_ = first;
    const auto made = [&](Token::Kind kind, double value = 0) {
      token_ = {kind, text_.substr(first, at_ - first), value};
    };
    if (at_ == text_.size()) return made(Token::Kind::end);
    const char c = text_[at_];
    if (is_letter(c)) {
      while (at_ < text_.size() && (is_letter(text_[at_]) || is_digit(text_[at_]))) ++at_;
      return made(Token::Kind::name);
    }
    if (is_digit(c) || c == '.') {
      double value = 0;
      const char* const end = text_.data() + text_.size();
      const auto [stop, code] = std::from_chars(text_.data() + at_, end, value);
      at_ = static_cast<std::size_t>(stop - text_.data());
      if (code != std::errc{} || (stop != end && (is_letter(*stop) || *stop == '.'))) {
        fail(fmt::format("the text from \"{}\" on is no number; write one such as 15 or 0.5",
                         text_.substr(first, at_ - first + 1)));
      }
      return made(Token::Kind::number, value);
    }
    for (const std::string_view two : {"<=", ">=", "==", "!="}) {
      if (text_.substr(at_, 2) == two) {
        at_ += 2;
        return made(Token::Kind::sign);
      }
    }
    if (std::string_view("<>+-*/()").find(c) == std::string_view::npos) {
      const std::string what = is_printable(c) ? fmt::format("\"{}\"", c) : "a character that is not ASCII";
      fail(fmt::format("{} means nothing here; write < <= > >= == != + - * / ( ) and, or, not", what));
    }
    ++at_;
    made(Token::Kind::sign);
  }
  bool accept(std::string_view text) {
    if (token_.kind == Token::Kind::end || token_.text != text) return false;
    next();
    return true;
  }
  /// The text from `first` to the next token.
  [[nodiscard]] std::string_view since(std::size_t first) const {
    std::string_view text = text_.substr(first, begin_ - first);
    while (!text.empty() && !(text.back() > ' ')) text.remove_suffix(1);
    return text;
  }
  void emit(Code code) { operations_.push_back({code, 0, 0}); }

  void number(const Value& value, std::string_view beside) const {
    if (value.type == Type::number) return;
    fail(fmt::format("\"{}\" is a condition, and {} needs a number; write one there", value.text, beside));
  }
  void condition(const Value& value, std::string_view beside) const {
    if (value.type == Type::condition) return;
    fail(fmt::format("\"{}\" is a number, and {} needs a condition; write one there, as n_peaks >= 15", value.text,
                     beside));
  }

  Value either(std::size_t depth) {
    if (depth > kMostDepth) fail(fmt::format("it is deeper than {} parentheses; write fewer", kMostDepth));
    const std::size_t first = begin_;
    Value left = both(depth);
    while (accept("or")) {
      condition(left, "or");
      condition(both(depth), "or");
      emit(Code::either);
      left = {Type::condition, since(first)};
    }
    return left;
  }
  Value both(std::size_t depth) {
    const std::size_t first = begin_;
    Value left = opposite(depth);
    while (accept("and")) {
      condition(left, "and");
      condition(opposite(depth), "and");
      emit(Code::both);
      left = {Type::condition, since(first)};
    }
    return left;
  }
  Value opposite(std::size_t depth) {
    const std::size_t first = begin_;
    bool turned = false;
    bool any = false;
    while (accept("not")) {
      turned = !turned;
      any = true;
    }
    Value value = comparison(depth);
    if (!any) return value;
    condition(value, "not");
    if (turned) emit(Code::opposite);
    return {Type::condition, since(first)};
  }
  std::optional<Code> comparing() {
    constexpr std::array<std::pair<std::string_view, Code>, 6> kSigns{{{"<", Code::less},
                                                                       {"<=", Code::at_most},
                                                                       {">", Code::more},
                                                                       {">=", Code::at_least},
                                                                       {"==", Code::equal},
                                                                       {"!=", Code::differs}}};
    for (const auto& [sign, code] : kSigns) {
      if (accept(sign)) return code;
    }
    return std::nullopt;
  }
  Value comparison(std::size_t depth) {
    const std::size_t first = begin_;
    const Value left = sum(depth);
    const std::string_view sign = token_.text;
    const auto code = comparing();
    if (!code) return left;
    number(left, sign);
    const Value right = sum(depth);
    number(right, sign);
    emit(*code);
    const Value made{Type::condition, since(first)};
    refuse_constant(left, *code, right, made.text);
    if (const std::string_view more = token_.text; comparing()) {
      fail(fmt::format("\"{} {} …\" compares twice; write two comparisons with and", made.text, more));
    }
    return made;
  }
  void refuse_constant(const Value& left, Code code, const Value& right, std::string_view text) const {
    const Column* column = nullptr;
    std::optional<bool> known;
    if (left.column != nullptr && right.constant) {
      column = left.column;
      known = always(code, bounds_of(column->type), *right.constant);
    } else if (left.constant && right.column != nullptr) {
      column = right.column;
      known = always(mirrored(code), bounds_of(column->type), *left.constant);
    }
    if (!known) return;
    fail(fmt::format("\"{}\" is always {}: {} is {}, {}; compare it with a value in this range", text,
                     *known ? "true" : "false", column->name, name_of(column->type), range_of(column->type)));
  }
  Value sum(std::size_t depth) {
    const std::size_t first = begin_;
    Value left = product(depth);
    for (;;) {
      const std::string_view sign = token_.text;
      if (sign != "+" && sign != "-") return left;
      next();
      number(left, sign);
      number(product(depth), sign);
      emit(sign == "+" ? Code::add : Code::subtract);
      left = {Type::number, since(first)};
    }
  }
  Value product(std::size_t depth) {
    const std::size_t first = begin_;
    Value left = factor(depth);
    for (;;) {
      const std::string_view sign = token_.text;
      if (sign != "*" && sign != "/") return left;
      next();
      number(left, sign);
      number(factor(depth), sign);
      emit(sign == "*" ? Code::multiply : Code::divide);
      left = {Type::number, since(first)};
    }
  }
  Value factor(std::size_t depth) {
    const std::size_t first = begin_;
    bool turned = false;
    bool any = false;
    while (accept("-")) {
      turned = !turned;
      any = true;
    }
    const Value value = primary(depth);
    if (!any) return value;
    number(value, "-");
    if (turned) emit(Code::negate);
    if (value.constant) return {Type::number, since(first), nullptr, turned ? -*value.constant : *value.constant};
    return {Type::number, since(first)};
  }
  Value primary(std::size_t depth) {
    const Token token = token_;
    if (accept("(")) {
      Value value = either(depth + 1);
      if (!accept(")")) fail(fmt::format("{} where ) is missing; close the parenthesis", shown()));
      return value;
    }
    if (token.kind == Token::Kind::number) {
      next();
      operations_.push_back({Code::constant, 0, token.value});
      return {Type::number, token.text, nullptr, token.value};
    }
    if (token.kind == Token::Kind::name && token.text != "and" && token.text != "or" && token.text != "not") {
      next();
      names_column_ = true;
      return {Type::number, token.text, column_named(token.text)};
    }
    fail(fmt::format("{} where a column or a number is missing; write one", shown()));
  }
  const Column* column_named(std::string_view name) {
    if (!columns_) return nullptr;
    const auto found =
        std::find_if(columns_->begin(), columns_->end(), [&](const Column& one) { return one.name == name; });
    if (found == columns_->end()) {
      std::string known;
      for (const Column& one : *columns_) known += (known.empty() ? "" : ", ") + one.name;
      fail(fmt::format("no step before it makes the column {}; {}", name,
                       known.empty() ? "put it behind one that makes columns" : "there are " + known));
    }
    const Code code = found->type == Column::Type::f64   ? Code::real
                      : found->type == Column::Type::i64 ? Code::integer
                                                         : Code::count;
    operations_.push_back({code, static_cast<std::uint32_t>(found - columns_->begin()), 0});
    return &*found;
  }

  std::string_view text_;
  std::optional<std::span<const Column>> columns_;
  std::size_t at_ = 0;
  std::size_t begin_ = 0;  // of the token
  Token token_;
  bool names_column_ = false;
  std::vector<Operation> operations_;
};

}  // namespace

Rule::Rule(std::string_view text, std::span<const Column> columns) : operations_(Compiler(text, columns).all()) {}

void Rule::check(std::string_view text) { static_cast<void>(Compiler(text, std::nullopt).all()); }

bool Rule::holds(const Scalar* numbers) const noexcept { return veto::holds(operations_.data(), numbers); }

}  // namespace rashpa::kernel::veto
