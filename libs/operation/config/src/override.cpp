#include "message_file.hpp"
#include "message_reader.hpp"
#include "schema.hpp"
#include <weir/base/assert.hpp>
#include <weir/base/text.hpp>
#include <weir/config/farm_file.hpp>

#include <google/protobuf/descriptor.h>

#include <memory>
#include <utility>

namespace weir::config {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

Problem option_problem(ProblemKind kind, const std::string& key, std::string what) {
  return {kind, Severity::error, std::string(kSetOption), key, std::move(what)};
}

std::string examples(const FieldDescriptor& section) {
  const Descriptor& type = *section.message_type();
  return "is a section: set one of its keys, as in " + section.name() + "." + type.field(0)->name() + "=…";
}

// Takes the text literally, without YAML's interpretation.
YamlNode literal(std::string_view text) {
  YamlNode node;
  node.kind = YamlNode::Kind::scalar;
  node.text = text;
  return node;
}

class Override {
 public:
  // `prefix` is put before each key in problems.
  Override(Message& root, std::string prefix, Problems& problems, Locations& locations)
      : problems_(problems),
        root_(root),
        prefix_(std::move(prefix)),
        reader_(
            problems, [](int) { return std::string(kSetOption); },
            [this](const std::string& key, int) { note(key); }),
        locations_(locations) {}

  void apply(const std::string& bare_key, std::string_view value) {
    const std::string key = join(prefix_, bare_key);
    std::string path = prefix_;
    std::string_view rest = bare_key;
    Message* message = &root_;
    for (;;) {
      const std::string name(rest.substr(0, rest.find('.')));
      rest = name.size() == rest.size() ? std::string_view() : rest.substr(name.size() + 1);
      const FieldDescriptor* field = message->GetDescriptor()->FindFieldByName(name);
      if (field == nullptr) {
        return report(ProblemKind::unknown_key, key,
                      "unknown key" + key_hint(*message->GetDescriptor(), path, name));
      }
      path = join(path, name);
      if (field->is_map() && !rest.empty())
        return set_parameter(*message, *field, path, std::string(rest), value);
      if (!is_section(*field)) {
        if (!rest.empty()) return report(ProblemKind::unknown_key, key, "'" + path + "' has no subkeys");
        return set_field(*message, *field, path, value);
      }
      if (rest.empty()) return report(ProblemKind::wrong_kind, key, examples(*field));
      message = message->GetReflection()->MutableMessage(message, field);
    }
  }

 private:
  void report(ProblemKind kind, const std::string& key, std::string what) {
    problems_.push_back(option_problem(kind, printable(key), std::move(what)));
  }

  // The file has these keys without the prefix.
  void note(std::string_view key) {
    WEIR_ASSERT(prefix_.empty() || key.starts_with(prefix_));
    if (!prefix_.empty()) key.remove_prefix(prefix_.size() + 1);
    locations_.set_option(std::string(key));
  }

  void set_field(Message& message, const FieldDescriptor& field, const std::string& path,
                 std::string_view value) {
    note(path);
    if (!field.is_repeated()) return reader_.read_scalar(literal(value), message, field, path);
    const auto tree = parse_yaml(value, {kFarmFileBytesMax, kYamlDepthMax});
    if (!tree) return report(ProblemKind::syntax, path, tree.error().what);
    message.GetReflection()->ClearField(&message, &field);
    reader_.read_field(*tree, message, field, path);
  }

  void set_parameter(Message& message, const FieldDescriptor& field, const std::string& path,
                     const std::string& name, std::string_view value) {
    YamlNode node;
    node.kind = YamlNode::Kind::map;
    node.keys.push_back(literal(name));
    node.items.push_back(literal(value));
    remove_entry(message, field, name);
    reader_.read_field(node, message, field, path);
  }

  Problems& problems_;
  Message& root_;
  std::string prefix_;
  MessageReader reader_;
  Locations& locations_;
};

}  // namespace

Problems override_key(Message& message, const std::string& prefix, std::string_view assignment,
                      Locations* locations) {
  const std::size_t equals = assignment.find('=');
  if (utf8_prefix(assignment) != assignment.size()) {
    return {option_problem(ProblemKind::bad_value, printable(std::string(assignment.substr(0, equals))),
                           "not UTF-8 text")};
  }
  if (equals == std::string_view::npos || equals == 0) {
    return {option_problem(ProblemKind::syntax, printable(join(prefix, std::string(assignment))),
                           "write key=value")};
  }
  const std::unique_ptr<Message> changed(message.New());
  changed->CopyFrom(message);
  Locations noted = locations != nullptr ? *locations : Locations();
  Problems problems;
  Override(*changed, prefix, problems, noted)
      .apply(std::string(assignment.substr(0, equals)), assignment.substr(equals + 1));
  if (problems.empty()) {
    message.GetReflection()->Swap(&message, changed.get());
    if (locations != nullptr) *locations = std::move(noted);
  }
  return problems;
}

}  // namespace weir::config
