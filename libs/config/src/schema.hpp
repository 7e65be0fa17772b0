#pragma once

#include <weir/v1/options.pb.h>

#include <google/protobuf/descriptor.h>

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

[[nodiscard]] std::vector<std::string> key_names(const google::protobuf::Descriptor& type);

// "; did you mean 'dcm.credits'?" for a key unknown in `type`, which is the section `path` ("" = the farm
// itself): looks among its neighbours, and then for the same name in the other sections of the file.
[[nodiscard]] std::string key_hint(const google::protobuf::Descriptor& type, const std::string& path,
                                   const std::string& unknown);

// "dcm" + "credits" -> "dcm.credits"
[[nodiscard]] std::string join(const std::string& path, const std::string& name);

}  // namespace weir::config
