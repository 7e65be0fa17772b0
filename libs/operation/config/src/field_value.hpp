#pragma once

#include <weir/base/expected.hpp>
#include <weir/config/problem.hpp>

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>

namespace weir::config {

// One value of a field: bool, whole number, number, text, or an enum's value.
using FieldValue =
    std::variant<bool, std::uint64_t, double, std::string, const google::protobuf::EnumValueDescriptor*>;

struct ValueError {
  ProblemKind kind = ProblemKind::bad_value;
  std::string what;
};

// Reads `text` as a value of `field` (of one entry if the field is a list) and checks it against the rules.
[[nodiscard]] Expected<FieldValue, ValueError> parse_value(const google::protobuf::FieldDescriptor& field,
                                                           std::string_view text);

// Sets the field, or appends to it if it is a list.
void store_value(google::protobuf::Message& message, const google::protobuf::FieldDescriptor& field,
                 const FieldValue& value);

// Returns the field's value, or entry `index` of a list.
[[nodiscard]] FieldValue load_value(const google::protobuf::Message& message,
                                    const google::protobuf::FieldDescriptor& field, int index = -1);
[[nodiscard]] FieldValue default_value(const google::protobuf::FieldDescriptor& field);

// Formats a value as parse_value() reads it; texts without quotes.
[[nodiscard]] std::string print_value(const google::protobuf::FieldDescriptor& field,
                                      const FieldValue& value);

// Returns "[1, 2]" for a list of values.
[[nodiscard]] std::string print_list(const google::protobuf::Message& message,
                                     const google::protobuf::FieldDescriptor& field);
// Returns the entries of a map, by name.
[[nodiscard]] std::map<std::string, std::string> print_map(const google::protobuf::Message& message,
                                                           const google::protobuf::FieldDescriptor& field);

// Returns "64MiB" if that is exact, else plain digits.
[[nodiscard]] std::string print_size(std::uint64_t bytes);
[[nodiscard]] std::string print_number(double number);
// Formats the smallest or largest value of a key.
[[nodiscard]] std::string print_limit(const google::protobuf::FieldDescriptor& field, double limit);

// Returns a description of the expected value: "a whole number", "a size in bytes", "true or false", ….
[[nodiscard]] std::string expectation(const google::protobuf::FieldDescriptor& field);

}  // namespace weir::config
