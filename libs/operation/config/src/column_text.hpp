#pragma once

#include <google/protobuf/descriptor.h>

#include <string>

namespace weir::config {

// Texts about a key of the schema, for docs/configuration.md and forms.

// Returns "integer, ms, 50…60000".
[[nodiscard]] std::string type_column(const google::protobuf::FieldDescriptor& field);
// Returns "`8`", "empty" or "required".
[[nodiscard]] std::string default_column(const google::protobuf::FieldDescriptor& field);
// Returns the meaning, with the words of an enumeration.
[[nodiscard]] std::string meaning_column(const google::protobuf::FieldDescriptor& field);

}  // namespace weir::config
