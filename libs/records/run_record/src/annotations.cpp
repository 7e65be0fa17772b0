#include <weir/base/text.hpp>
#include <weir/run_record/annotations.hpp>
#include <weir/run_record/append_line.hpp>
#include <weir/run_record/json.hpp>
#include <weir/run_record/records.hpp>

#include <boost/json.hpp>

#include <filesystem>

namespace weir::run_record {

namespace json = boost::json;

std::string annotations_path(const std::string& out) { return out + "/annotations.jsonl"; }

std::string to_line(const Annotation& annotation) {
  json::object fields;
  for (const auto& [name, value] : annotation.fields) fields.emplace(name, value);
  return one_line(json::object{{"run", annotation.run},
                               {"utc_ns", annotation.utc_ns},
                               {"by", annotation.by},
                               {"fields", std::move(fields)}});
}

std::optional<Annotation> read_annotation(std::string_view line) {
  boost::system::error_code bad;
  const json::value value = json::parse(line, bad);
  const json::object* object = bad ? nullptr : value.if_object();
  const auto* fields = object == nullptr ? nullptr : object->if_contains("fields");
  if (fields == nullptr || !fields->is_object()) return std::nullopt;
  const auto number = [&](const char* key) {
    const json::value* found = object->if_contains(key);
    return found != nullptr && found->is_number() ? found->to_number<std::int64_t>(bad) : 0;
  };
  const auto text = [](const json::value* found) {
    return found != nullptr && found->is_string() ? std::string(found->get_string()) : std::string();
  };
  Annotation annotation{
      static_cast<std::uint32_t>(number("run")), number("utc_ns"), text(object->if_contains("by")), {}};
  for (const auto& member : fields->get_object()) annotation.fields[member.key()] = text(&member.value());
  return annotation;
}

std::string add_annotation(const std::string& out, const Annotation& annotation,
                           const std::vector<std::string>& types) {
  if (annotation.run == 0) return "an annotation takes the number of a run";
  if (annotation.fields.empty()) return "an annotation takes fields, such as quality=bad";
  if (std::string why = check_fields(annotation.fields, types); !why.empty()) return why;
  if (!std::filesystem::exists(record_paths(out, RunNumber(annotation.run)).begin))
    return "run " + std::to_string(annotation.run) + " has no record in '" + out + "'";
  Annotation clean = annotation;
  for (auto& [name, value] : clean.fields) value = clean_text(value, kFieldBytesMax);
  return append_line(annotations_path(out), to_line(clean));
}

}  // namespace weir::run_record
