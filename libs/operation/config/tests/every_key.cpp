#include "every_key.hpp"

#include "../src/schema.hpp"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <stdexcept>
#include <string>

namespace weir::config {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

void fill(Message& message, bool per_node_only);

double number_for(const FieldDescriptor& field, double usual) {
  const v1::KeyRules& range = rules(field);
  if (range.has_min() && range.min() != usual) return range.min();
  if (range.has_max()) return range.max();
  return usual + 1;
}

std::string text_for(const FieldDescriptor& field) {
  switch (rules(field).form()) {
    case v1::TEXT_NAME:
      return "name-1";
    case v1::TEXT_NAMES:
      return "name-{i}";
    case v1::TEXT_ENDPOINT:
      return "127.0.0.2:4000";
    case v1::TEXT_HOST:
      return "host-1";
    case v1::TEXT_RATE:
      return "3gbit";
    case v1::TEXT_BUFFER:
      return "300k";
    case v1::TEXT_ANY:
      break;
  }
  return "some: \"text\", [of] #" + field.name();
}

// `add`: appends to a list instead of setting the field.
void fill_scalar(Message& message, const FieldDescriptor& field, bool add) {
  const Reflection& access = *message.GetReflection();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL: {
      const bool value = !field.default_value_bool();
      return add ? access.AddBool(&message, &field, value) : access.SetBool(&message, &field, value);
    }
    case FieldDescriptor::CPPTYPE_UINT32: {
      const auto value = static_cast<std::uint32_t>(number_for(field, field.default_value_uint32()));
      return add ? access.AddUInt32(&message, &field, value) : access.SetUInt32(&message, &field, value);
    }
    case FieldDescriptor::CPPTYPE_UINT64: {
      const auto usual = static_cast<double>(field.default_value_uint64());
      const auto value = static_cast<std::uint64_t>(number_for(field, usual));
      return add ? access.AddUInt64(&message, &field, value) : access.SetUInt64(&message, &field, value);
    }
    case FieldDescriptor::CPPTYPE_DOUBLE: {
      const double value = number_for(field, field.default_value_double());
      return add ? access.AddDouble(&message, &field, value) : access.SetDouble(&message, &field, value);
    }
    case FieldDescriptor::CPPTYPE_ENUM: {
      const auto& values = *field.enum_type();
      const auto* last = values.value(values.value_count() - 1);
      const auto* value = last == field.default_value_enum() ? values.value(0) : last;
      return add ? access.AddEnum(&message, &field, value) : access.SetEnum(&message, &field, value);
    }
    case FieldDescriptor::CPPTYPE_STRING:
      return add ? access.AddString(&message, &field, text_for(field))
                 : access.SetString(&message, &field, text_for(field));
    default:
      throw std::logic_error("farm.proto has a new type of key: " + field.full_name());
  }
}

void fill_map(Message& message, const FieldDescriptor& field) {
  const Reflection& access = *message.GetReflection();
  Message& entry = *access.AddMessage(&message, &field);
  const Reflection& keys = *entry.GetReflection();
  keys.SetString(&entry, field.message_type()->map_key(), "key");
  keys.SetString(&entry, field.message_type()->map_value(), "value of " + field.name());
}

void fill(Message& message, bool per_node_only) {
  const Reflection& access = *message.GetReflection();
  const auto& type = *message.GetDescriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    const bool of_messages = field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
    if (field.full_name() == "weir.v1.Farm.include") continue;
    if (per_node_only && !rules(field).per_node() && !rules(field).inlined()) continue;
    if (field.is_map()) {
      fill_map(message, field);
    } else if (of_messages) {
      Message& section = field.is_repeated() ? *access.AddMessage(&message, &field)
                                             : *access.MutableMessage(&message, &field);
      fill(section, rules(field).inlined());
    } else {
      fill_scalar(message, field, field.is_repeated());
    }
  }
}

}  // namespace

v1::Farm farm_of_every_key() {
  v1::Farm farm;
  fill(farm, false);
  return farm;
}

}  // namespace weir::config
