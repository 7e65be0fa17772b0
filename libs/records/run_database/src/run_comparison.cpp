#include "begin_text.hpp"
#include "flat.hpp"
#include <weir/base/figures.hpp>
#include <weir/run_database/run_comparison.hpp>
#include <weir/run_record/records.hpp>
#include <weir/run_record/run_history.hpp>

#include <boost/json.hpp>
#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace weir::run_database {
namespace {

namespace json = boost::json;

std::optional<double> number_of(const std::string& text) {
  if (text.empty()) return std::nullopt;
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  return end == text.c_str() + text.size() ? std::optional<double>(value) : std::nullopt;
}

void add_differences(ComparedPart part, const Flat& left, const Flat& right, Comparison& comparison) {
  Flat keys = left;
  keys.insert(right.begin(), right.end());
  const auto value_of = [](const Flat& flat, const std::string& key) {
    const auto found = flat.find(key);
    return found == flat.end() ? std::string() : found->second;
  };
  for (const auto& [key, value] : keys) {
    Difference difference{part, key, value_of(left, key), value_of(right, key), {}};
    if (difference.left == difference.right) continue;
    if (part == ComparedPart::number) {
      const auto before = number_of(difference.left);
      const auto after = number_of(difference.right);
      if (before && after && *before != 0) difference.change = *after / *before - 1;
    }
    comparison.differences.push_back(std::move(difference));
  }
}

// Reads one record of both runs; the error lists those that cannot be read.
template <class Read>
std::pair<Flat, Flat> read_both(const std::string& left, const std::string& right, Comparison& comparison,
                                const Read& read) {
  std::pair<Flat, Flat> both;
  for (const auto& [path, flat] : {std::pair(&left, &both.first), std::pair(&right, &both.second)}) {
    const auto text = read_file(*path);
    if (!text || !read(*text, *flat)) comparison.missing.push_back(*path);
  }
  // Without one of them, every key of the other would differ.
  if (both.first.empty() || both.second.empty()) return {};
  return both;
}

bool read_farm(const std::string& text, Flat& flat) {
  try {
    const YAML::Node root = YAML::Load(text);
    if (!root.IsMap()) return false;
    flatten(root, "", flat);
    flat.erase("run.number");
    return true;
  } catch (const YAML::Exception&) {
    return false;
  }
}

bool read_parts(const std::string& text, Flat& flat) {
  auto begin = read_begin(text);
  if (!begin) return false;
  flat = std::move(begin->parts);
  // These cover the settings, which are compared key by key.
  flat.erase("farm_file.crc32c");
  flat.erase("farm_file.bytes");
  return true;
}

bool read_numbers(const std::string& text, Flat& flat) {
  boost::system::error_code bad;
  const json::value value = json::parse(text, bad);
  if (bad || !value.is_object()) return false;
  flatten(value, "", flat);
  for (const char* key : {"run", "begin", "end"}) flat.erase(key);
  return true;
}

std::string shown(const std::string& text) { return text.empty() ? "-" : text; }

// Returns the outcome of a run that was not good, with its cause.
std::string trouble_text(const RunRow& row) {
  if (row.outcome == run_record::outcome::kGood) return {};
  const std::string& why = row.failure.empty() ? row.fault : row.failure;
  return fmt::format("run {}: {}{}\n", row.run, row.outcome, why.empty() ? "" : ", " + why);
}

}  // namespace

std::string_view name(ComparedPart part) {
  constexpr std::string_view kNames[] = {"fields", "settings", "versions and plugins", "numbers"};
  return kNames[static_cast<std::size_t>(part)];
}

Comparison compare(const std::string& folder, const RunRow& left, const RunRow& right) {
  const auto of_left = run_record::record_paths(folder, RunNumber(left.run));
  const auto of_right = run_record::record_paths(folder, RunNumber(right.run));
  Comparison comparison;
  add_differences(ComparedPart::field, left.fields, right.fields, comparison);
  const auto settings = read_both(of_left.farm, of_right.farm, comparison, read_farm);
  add_differences(ComparedPart::setting, settings.first, settings.second, comparison);
  const auto parts = read_both(of_left.begin, of_right.begin, comparison, read_parts);
  add_differences(ComparedPart::plugin, parts.first, parts.second, comparison);
  const auto numbers = read_both(of_left.end, of_right.end, comparison, read_numbers);
  add_differences(ComparedPart::number, numbers.first, numbers.second, comparison);
  return comparison;
}

std::string to_text(const Comparison& comparison, const RunRow& left, const RunRow& right,
                    double change_min) {
  std::string text;
  std::size_t width = 0;
  std::size_t small = 0;
  const auto is_small = [&](const Difference& one) {
    return one.change && std::abs(*one.change) < change_min;
  };
  for (const Difference& one : comparison.differences) {
    small += is_small(one) ? 1 : 0;
    if (!is_small(one)) width = std::max(width, one.key.size());
  }
  std::optional<ComparedPart> part;
  for (const Difference& one : comparison.differences) {
    if (is_small(one)) continue;
    if (part != one.part) text += fmt::format("{}\n", name(one.part));
    part = one.part;
    const std::string change = one.change ? fmt::format("  ({:+.3g} %)", *one.change * kPercent) : "";
    text += fmt::format("  {:<{}}  {} -> {}{}\n", one.key, width, shown(one.left), shown(one.right), change);
  }
  if (small > 0)
    text +=
        fmt::format("{} by less than {:g} %: --all shows them\n",
                    counted(small, "number") + " differ" + (small == 1 ? "s" : ""), change_min * kPercent);
  for (const std::string& path : comparison.missing) text += fmt::format("no record {}\n", path);
  if (text.empty()) text = "no difference\n";
  return fmt::format("run {} -> run {}\n", left.run, right.run) + trouble_text(left) + trouble_text(right) +
         text;
}

json::object to_json(const Comparison& comparison) {
  json::array differences;
  for (const Difference& one : comparison.differences) {
    json::object shown{
        {"part", json::string(name(one.part))}, {"key", one.key}, {"left", one.left}, {"right", one.right}};
    if (one.change) shown.emplace("change", *one.change);
    differences.push_back(std::move(shown));
  }
  return {{"differences", std::move(differences)},
          {"missing", json::array(comparison.missing.begin(), comparison.missing.end())}};
}

}  // namespace weir::run_database
