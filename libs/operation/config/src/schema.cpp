#include "schema.hpp"

#include <weir/base/assert.hpp>
#include <weir/config/suggest.hpp>

#include <algorithm>
#include <cctype>

namespace weir::config {

using google::protobuf::Descriptor;
using google::protobuf::EnumDescriptor;
using google::protobuf::EnumValueDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

const v1::KeyRules& rules(const FieldDescriptor& field) { return field.options().GetExtension(v1::key); }

bool is_size(const FieldDescriptor& field) { return rules(field).unit() == "bytes"; }

bool is_section(const FieldDescriptor& field) {
  return field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE && !field.is_repeated();
}

std::string word(const EnumValueDescriptor& value) {
  // The prefix is the type's name with '_' at its humps: ReadoutOrder -> READOUT_ORDER_.
  std::size_t prefix = 1;
  for (const char c : value.type()->name()) prefix += std::isupper(static_cast<unsigned char>(c)) ? 2 : 1;
  prefix -= 1;
  WEIR_ASSERT(prefix < value.name().size());  // values begin with their type's name
  std::string text = value.name().substr(std::min(prefix, value.name().size()));
  for (char& c : text) c = c == '_' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

std::vector<std::string> words(const EnumDescriptor& type) {
  std::vector<std::string> all;
  for (int i = 0; i < type.value_count(); ++i) all.push_back(word(*type.value(i)));
  return all;
}

const EnumValueDescriptor* find_word(const EnumDescriptor& type, std::string_view text) {
  const auto letters = [](std::string_view spelled) {
    std::string bare;
    for (const char c : spelled) {
      if (c != '-' && c != '_') bare += c;
    }
    return bare;
  };
  const std::string wanted = letters(text);
  for (int i = 0; i < type.value_count(); ++i) {
    if (letters(word(*type.value(i))) == wanted) return type.value(i);
  }
  return nullptr;
}

FieldWay find_key(const Descriptor& type, const std::string& name) {
  if (const FieldDescriptor* field = type.FindFieldByName(name); field != nullptr && !rules(*field).inlined())
    return {field};
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& section = *type.field(i);
    if (!rules(section).inlined()) continue;
    FieldWay way = find_key(*section.message_type(), name);
    if (way.empty() || !rules(*way.back()).per_node()) continue;
    way.insert(way.begin(), &section);
    return way;
  }
  return {};
}

std::string section_for_all(const Descriptor& type, const std::string& name) {
  const Descriptor& farm = *type.file()->message_type(0);
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& section = *type.field(i);
    if (!rules(section).inlined()) continue;
    if (auto found = section_for_all(*section.message_type(), name); !found.empty()) return found;
    for (int j = 0; j < farm.field_count(); ++j) {
      if (farm.field(j)->message_type() == section.message_type() &&
          section.message_type()->FindFieldByName(name) != nullptr)
        return farm.field(j)->name();
    }
  }
  return {};
}

std::vector<std::string> key_names(const Descriptor& type) {
  std::vector<std::string> names;
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    if (!rules(field).inlined()) {
      names.push_back(field.name());
      continue;
    }
    for (const std::string& name : key_names(*field.message_type())) {
      if (!find_key(type, name).empty()) names.push_back(name);
    }
  }
  return names;
}

std::string key_hint(const Descriptor& type, const std::string& path, const std::string& unknown) {
  if (const auto near = nearest(unknown, key_names(type))) return did_you_mean(join(path, *near));
  const Descriptor& farm = *type.file()->message_type(0);  // the whole file: Farm, or Lab
  for (int i = 0; i < farm.field_count(); ++i) {
    const FieldDescriptor& section = *farm.field(i);
    if (is_section(section) && section.message_type()->FindFieldByName(unknown) != nullptr) {
      return did_you_mean(join(section.name(), unknown));
    }
  }
  return "; docs/configuration.md lists the keys";
}

std::string join(const std::string& path, const std::string& name) {
  return path.empty() ? name : path + "." + name;
}

std::string list_entry(const std::string& list, int entry) {
  return list + "[" + std::to_string(entry) + "]";
}

void remove_entry(Message& message, const FieldDescriptor& field, const std::string& name) {
  const auto& access = *message.GetReflection();
  const FieldDescriptor& key_field = *field.message_type()->map_key();
  for (int i = access.FieldSize(message, &field) - 1; i >= 0; --i) {
    const Message& entry = access.GetRepeatedMessage(message, &field, i);
    if (entry.GetReflection()->GetString(entry, &key_field) != name) continue;
    access.SwapElements(&message, &field, i, access.FieldSize(message, &field) - 1);
    access.RemoveLast(&message, &field);
  }
}

}  // namespace weir::config
