#include "column_text.hpp"
#include "field_value.hpp"
#include "schema.hpp"
#include <weir/base/assert.hpp>
#include <weir/config/form.hpp>

#include <utility>

namespace weir::config {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

class FormMaker {
 public:
  explicit FormMaker(const Locations& locations) : locations_(locations) {}

  void add_message(const Message& message, const std::string& path) {
    for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
      const FieldDescriptor& field = *message.GetDescriptor()->field(i);
      const std::string key = join(path, field.name());
      if (is_section(field)) {
        if (!rules(field).inlined()) add_message(message.GetReflection()->GetMessage(message, &field), key);
      } else if (field.is_map()) {
        add_map(message, field, key);
      } else if (field.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) {
        add(field, key, value_of(message, field));
      }
    }
  }

  std::vector<FormKey> take() { return std::move(keys_); }

 private:
  static std::string value_of(const Message& message, const FieldDescriptor& field) {
    return field.is_repeated() ? print_list(message, field) : print_value(field, load_value(message, field));
  }

  void add(const FieldDescriptor& field, const std::string& key, std::string value) {
    WEIR_ASSERT(!field.is_map() && field.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE);
    FormKey& one = keys_.emplace_back();
    one.key = key;
    one.type = type_column(field);
    one.meaning = meaning_column(field);
    one.value = std::move(value);
    one.where = locations_.exactly(key);
    one.default_value = field.is_repeated() ? "[]" : print_value(field, default_value(field));
    if (field.is_repeated()) return;
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_BOOL) one.words = {"true", "false"};
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_ENUM) one.words = words(*field.enum_type());
  }

  void add_map(const Message& message, const FieldDescriptor& field, const std::string& path) {
    for (const auto& [entry, text] : print_map(message, field)) {
      const std::string key = join(path, entry);
      keys_.push_back({key, "text", {}, rules(field).doc(), {}, text, locations_.exactly(key)});
    }
  }

  const Locations& locations_;
  std::vector<FormKey> keys_;
};

}  // namespace

std::vector<FormKey> form_of(const v1::Farm& farm, const Locations& locations) {
  FormMaker maker(locations);
  for (int i = 0; i < v1::Farm::descriptor()->field_count(); ++i) {
    const FieldDescriptor& section = *v1::Farm::descriptor()->field(i);
    const std::string& name = section.name();
    if (!is_section(section) || name == "control" || name == "log" || name == "metrics") continue;
    maker.add_message(farm.GetReflection()->GetMessage(farm, &section), name);
  }
  return maker.take();
}

}  // namespace weir::config
