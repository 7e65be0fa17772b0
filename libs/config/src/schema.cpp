#include "schema.hpp"

#include <weir/config/suggest.hpp>

#include <algorithm>
#include <cctype>

namespace weir::config {

using google::protobuf::Descriptor;
using google::protobuf::EnumDescriptor;
using google::protobuf::EnumValueDescriptor;
using google::protobuf::FieldDescriptor;

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

std::vector<std::string> key_names(const Descriptor& type) {
  std::vector<std::string> names;
  for (int i = 0; i < type.field_count(); ++i) names.push_back(type.field(i)->name());
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

}  // namespace weir::config
