#include "field_value.hpp"
#include "schema.hpp"
#include <weir/config/explain.hpp>
#include <weir/config/node_farm.hpp>

namespace weir::config {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

class Explainer {
 public:
  Explainer(const NodeFarm& node, const Locations& locations) : node_(node), locations_(locations) {}

  // Adds all keys of one section of the farm.
  void add_section(const std::string& name) {
    const FieldDescriptor& section = *v1::Farm::descriptor()->FindFieldByName(name);
    add_message(node_.farm.GetReflection()->GetMessage(node_.farm, &section), name);
  }

  std::vector<ExplainedKey> take() { return std::move(keys_); }

 private:
  void add_message(const Message& message, const std::string& name) {
    const bool top = name.find('.') == name.npos;
    for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
      const FieldDescriptor& field = *message.GetDescriptor()->field(i);
      const std::string key = join(name, field.name());
      if (field.is_map()) {
        add_map(message, field, key);
      } else if (is_section(field)) {
        add_message(message.GetReflection()->GetMessage(message, &field), key);
      } else if (!top || !is_of_nodes(field)) {
        add(key,
            field.is_repeated() ? list_text(message, field) : print_value(field, load_value(message, field)));
      }
    }
  }

  // True for lists of nodes and their settings. They are left out, because the page is about one node.
  static bool is_of_nodes(const FieldDescriptor& field) {
    return field.name() == "nodes" || field.name() == "profiles" || field.name() == "count";
  }

  void add(const std::string& key, std::string value) {
    keys_.push_back({key, std::move(value), locations_.exactly(node_.key_of(key))});
  }

  void add_map(const Message& message, const FieldDescriptor& field, const std::string& key) {
    for (const auto& [entry, text] : print_map(message, field)) {
      // Each entry of a map may come from the node's own settings or from the shared ones.
      const std::string all = join(key, entry);
      const std::string own = locations_.exactly(join(node_.key_of(key), entry));
      keys_.push_back({all, text, own.empty() ? locations_.exactly(all) : own});
    }
  }

  static std::string list_text(const Message& message, const FieldDescriptor& field) {
    if (field.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) return print_list(message, field);
    const int size = message.GetReflection()->FieldSize(message, &field);
    return size == 0 ? "[]" : std::to_string(size) + (size == 1 ? " entry" : " entries");
  }

  const NodeFarm& node_;
  const Locations& locations_;
  std::vector<ExplainedKey> keys_;
};

std::vector<std::string> sections_of(const NodePlan& node) {
  switch (node.role) {
    case Role::supervisor:
      return {"supervisor", "trigger"};
    case Role::dcm:
      return {"dcm", "filter"};
    case Role::writer:
      return {"writer"};
    case Role::readout:
      break;
    default:
      return {};
  }
  if (node.source_kind == v1::SourceSettings::KIND_HITS) return {"readout", "source", "hits"};
  if (node.source_kind == v1::SourceSettings::KIND_REPLAY) return {"readout", "source", "replay"};
  return {"readout", "source"};
}

}  // namespace

std::vector<ExplainedKey> explain(const v1::Farm& farm, const NodePlan& node, const Locations& locations) {
  const NodeFarm own = NodeFarms(farm).of(node);
  Explainer explainer(own, locations);
  for (const std::string& section : sections_of(node)) explainer.add_section(section);
  return explainer.take();
}

std::string word_of(v1::SourceSettings::Kind kind) {
  return word(*v1::SourceSettings::Kind_descriptor()->FindValueByNumber(kind));
}

}  // namespace weir::config
