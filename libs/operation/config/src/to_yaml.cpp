#include "field_value.hpp"
#include "message_file.hpp"
#include "schema.hpp"
#include <weir/base/assert.hpp>

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <yaml-cpp/emitter.h>
#include <yaml-cpp/emittermanip.h>

#include <map>

namespace weir::config {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

void write_value(YAML::Emitter& out, const FieldDescriptor& field, const FieldValue& value) {
  // Texts are always quoted: "5", "null" and "[a]" stay texts for every reader of the file.
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_STRING) out << YAML::DoubleQuoted;
  out << print_value(field, value);
}

// Which keys of a message are written: all, or only the given ones (for a node's own settings).
enum class Extent { all, given };

void write_message(YAML::Emitter& out, const Message& message, Extent extent);

void write_map(YAML::Emitter& out, const Message& message, const FieldDescriptor& field) {
  const FieldDescriptor& key_field = *field.message_type()->map_key();
  const FieldDescriptor& value_field = *field.message_type()->map_value();
  // Sorted by name, because the order inside a Protocol Buffers map is arbitrary.
  std::map<std::string, FieldValue> entries;
  const auto& access = *message.GetReflection();
  for (int i = 0; i < access.FieldSize(message, &field); ++i) {
    const Message& entry = access.GetRepeatedMessage(message, &field, i);
    entries[print_value(key_field, load_value(entry, key_field))] = load_value(entry, value_field);
  }
  if (entries.empty()) out << YAML::Flow;
  out << YAML::BeginMap;
  for (const auto& [key, value] : entries) {
    out << YAML::Key;
    write_value(out, key_field, key);
    out << YAML::Value;
    write_value(out, value_field, value);
  }
  out << YAML::EndMap;
}

void write_list(YAML::Emitter& out, const Message& message, const FieldDescriptor& field) {
  const auto& access = *message.GetReflection();
  const int size = access.FieldSize(message, &field);
  const bool sections = field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
  if (!sections || size == 0) out << YAML::Flow;
  out << YAML::BeginSeq;
  for (int i = 0; i < size; ++i) {
    if (sections) {
      write_message(out, access.GetRepeatedMessage(message, &field, i), Extent::all);
    } else {
      write_value(out, field, load_value(message, field, i));
    }
  }
  out << YAML::EndSeq;
}

bool is_given(const Message& message, const FieldDescriptor& field) {
  const auto& access = *message.GetReflection();
  return field.is_repeated() ? access.FieldSize(message, &field) > 0 : access.HasField(message, &field);
}

// True for a number without a default that is not given, as `mean_min` of a check: its zero would be a limit.
bool is_absent(const Message& message, const FieldDescriptor& field) {
  const bool is_number = field.cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE ||
                         field.cpp_type() == FieldDescriptor::CPPTYPE_UINT32 ||
                         field.cpp_type() == FieldDescriptor::CPPTYPE_UINT64;
  return is_number && !field.is_repeated() && !field.has_default_value() && !is_given(message, field);
}

void write_keys(YAML::Emitter& out, const Message& message, Extent extent) {
  const auto& type = *message.GetDescriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    const auto section = [&]() -> const Message& {
      return message.GetReflection()->GetMessage(message, &field);
    };
    if (rules(field).inlined()) {
      write_keys(out, section(), Extent::given);
      continue;
    }
    if ((extent == Extent::given && !is_given(message, field)) || is_absent(message, field)) continue;
    out << YAML::Key << field.name() << YAML::Value;
    if (field.is_map()) {
      write_map(out, message, field);
    } else if (field.is_repeated()) {
      write_list(out, message, field);
    } else if (is_section(field)) {
      write_message(out, section(), extent);
    } else {
      write_value(out, field, load_value(message, field));
    }
  }
}

void write_message(YAML::Emitter& out, const Message& message, Extent extent) {
  out << YAML::BeginMap;
  write_keys(out, message, extent);
  out << YAML::EndMap;
}

}  // namespace

std::string message_to_yaml(const Message& message) {
  YAML::Emitter out;
  write_message(out, message, Extent::all);
  WEIR_ASSERT(out.good());
  return std::string(out.c_str(), out.size()) + "\n";
}

}  // namespace weir::config
