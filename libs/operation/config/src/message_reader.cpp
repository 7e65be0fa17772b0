#include "message_reader.hpp"

#include "field_value.hpp"
#include "schema.hpp"
#include <weir/base/assert.hpp>

namespace weir::config {
namespace {

using google::protobuf::FieldDescriptor;

// True if an entry of this list (`nodes`, `profiles`) may be written without its dash when it is the only
// one.
bool has_inlined(const FieldDescriptor& list) {
  if (list.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) return false;
  for (int i = 0; i < list.message_type()->field_count(); ++i) {
    if (rules(*list.message_type()->field(i)).inlined()) return true;
  }
  return false;
}

}  // namespace

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

void MessageReader::report(ProblemKind kind, int line, const std::string& key, std::string what) {
  if (problems_.size() < kProblemsMax) {
    problems_.push_back({kind, Severity::error, place_(line), key, std::move(what)});
  } else if (problems_.size() == kProblemsMax) {
    problems_.push_back({kind, Severity::error, place_(line), {}, "and more problems from here on"});
  }
}

void MessageReader::report_repeated(const YamlNode& key, const std::string& path, FirstLines& first_lines) {
  const auto [first, fresh] = first_lines.emplace(key.text, key.line);
  if (!fresh) {
    report(ProblemKind::duplicate_key, key.line, join(path, printable(key.text)),
           "given twice, first on line " + std::to_string(first->second));
  }
}

void MessageReader::read_message(const YamlNode& node, Message& message, const std::string& path) {
  if (node.kind == YamlNode::Kind::null) return;
  if (node.kind != YamlNode::Kind::map) {
    return report(ProblemKind::wrong_kind, node.line, path,
                  "expected keys and values, found " + describe(node));
  }
  FirstLines first_lines;
  const Descriptor& type = *message.GetDescriptor();
  for (std::size_t i = 0; i < node.keys.size(); ++i) {
    WEIR_ASSERT(node.keys.size() == node.items.size());
    const YamlNode& key = node.keys[i];
    report_repeated(key, path, first_lines);
    const FieldWay way = find_key(type, key.text);
    const std::string name = join(path, printable(key.text));
    if (way.empty()) {
      report_unknown(key, type, path);
      continue;
    }
    on_key_(name, key.line);
    // An empty value has no line of its own: the key's line is reported.
    YamlNode empty;
    empty.line = key.line;
    Message* at = &message;
    for (std::size_t step = 0; step + 1 < way.size(); ++step)
      at = at->GetReflection()->MutableMessage(at, way[step]);
    read_field(node.items[i].kind == YamlNode::Kind::null ? empty : node.items[i], *at, *way.back(), name);
  }
}

void MessageReader::report_unknown(const YamlNode& key, const Descriptor& type, const std::string& path) {
  const std::string name = join(path, printable(key.text));
  const std::string section = section_for_all(type, key.text);
  if (section.empty()) {
    return report(ProblemKind::unknown_key, key.line, name, "unknown key" + key_hint(type, path, key.text));
  }
  report(ProblemKind::inconsistent, key.line, name,
         "is the same for all: set '" + join(section, printable(key.text)) + "'");
}

void MessageReader::read_field(const YamlNode& node, Message& message, const FieldDescriptor& field,
                               const std::string& path) {
  if (field.is_map()) return read_map(node, message, field, path);
  if (field.is_repeated()) return read_list(node, message, field, path);
  if (is_section(field)) {
    return read_message(node, *message.GetReflection()->MutableMessage(&message, &field), path);
  }
  read_scalar(node, message, field, path);
}

void MessageReader::read_scalar(const YamlNode& node, Message& message, const FieldDescriptor& field,
                                const std::string& path) {
  if (node.kind != YamlNode::Kind::scalar) {
    return report(ProblemKind::wrong_kind, node.line, path,
                  "expected " + expectation(field) + ", found " + describe(node));
  }
  const auto value = parse_value(field, node.text);
  if (!value) return report(value.error().kind, node.line, path, value.error().what);
  store_value(message, field, *value);
}

void MessageReader::read_list(const YamlNode& node, Message& message, const FieldDescriptor& field,
                              const std::string& path) {
  message.GetReflection()->ClearField(&message, &field);
  if (node.kind == YamlNode::Kind::map && has_inlined(field)) {
    YamlNode list;
    list.kind = YamlNode::Kind::list;
    list.items.push_back(node);
    return read_list(list, message, field, path);
  }
  if (node.kind != YamlNode::Kind::list) {
    return report(ProblemKind::wrong_kind, node.line, path,
                  "expected a list as in [a, b], found " + describe(node));
  }
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    const YamlNode& item = node.items[i];
    const std::string name = path + "[" + std::to_string(i) + "]";
    on_key_(name, item.line);
    if (field.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) {
      read_scalar(item, message, field, name);
      continue;
    }
    Message& entry = *message.GetReflection()->AddMessage(&message, &field);
    read_message(item, entry, name);
    check_required(item, entry, name);
  }
}

void MessageReader::check_required(const YamlNode& node, const Message& message, const std::string& path) {
  if (node.kind != YamlNode::Kind::map && node.kind != YamlNode::Kind::null) return;
  const Descriptor& type = *message.GetDescriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    if (!rules(field).required()) continue;
    bool given = false;
    for (const YamlNode& key : node.keys) given = given || key.text == field.name();
    if (!given) report(ProblemKind::missing_key, node.line, join(path, field.name()), "missing");
  }
}

void MessageReader::read_map(const YamlNode& node, Message& message, const FieldDescriptor& field,
                             const std::string& path) {
  if (node.kind == YamlNode::Kind::null) return;
  if (node.kind != YamlNode::Kind::map) {
    return report(ProblemKind::wrong_kind, node.line, path,
                  "expected keys and values, found " + describe(node));
  }
  FirstLines first_lines;
  const FieldDescriptor& key_field = *field.message_type()->map_key();
  const FieldDescriptor& value_field = *field.message_type()->map_value();
  for (std::size_t i = 0; i < node.keys.size(); ++i) {
    report_repeated(node.keys[i], path, first_lines);
    const std::string name = join(path, printable(node.keys[i].text));
    on_key_(name, node.keys[i].line);
    const auto key = parse_value(key_field, node.keys[i].text);
    if (!key) {
      report(key.error().kind, node.keys[i].line, name, key.error().what);
      continue;
    }
    WEIR_ASSERT(node.keys.size() == node.items.size());
    YamlNode item = node.items[i];
    if (item.kind == YamlNode::Kind::null) item.line = node.keys[i].line;
    remove_entry(message, field, node.keys[i].text);
    Message& entry = *message.GetReflection()->AddMessage(&message, &field);
    store_value(entry, key_field, *key);
    read_scalar(item, entry, value_field, name);
  }
}

}  // namespace weir::config
