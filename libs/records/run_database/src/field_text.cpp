#include "field_text.hpp"

#include <weir/run_record/json.hpp>

#include <boost/json.hpp>

namespace weir::run_database {

namespace json = boost::json;

std::string text_of(const run_record::RunFields& fields) {
  json::object object;
  for (const auto& [name, value] : fields) object.emplace(name, value);
  return run_record::one_line(object);
}

run_record::RunFields fields_of(const std::string& text) {
  run_record::RunFields fields;
  boost::system::error_code bad;
  const json::value value = json::parse(text, bad);
  if (bad || !value.is_object()) return fields;
  for (const auto& member : value.get_object()) {
    if (member.value().is_string()) fields[member.key()] = std::string(member.value().get_string());
  }
  return fields;
}

std::string value_of(const run_record::RunFields& fields, const char* name) {
  const auto found = fields.find(name);
  return found == fields.end() ? std::string() : found->second;
}

}  // namespace weir::run_database
