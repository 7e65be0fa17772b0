#include <weir/base/assert.hpp>
#include <weir/base/text.hpp>
#include <weir/run_record/run_fields.hpp>

#include <algorithm>
#include <array>
#include <string_view>

namespace weir::run_record {
namespace {

constexpr std::array<std::string_view, 3> kQualities = {"good", "questionable", "bad"};

bool is_name(std::string_view text) {
  const auto is_alphanumeric = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  return !text.empty() && text.size() <= kFieldNameMax && is_alphanumeric(text.front()) &&
         std::all_of(text.begin(), text.end(),
                     [&](char c) { return is_alphanumeric(c) || c == '_' || c == '-' || c == '.'; });
}

template <class List>
std::string listed(const List& words) {
  std::string text;
  for (const auto& word : words) text += (text.empty() ? "" : ", ") + std::string(word);
  return text;
}

template <class List>
bool has(const List& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

}  // namespace

std::string check_fields(const RunFields& fields, const std::vector<std::string>& types) {
  if (fields.size() > kFieldsMax) return "a run has at most " + std::to_string(kFieldsMax) + " fields";
  for (const auto& [name, value] : fields) {
    if (!is_name(name))
      return "'" + clean_text(name, kFieldNameMax) +
             "' is not a name of a field: use letters, digits, '_', '-' and '.', at most 64 of them";
    if (value.size() > kFieldBytesMax)
      return "the field " + name + " has more than " + std::to_string(kFieldBytesMax) + " bytes";
    if (value.empty()) continue;
    if (name == field::kQuality && !has(kQualities, value))
      return "'" + clean_text(value, kFieldNameMax) + "' is not a quality: use " + listed(kQualities);
    if (name == field::kType && !types.empty() && !has(types, value))
      return "'" + clean_text(value, kFieldNameMax) + "' is not a type of run here: use " + listed(types) +
             " (control.run_types)";
  }
  return {};
}

std::string missing_fields(const RunFields& fields, const std::vector<std::string>& required) {
  std::vector<std::string> missing;
  for (const std::string& name : required) {
    const auto found = fields.find(name);
    if (found == fields.end() || found->second.empty()) missing.push_back(name);
  }
  if (missing.empty()) return {};
  return "this farm starts no run without " + listed(missing) +
         " (control.required_fields): give it as in `--field " + missing.front() + "=VALUE`, or on the page";
}

RunFields cleaned(const RunFields& fields) {
  RunFields clean;
  for (const auto& [name, value] : fields) {
    if (!value.empty()) clean[name] = clean_text(value, kFieldBytesMax);
  }
  return clean;
}

RunFields inherited(const RunFields& fields) {
  RunFields next = fields;
  next.erase(field::kComment);
  next.erase(field::kQuality);
  WEIR_ASSERT(next.size() <= fields.size());
  return next;
}

void annotate(const RunFields& annotation, RunFields& fields) {
  for (const auto& [name, value] : annotation) {
    if (value.empty()) {
      fields.erase(name);
    } else if (std::string& now = fields[name]; name == field::kComment && !now.empty()) {
      now += "; " + value;
    } else {
      now = value;
    }
  }
}

}  // namespace weir::run_record
