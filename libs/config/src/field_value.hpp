#pragma once

#include <weir/base/expected.hpp>
#include <weir/config/problem.hpp>

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

namespace weir::config {

// One value of a field: bool, whole number, number, text, or one of an enum.
using FieldValue =
    std::variant<bool, std::uint64_t, double, std::string, const google::protobuf::EnumValueDescriptor*>;

struct ValueError {
  ProblemKind kind = ProblemKind::bad_value;
  std::string what;
};

// Reads `text` as a value of `field` (of one entry, where the field is a list) and checks it against the
// rules.
[[nodiscard]] Expected<FieldValue, ValueError> parse_value(const google::protobuf::FieldDescriptor& field,
                                                           std::string_view text);

// Sets the field, or appends to it where it is a list.
void store_value(google::protobuf::Message& message, const google::protobuf::FieldDescriptor& field,
                 const FieldValue& value);

// The field's value, or entry `index` of a list.
[[nodiscard]] FieldValue load_value(const google::protobuf::Message& message,
                                    const google::protobuf::FieldDescriptor& field, int index = -1);
[[nodiscard]] FieldValue default_value(const google::protobuf::FieldDescriptor& field);

// As parse_value() reads it; a text as it is, without quotes.
[[nodiscard]] std::string print_value(const google::protobuf::FieldDescriptor& field,
                                      const FieldValue& value);

// "64MiB" where that is exact, else plain digits.
[[nodiscard]] std::string print_size(std::uint64_t bytes);
[[nodiscard]] std::string print_number(double number);
// Of a key's smallest or largest value.
[[nodiscard]] std::string print_limit(const google::protobuf::FieldDescriptor& field, double limit);

// "a whole number", "a size in bytes", "true or false", …: what to write there.
[[nodiscard]] std::string expectation(const google::protobuf::FieldDescriptor& field);

}  // namespace weir::config
