#pragma once

#include <weir/v1/options.pb.h>

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <string>
#include <string_view>
#include <vector>

namespace weir::config {

// What the schema says about keys, in the words of a farm file.

[[nodiscard]] const v1::KeyRules& rules(const google::protobuf::FieldDescriptor& field);
[[nodiscard]] bool is_size(const google::protobuf::FieldDescriptor& field);  // a number of bytes
[[nodiscard]] bool is_section(
    const google::protobuf::FieldDescriptor& field);  // one message, not a list of them

// "byte-credits" of SHAPER_BYTE_CREDITS.
[[nodiscard]] std::string word(const google::protobuf::EnumValueDescriptor& value);
[[nodiscard]] std::vector<std::string> words(const google::protobuf::EnumDescriptor& type);
// '-' and '_' do not count, so log-normal, log_normal and lognormal are one word; nullptr when there is no
// such word.
[[nodiscard]] const google::protobuf::EnumValueDescriptor* find_word(
    const google::protobuf::EnumDescriptor& type, std::string_view word);

// The field that the key `name` fills in an entry of this type, behind those that lead to it: one of the
// entry's own, or one that is `per_node` of a section that is inlined there. Empty: no such key.
using FieldWay = std::vector<const google::protobuf::FieldDescriptor*>;
[[nodiscard]] FieldWay find_key(const google::protobuf::Descriptor& type, const std::string& name);
// The section whose key `name` would be if it could be a node's own: "dcm" of deadline_ms in dcm.nodes[].
[[nodiscard]] std::string section_for_all(const google::protobuf::Descriptor& type, const std::string& name);

[[nodiscard]] std::vector<std::string> key_names(const google::protobuf::Descriptor& type);

// "; did you mean 'dcm.credits'?" for a key unknown in `type`, which is the section `path` ("" = the farm
// itself): looks among its neighbours, and then for the same name in the other sections of the file.
[[nodiscard]] std::string key_hint(const google::protobuf::Descriptor& type, const std::string& path,
                                   const std::string& unknown);

// "dcm" + "credits" -> "dcm.credits"
[[nodiscard]] std::string join(const std::string& path, const std::string& name);
// "dcm.nodes" + 3 -> "dcm.nodes[3]"
[[nodiscard]] std::string list_entry(const std::string& list, int entry);

// Removes the entry of this name from a field that is a map.
void remove_entry(google::protobuf::Message& message, const google::protobuf::FieldDescriptor& field,
                  const std::string& name);

}  // namespace weir::config
