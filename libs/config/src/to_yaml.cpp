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
  // A text is always quoted: "5", "null" and "[a]" stay texts for every reader of the file.
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_STRING) out << YAML::DoubleQuoted;
  out << print_value(field, value);
}

void write_message(YAML::Emitter& out, const Message& message);

void write_map(YAML::Emitter& out, const Message& message, const FieldDescriptor& field) {
  const FieldDescriptor& key_field = *field.message_type()->map_key();
  const FieldDescriptor& value_field = *field.message_type()->map_value();
  // By name: the order inside a Protocol Buffers map is arbitrary.
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
      write_message(out, access.GetRepeatedMessage(message, &field, i));
    } else {
      write_value(out, field, load_value(message, field, i));
    }
  }
  out << YAML::EndSeq;
}

void write_message(YAML::Emitter& out, const Message& message) {
  out << YAML::BeginMap;
  const auto& type = *message.GetDescriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    out << YAML::Key << field.name() << YAML::Value;
    if (field.is_map()) {
      write_map(out, message, field);
    } else if (field.is_repeated()) {
      write_list(out, message, field);
    } else if (is_section(field)) {
      write_message(out, message.GetReflection()->GetMessage(message, &field));
    } else {
      write_value(out, field, load_value(message, field));
    }
  }
  out << YAML::EndMap;
}

}  // namespace

std::string message_to_yaml(const Message& message) {
  YAML::Emitter out;
  write_message(out, message);
  WEIR_ASSERT(out.good());
  return std::string(out.c_str(), out.size()) + "\n";
}

}  // namespace weir::config
