#pragma once

#include <weir/run_record/run_fields.hpp>

#include <string>

// The fields of a run as one column: a JSON object on one line.
namespace weir::run_database {

[[nodiscard]] std::string text_of(const run_record::RunFields& fields);
// Returns no fields if the text is none of text_of(). A value that is not a string is left out.
[[nodiscard]] run_record::RunFields fields_of(const std::string& text);
[[nodiscard]] std::string value_of(const run_record::RunFields& fields, const char* name);

}  // namespace weir::run_database
