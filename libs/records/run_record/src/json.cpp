#include <weir/run_record/json.hpp>

#include <boost/json.hpp>
#include <fmt/format.h>

#include <cmath>
#include <cstdint>

namespace weir::run_record {
namespace {

constexpr std::size_t kIndent = 2;
constexpr std::size_t kOneLine = SIZE_MAX;  // a depth that is never reached

void append(const boost::json::value& value, std::size_t depth, std::string& out);

void new_line(std::size_t depth, std::string& out) {
  if (depth == kOneLine) return;
  out += '\n';
  out.append(depth * kIndent, ' ');
}

template <class Container, class AppendOne>
void append_list(const Container& container, char open, char close, std::size_t depth, std::string& out,
                 const AppendOne& append_one) {
  out += open;
  bool first = true;
  for (const auto& one : container) {
    if (!first) out += depth == kOneLine ? ", " : ",";
    first = false;
    new_line(depth == kOneLine ? depth : depth + 1, out);
    append_one(one);
  }
  if (!first) new_line(depth, out);
  out += close;
}

void append(const boost::json::value& value, std::size_t depth, std::string& out) {
  if (const auto* object = value.if_object()) {
    append_list(*object, '{', '}', depth, out, [&](const boost::json::key_value_pair& member) {
      out += boost::json::serialize(member.key());
      out += ": ";
      append(member.value(), depth == kOneLine ? depth : depth + 1, out);
    });
  } else if (const auto* array = value.if_array()) {
    append_list(*array, '[', ']', depth, out, [&](const boost::json::value& element) {
      append(element, depth == kOneLine ? depth : depth + 1, out);
    });
  } else if (const double* number = value.if_double()) {
    out += std::isfinite(*number) ? fmt::format("{}", *number) : std::string("null");
  } else {
    out += boost::json::serialize(value);
  }
}

}  // namespace

std::string pretty(const boost::json::value& value) {
  std::string out;
  append(value, 0, out);
  out += '\n';
  return out;
}

std::string one_line(const boost::json::value& value) {
  std::string out;
  append(value, kOneLine, out);
  return out;
}

}  // namespace weir::run_record
