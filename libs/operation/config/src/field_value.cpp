#include "field_value.hpp"

#include "schema.hpp"
#include "text_form.hpp"
#include "yaml_tree.hpp"
#include <weir/base/assert.hpp>
#include <weir/config/suggest.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>

namespace weir::config {
namespace {

using google::protobuf::EnumValueDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using Result = Expected<FieldValue, ValueError>;

struct SizeUnit {
  std::string_view suffix;  // in lower case
  std::uint64_t bytes;
};
constexpr SizeUnit kSizeUnits[] = {
    {"", 1},
    {"b", 1},
    {"k", 1'000},
    {"kb", 1'000},
    {"kib", 1ULL << 10},
    {"m", 1'000'000},
    {"mb", 1'000'000},
    {"mib", 1ULL << 20},
    {"g", 1'000'000'000},
    {"gb", 1'000'000'000},
    {"gib", 1ULL << 30},
    {"t", 1'000'000'000'000},
    {"tb", 1'000'000'000'000},
    {"tib", 1ULL << 40},
};

Result refuse(ProblemKind kind, std::string what) { return Unexpected<ValueError>({kind, std::move(what)}); }

Result out_of_range(std::string_view text, const std::string& relation, const std::string& limit) {
  return refuse(ProblemKind::out_of_range, printable(text) + " is " + relation + " " + limit);
}

std::uint64_t type_max(const FieldDescriptor& field) {
  return field.cpp_type() == FieldDescriptor::CPPTYPE_UINT32 ? std::numeric_limits<std::uint32_t>::max()
                                                             : std::numeric_limits<std::uint64_t>::max();
}

// Divides `text` into its leading number and the rest. Returns false if it does not begin with a digit.
bool split_digits(std::string_view text, std::string_view& digits, std::string_view& rest) {
  std::size_t end = 0;
  while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
  digits = text.substr(0, end);
  rest = text.substr(end);
  return end > 0;
}

const SizeUnit* find_size_unit(std::string_view suffix) {
  while (!suffix.empty() && suffix.front() == ' ') suffix.remove_prefix(1);
  std::string lower(suffix);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const auto found = std::find_if(std::begin(kSizeUnits), std::end(kSizeUnits),
                                  [&](const SizeUnit& u) { return u.suffix == lower; });
  return found == std::end(kSizeUnits) ? nullptr : found;
}

Result parse_whole(const FieldDescriptor& field, std::string_view text) {
  const v1::KeyRules& rule = rules(field);
  const std::string smallest = print_limit(field, rule.min());
  const bool negative = !text.empty() && text.front() == '-';
  std::string_view digits;
  std::string_view rest;
  const bool has_digits = split_digits(negative ? text.substr(1) : text, digits, rest);
  const SizeUnit* unit = is_size(field) ? find_size_unit(rest) : (rest.empty() ? &kSizeUnits[0] : nullptr);
  if (!has_digits || unit == nullptr) {
    return refuse(ProblemKind::bad_value,
                  in_quotes(text) +
                      (is_size(field) ? " is not a size: write bytes, or a unit as in 64k, 64KiB, 1MiB, 2GB"
                                      : " is not a whole number"));
  }
  if (negative) return out_of_range(text, "below", smallest);

  const std::uint64_t largest = rule.has_max() ? static_cast<std::uint64_t>(rule.max()) : type_max(field);
  std::uint64_t value = 0;
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (parsed.ec != std::errc() || value > largest / unit->bytes) {
    return out_of_range(text, "above", is_size(field) ? print_size(largest) : std::to_string(largest));
  }
  value *= unit->bytes;
  WEIR_ASSERT(value <= largest);
  if (static_cast<double>(value) < rule.min()) return out_of_range(text, "below", smallest);
  return FieldValue(value);
}

// Returns 0 for a unit that is not a time.
double ns_per_unit(std::string_view unit) {
  if (unit == "s") return 1e9;
  if (unit == "ms") return 1e6;
  return unit == "us" ? 1e3 : 0;
}

Result parse_number(const FieldDescriptor& field, std::string_view text) {
  const v1::KeyRules& rule = rules(field);
  double value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool too_long = parsed.ec == std::errc::result_out_of_range;
  if ((parsed.ec != std::errc() && !too_long) || parsed.ptr != text.data() + text.size() ||
      !std::isfinite(value)) {
    return refuse(ProblemKind::bad_value, in_quotes(text) + " is not a number");
  }
  if (too_long) return refuse(ProblemKind::out_of_range, in_quotes(text) + " is out of range for a number");
  if (rule.has_min() && value < rule.min()) return out_of_range(text, "below", print_number(rule.min()));
  if (rule.has_above() && value <= rule.above()) {
    return out_of_range(text, "not above", print_number(rule.above()));
  }
  if (rule.has_max() && value > rule.max()) return out_of_range(text, "above", print_number(rule.max()));
  // Times are stored in whole ns: a shorter one would become 0, which often means "no limit".
  if (const double ns = value * ns_per_unit(rule.unit()); ns > 0 && ns < 1)
    return out_of_range(text, "below", "1 ns, the shortest time above 0");
  return FieldValue(value);
}

Result parse_bool(std::string_view text) {
  if (text == "true" || text == "yes" || text == "on") return FieldValue(true);
  if (text == "false" || text == "no" || text == "off") return FieldValue(false);
  return refuse(ProblemKind::bad_value, in_quotes(text) + " is not true or false");
}

Result parse_enum(const FieldDescriptor& field, std::string_view text) {
  if (const EnumValueDescriptor* value = find_word(*field.enum_type(), text)) return FieldValue(value);
  const std::vector<std::string> known = words(*field.enum_type());
  std::string list;
  for (const std::string& choice : known) list += (list.empty() ? "" : ", ") + choice;
  return refuse(ProblemKind::bad_value,
                in_quotes(text) + " is not one of " + list + did_you_mean(nearest(text, known)));
}

Result parse_text(const FieldDescriptor& field, std::string_view text) {
  const bool control = std::any_of(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) < 0x20 && c != '\t' && c != '\n') || c == 0x7f;
  });
  if (control) return refuse(ProblemKind::bad_value, "holds a control character");
  // An empty string is allowed where it is the default.
  if (text.empty() && !field.is_repeated() && field.default_value_string().empty() &&
      !rules(field).required()) {
    return FieldValue(std::string());
  }
  if (const char* complaint = check_form(rules(field).form(), text)) {
    return refuse(ProblemKind::bad_value, in_quotes(text) + " " + complaint);
  }
  return FieldValue(std::string(text));
}

}  // namespace

Expected<FieldValue, ValueError> parse_value(const FieldDescriptor& field, std::string_view text) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL:
      return parse_bool(text);
    case FieldDescriptor::CPPTYPE_UINT32:
    case FieldDescriptor::CPPTYPE_UINT64:
      return parse_whole(field, text);
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return parse_number(field, text);
    case FieldDescriptor::CPPTYPE_ENUM:
      return parse_enum(field, text);
    default:
      WEIR_ASSERT(field.cpp_type() == FieldDescriptor::CPPTYPE_STRING);
      return parse_text(field, text);
  }
}

void store_value(Message& message, const FieldDescriptor& field, const FieldValue& value) {
  WEIR_ASSERT(field.containing_type() == message.GetDescriptor());
  const auto& access = *message.GetReflection();
  const bool list = field.is_repeated();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL:
      list ? access.AddBool(&message, &field, std::get<bool>(value))
           : access.SetBool(&message, &field, std::get<bool>(value));
      return;
    case FieldDescriptor::CPPTYPE_UINT32: {
      const auto number = static_cast<std::uint32_t>(std::get<std::uint64_t>(value));
      list ? access.AddUInt32(&message, &field, number) : access.SetUInt32(&message, &field, number);
      return;
    }
    case FieldDescriptor::CPPTYPE_UINT64: {
      const auto number = std::get<std::uint64_t>(value);
      list ? access.AddUInt64(&message, &field, number) : access.SetUInt64(&message, &field, number);
      return;
    }
    case FieldDescriptor::CPPTYPE_DOUBLE:
      list ? access.AddDouble(&message, &field, std::get<double>(value))
           : access.SetDouble(&message, &field, std::get<double>(value));
      return;
    case FieldDescriptor::CPPTYPE_ENUM: {
      const auto* choice = std::get<const EnumValueDescriptor*>(value);
      list ? access.AddEnum(&message, &field, choice) : access.SetEnum(&message, &field, choice);
      return;
    }
    default:
      list ? access.AddString(&message, &field, std::get<std::string>(value))
           : access.SetString(&message, &field, std::get<std::string>(value));
  }
}

FieldValue load_value(const Message& message, const FieldDescriptor& field, int index) {
  WEIR_ASSERT(field.containing_type() == message.GetDescriptor());
  const auto& access = *message.GetReflection();
  const bool list = field.is_repeated();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL:
      return list ? access.GetRepeatedBool(message, &field, index) : access.GetBool(message, &field);
    case FieldDescriptor::CPPTYPE_UINT32:
      return std::uint64_t{list ? access.GetRepeatedUInt32(message, &field, index)
                                : access.GetUInt32(message, &field)};
    case FieldDescriptor::CPPTYPE_UINT64:
      return std::uint64_t{list ? access.GetRepeatedUInt64(message, &field, index)
                                : access.GetUInt64(message, &field)};
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return list ? access.GetRepeatedDouble(message, &field, index) : access.GetDouble(message, &field);
    case FieldDescriptor::CPPTYPE_ENUM:
      return list ? access.GetRepeatedEnum(message, &field, index) : access.GetEnum(message, &field);
    default:
      return list ? access.GetRepeatedString(message, &field, index) : access.GetString(message, &field);
  }
}

FieldValue default_value(const FieldDescriptor& field) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL:
      return field.default_value_bool();
    case FieldDescriptor::CPPTYPE_UINT32:
      return std::uint64_t{field.default_value_uint32()};
    case FieldDescriptor::CPPTYPE_UINT64:
      return std::uint64_t{field.default_value_uint64()};
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return field.default_value_double();
    case FieldDescriptor::CPPTYPE_ENUM:
      return field.default_value_enum();
    default:
      return field.default_value_string();
  }
}

std::string print_value(const FieldDescriptor& field, const FieldValue& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* whole = std::get_if<std::uint64_t>(&value)) {
    return is_size(field) ? print_size(*whole) : std::to_string(*whole);
  }
  if (const auto* number = std::get_if<double>(&value)) return print_number(*number);
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  return word(*std::get<const EnumValueDescriptor*>(value));
}

std::string print_limit(const FieldDescriptor& field, double limit) {
  return is_size(field) ? print_size(static_cast<std::uint64_t>(limit)) : print_number(limit);
}

std::string print_list(const Message& message, const FieldDescriptor& field) {
  std::string text;
  for (int i = 0; i < message.GetReflection()->FieldSize(message, &field); ++i)
    text += (text.empty() ? "" : ", ") + print_value(field, load_value(message, field, i));
  return "[" + text + "]";
}

std::map<std::string, std::string> print_map(const Message& message, const FieldDescriptor& field) {
  WEIR_ASSERT(field.is_map());
  const auto& access = *message.GetReflection();
  const FieldDescriptor& name = *field.message_type()->map_key();
  const FieldDescriptor& value = *field.message_type()->map_value();
  std::map<std::string, std::string> entries;
  for (int i = 0; i < access.FieldSize(message, &field); ++i) {
    const Message& entry = access.GetRepeatedMessage(message, &field, i);
    entries[print_value(name, load_value(entry, name))] = print_value(value, load_value(entry, value));
  }
  return entries;
}

std::string print_size(std::uint64_t bytes) {
  constexpr std::array<std::string_view, 5> kSuffixes = {"", "KiB", "MiB", "GiB", "TiB"};
  std::size_t power = 0;
  while (bytes != 0 && bytes % 1024 == 0 && power + 1 < kSuffixes.size()) {
    bytes /= 1024;
    ++power;
  }
  return std::to_string(bytes) + std::string(kSuffixes[power]);
}

std::string print_number(double number) {
  std::array<char, 32> digits{};
  const bool plain = number == 0 || (std::fabs(number) >= 1e-4 && std::fabs(number) < 1e16);
  const auto end =
      plain ? std::to_chars(digits.data(), digits.data() + digits.size(), number, std::chars_format::fixed)
            : std::to_chars(digits.data(), digits.data() + digits.size(), number);
  return {digits.data(), end.ptr};
}

std::string expectation(const FieldDescriptor& field) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL:
      return "true or false";
    case FieldDescriptor::CPPTYPE_UINT32:
    case FieldDescriptor::CPPTYPE_UINT64:
      return is_size(field) ? "a size in bytes" : "a whole number";
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return "a number";
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return "keys and values";
    case FieldDescriptor::CPPTYPE_ENUM:
      return "a word";
    default:
      return "a text";
  }
}

}  // namespace weir::config
