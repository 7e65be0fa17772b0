#include "begin_text.hpp"
#include <weir/base/figures.hpp>
#include <weir/run_database/run_document.hpp>
#include <weir/run_database/run_table.hpp>
#include <weir/run_record/json.hpp>
#include <weir/run_record/records.hpp>

#include <boost/json.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string_view>

namespace weir::run_database {
namespace {

namespace json = boost::json;

std::string text_of(const json::object& object, const char* key) {
  const json::value* found = object.if_contains(key);
  if (found == nullptr || found->is_null()) return {};
  return found->is_string() ? std::string(found->get_string()) : run_record::one_line(*found);
}

std::int64_t number_of(const json::object& object, const char* key) {
  const json::value* found = object.if_contains(key);
  boost::system::error_code bad;
  return found == nullptr ? 0 : found->to_number<std::int64_t>(bad);
}

std::string moment_text(const json::object& object, const char* key) {
  const std::int64_t ms = number_of(object, key);
  return ms == 0 ? std::string("-") : utc_text(ms * kMillisecond);
}

std::string fields_text(const json::object& object) {
  std::string text;
  const json::value* fields = object.if_contains("fields");
  if (fields == nullptr || !fields->is_object()) return text;
  for (const auto& member : fields->get_object())
    text += (text.empty() ? "" : "  ") + std::string(member.key()) + "=" +
            std::string(member.value().as_string());
  return text;
}

std::string files_text(const json::object& end) {
  const json::value* files = end.if_contains("files");
  if (files == nullptr || !files->is_array() || files->get_array().empty()) return {};
  double bytes = 0;
  std::uint64_t open = 0;
  for (const json::value& one : files->get_array()) {
    if (!one.is_object()) continue;
    bytes += static_cast<double>(number_of(one.get_object(), "bytes"));
    if (text_of(one.get_object(), "path").ends_with(".part")) ++open;
  }
  return fmt::format("  files      {}, {}{}\n", counted(files->get_array().size(), "file"), bytes_text(bytes),
                     open == 0 ? "" : fmt::format(", {} not closed (.part)", open));
}

std::string ledger_text(const json::object& end) {
  std::string text;
  const json::value* ledger = end.if_contains("ledger");
  if (ledger == nullptr || !ledger->is_array()) return text;
  for (const json::value& one : ledger->get_array()) {
    if (!one.is_object()) continue;
    const json::object& line = one.get_object();
    const json::value* good = line.if_contains("good");
    const bool holds = good == nullptr || !good->is_bool() || good->get_bool();
    if (!holds)
      text += fmt::format("  WRONG      {}: {} / {} {}\n", text_of(line, "name"), text_of(line, "left"),
                          text_of(line, "right"), text_of(line, "note"));
  }
  return text;
}

std::string list_text(const json::object& end, const char* key, const char* heading) {
  std::string text;
  const json::value* list = end.if_contains(key);
  if (list == nullptr || !list->is_array()) return text;
  for (const json::value& one : list->get_array()) {
    const std::string line = one.is_string() ? std::string(one.get_string())
                             : one.is_object()
                                 ? text_of(one.get_object(), "at") + " " + text_of(one.get_object(), "what")
                                 : std::string();
    text += fmt::format("  {:<9}  {}\n", text.empty() ? heading : "", line);
  }
  return text;
}

}  // namespace

json::object document_of(const std::string& folder, const RunRow& row,
                         const std::vector<run_record::Annotation>& annotations,
                         std::optional<std::uint32_t> good_before) {
  const auto paths = run_record::record_paths(folder, RunNumber(row.run));
  json::object document = to_json(row);
  document.emplace("good_before", good_before ? json::value(*good_before) : json::value(nullptr));
  json::array said;
  for (const run_record::Annotation& one : annotations) {
    json::object fields;
    for (const auto& [name, value] : one.fields) fields.emplace(name, value);
    said.push_back({{"at", one.utc_ns / kMillisecond}, {"by", one.by}, {"fields", std::move(fields)}});
  }
  document.emplace("annotations", std::move(said));
  json::object parts;
  if (const auto text = read_file(paths.begin)) {
    if (const auto begin = read_begin(*text)) {
      for (const auto& [key, value] : begin->parts) parts.emplace(key, value);
    }
  }
  document.emplace("parts", std::move(parts));
  json::array records;
  for (const std::string* path : {&paths.begin, &paths.farm, &paths.lab, &paths.end, &paths.histograms}) {
    if (std::filesystem::exists(*path)) records.push_back(json::string(*path));
  }
  document.emplace("records", std::move(records));
  boost::system::error_code bad;
  json::value end = json::parse(read_file(paths.end).value_or("null"), bad);
  document.emplace("end_record", bad ? json::value(nullptr) : std::move(end));
  return document;
}

std::string to_text(const json::object& document) {
  std::string text = fmt::format("run {}  {}  {}\n", text_of(document, "number"), text_of(document, "farm"),
                                 text_of(document, "outcome"));
  const auto add = [&](const char* heading, const std::string& value) {
    if (!value.empty()) text += fmt::format("  {:<9}  {}\n", heading, value);
  };
  add("begin", moment_text(document, "begin"));
  add("end", moment_text(document, "end"));
  add("running", text_of(document, "running_s") + " s");
  add("fields", fields_text(document));
  for (const json::value& one : document.at("annotations").as_array()) {
    const json::object& said = one.as_object();
    const std::string by = text_of(said, "by");
    add("annotated", moment_text(said, "at") + (by.empty() ? "" : " by " + by) + ": " + fields_text(said));
  }
  add("ended by", text_of(document, "reason"));
  add("failure", text_of(document, "failure"));
  add("slices", fmt::format("{} triggered, {} stored, {} rejected, {} discarded",
                            text_of(document, "triggered"), text_of(document, "stored"),
                            text_of(document, "rejected"), text_of(document, "discarded")));
  if (const auto* end = document.at("end_record").if_object()) {
    text += list_text(*end, "faults", "faults") + list_text(*end, "operations", "changes") +
            ledger_text(*end) + files_text(*end);
  }
  for (const auto& member : document.at("parts").as_object()) {
    const std::string_view key = member.key();
    if (key == "versions.weir" || key.ends_with("plugin") || key.ends_with("crc32c"))
      add("made of", std::string(key) + " " + std::string(member.value().as_string()));
  }
  for (const json::value& one : document.at("records").as_array())
    add("record", std::string(one.as_string()));
  if (const std::string good = text_of(document, "good_before"); !good.empty())
    add("compare", fmt::format("weir runs diff {} {}: with the last good run before", good,
                               text_of(document, "number")));
  return text;
}

}  // namespace weir::run_database
