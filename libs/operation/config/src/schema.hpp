#pragma once

#include <weir/v1/options.pb.h>

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <string>
#include <string_view>
#include <vector>

namespace weir::config {

// The schema's rules for keys, in a farm file's terms.

[[nodiscard]] const v1::KeyRules& rules(const google::protobuf::FieldDescriptor& field);
[[nodiscard]] bool is_size(const google::protobuf::FieldDescriptor& field);  // a number of bytes
[[nodiscard]] bool is_section(
    const google::protobuf::FieldDescriptor& field);  // one message, not a list of them

// Returns "byte-credits" for SHAPER_BYTE_CREDITS.
[[nodiscard]] std::string word(const google::protobuf::EnumValueDescriptor& value);
[[nodiscard]] std::vector<std::string> words(const google::protobuf::EnumDescriptor& type);
// Finds an enum's value. '-' and '_' are ignored, so log-normal, log_normal and lognormal are one word.
// Returns nullptr if no value fits.
[[nodiscard]] const google::protobuf::EnumValueDescriptor* find_word(
    const google::protobuf::EnumDescriptor& type, std::string_view word);

// The field for the key `name` in an entry of this type, after the fields that lead to it: one of the entry's
// own, or a `per_node` field of an inlined section. Empty: unknown key.
using FieldWay = std::vector<const google::protobuf::FieldDescriptor*>;
[[nodiscard]] FieldWay find_key(const google::protobuf::Descriptor& type, const std::string& name);
// Returns the section that would contain the key `name` if nodes could override it: "dcm" for deadline_ms in
// dcm.nodes[].
[[nodiscard]] std::string section_for_all(const google::protobuf::Descriptor& type, const std::string& name);

[[nodiscard]] std::vector<std::string> key_names(const google::protobuf::Descriptor& type);

// Returns "; did you mean 'dcm.credits'?" for a key unknown in `type`, which is the section `path` ("" = the
// farm itself). Searches the section itself, then the same name in the file's other sections.
[[nodiscard]] std::string key_hint(const google::protobuf::Descriptor& type, const std::string& path,
                                   const std::string& unknown);

// "dcm" + "credits" -> "dcm.credits"
[[nodiscard]] std::string join(const std::string& path, const std::string& name);
// "dcm.nodes" + 3 -> "dcm.nodes[3]"
[[nodiscard]] std::string list_entry(const std::string& list, int entry);

// Removes the entry of this name from a map field.
void remove_entry(google::protobuf::Message& message, const google::protobuf::FieldDescriptor& field,
                  const std::string& name);

}  // namespace weir::config
