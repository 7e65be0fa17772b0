#include <weir/base/text.hpp>
#include <weir/reports/clean_texts.hpp>
#include <weir/v1/control.pb.h>

#include <algorithm>
#include <string>
#include <vector>

namespace weir::reports {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

constexpr std::size_t kTextMax = std::size_t{1} << 20;

std::string clean_lines(const std::string& text) {
  std::string clean;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    clean += (begin == 0 ? "" : "\n") + clean_text(text.substr(begin, end - begin), kTextMax);
    begin = end + 1;
  }
  return clean;
}

void clean_field(Message& message, const FieldDescriptor& field, bool keep_lines) {
  const Reflection& reflection = *message.GetReflection();
  const auto clean = [keep_lines](const std::string& text) {
    return keep_lines ? clean_lines(text) : clean_text(text, kTextMax);
  };
  if (!field.is_repeated()) {
    reflection.SetString(&message, &field, clean(reflection.GetString(message, &field)));
    return;
  }
  for (int i = 0; i < reflection.FieldSize(message, &field); ++i)
    reflection.SetRepeatedString(&message, &field, i,
                                 clean(reflection.GetRepeatedString(message, &field, i)));
}

void clean_all(Message& message, bool keep_lines) {
  const Reflection& reflection = *message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->type() == FieldDescriptor::TYPE_STRING) clean_field(message, *field, keep_lines);
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
    const bool notes = field->containing_type() == v1::Report::descriptor() && field->name() == "notes";
    const int size = field->is_repeated() ? reflection.FieldSize(message, field) : 1;
    for (int i = 0; i < size; ++i) {
      clean_all(field->is_repeated() ? *reflection.MutableRepeatedMessage(&message, field, i)
                                     : *reflection.MutableMessage(&message, field),
                notes);
    }
  }
}

}  // namespace

void clean_texts(google::protobuf::Message& message) { clean_all(message, false); }

}  // namespace weir::reports
