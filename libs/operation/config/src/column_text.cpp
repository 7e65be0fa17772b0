#include "column_text.hpp"

#include "field_value.hpp"
#include "schema.hpp"
#include <weir/base/assert.hpp>

namespace weir::config {
namespace {

using google::protobuf::EnumValueDescriptor;
using google::protobuf::FieldDescriptor;

std::string type_name(const FieldDescriptor& field) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL:
      return "boolean";
    case FieldDescriptor::CPPTYPE_UINT32:
    case FieldDescriptor::CPPTYPE_UINT64:
      return is_size(field) ? "size" : "integer";
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return "number";
    case FieldDescriptor::CPPTYPE_ENUM:
      return "word";
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return field.is_map() ? "keys and texts" : "entries";
    default:
      break;
  }
  switch (rules(field).form()) {
    case v1::TEXT_NAME:
    case v1::TEXT_NAMES:
      return "name";
    case v1::TEXT_ENDPOINT:
      return "host:port";
    case v1::TEXT_HOST:
      return "host";
    case v1::TEXT_RATE:
      return "rate";
    case v1::TEXT_BUFFER:
      return "buffer";
    case v1::TEXT_ANY:
      break;
  }
  return "text";
}

std::string range_of(const FieldDescriptor& field) {
  const v1::KeyRules& rule = rules(field);
  const bool whole = field.cpp_type() == FieldDescriptor::CPPTYPE_UINT32 ||
                     field.cpp_type() == FieldDescriptor::CPPTYPE_UINT64;
  std::string low;
  if (rule.has_above()) low = ">" + print_limit(field, rule.above());
  if (rule.has_min() || (whole && rule.has_max())) low = print_limit(field, rule.min());
  if (rule.has_max()) return low + "…" + print_limit(field, rule.max());
  return rule.has_min() ? "≥" + low : low;
}

}  // namespace

std::string type_column(const FieldDescriptor& field) {
  const bool list = field.is_repeated() && !field.is_map();
  std::string text =
      list ? "list of " + type_name(field) + (type_name(field).back() == 's' ? "" : "s") : type_name(field);
  const std::string& unit = rules(field).unit();
  if (!unit.empty() && unit != "bytes") text += ", " + unit;
  const std::string range = range_of(field);
  return range.empty() ? text : text + ", " + range;
}

std::string default_column(const FieldDescriptor& field) {
  if (rules(field).required()) return "required";
  if (field.is_map()) return "`{}`";
  if (field.is_repeated()) return "`[]`";
  const std::string text = print_value(field, default_value(field));
  return text.empty() ? "empty" : "`" + text + "`";
}

// The words of an enumeration are listed once: not where a key is described as another one.
std::string meaning_column(const FieldDescriptor& field) {
  std::string text = rules(field).doc();
  if (field.cpp_type() != FieldDescriptor::CPPTYPE_ENUM || text.starts_with("As `")) return text;
  WEIR_ASSERT(text.ends_with('.'));
  text.back() = ':';  // without the full stop: more words follow
  for (int i = 0; i < field.enum_type()->value_count(); ++i) {
    const EnumValueDescriptor& value = *field.enum_type()->value(i);
    const std::string& meaning = value.options().GetExtension(v1::value_doc);
    text += (i == 0 ? " `" : ", `") + word(value) + "`" + (meaning.empty() ? "" : " (" + meaning + ")");
  }
  return text + ".";
}

}  // namespace weir::config
