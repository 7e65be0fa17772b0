#include <weir/run_database/run_trend.hpp>
#include <weir/run_record/records.hpp>

#include <boost/json.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string_view>
#include <system_error>

namespace weir::run_database {
namespace {

namespace json = boost::json;

constexpr std::size_t kNewest = 20;  // runs among which one has an end record

struct EndRecord {
  std::uint64_t bytes = 0;
  json::value value;  // null: too long, or damaged
};

// Returns nothing if the run has no end record yet.
std::optional<EndRecord> end_record(const std::string& folder, std::uint32_t run) {
  const std::string path = run_record::record_paths(folder, RunNumber(run)).end;
  std::error_code none;
  EndRecord record;
  record.bytes = std::filesystem::file_size(path, none);
  if (none) return std::nullopt;
  if (record.bytes > RunTrend::kRecordBytesMax) return EndRecord{};
  std::ifstream file(path, std::ios::binary);
  boost::system::error_code bad;
  record.value = json::parse(std::string(std::istreambuf_iterator<char>(file), {}), bad);
  if (bad) record.value = nullptr;
  return record;
}

// "latency_us.p99" in nested objects; a key may itself have dots, as "discarded.drain_timeout".
std::optional<double> number_at(const json::value& value, std::string_view key) {
  if (key.empty()) return value.is_number() ? std::optional(value.to_number<double>()) : std::nullopt;
  const json::object* object = value.if_object();
  if (object == nullptr) return std::nullopt;
  for (std::size_t dot = key.size(); dot != std::string_view::npos && dot > 0;
       dot = key.rfind('.', dot - 1)) {
    const json::value* inner = object->if_contains(key.substr(0, dot));
    if (inner == nullptr) continue;
    if (const auto found = number_at(*inner, dot == key.size() ? std::string_view() : key.substr(dot + 1)))
      return found;
  }
  return std::nullopt;
}

void add_keys(const json::value& value, const std::string& path, std::vector<std::string>& keys) {
  if (value.is_number()) keys.push_back(path);
  const json::object* object = value.if_object();
  if (object == nullptr) return;
  for (const auto& one : *object)
    add_keys(one.value(), path.empty() ? std::string(one.key()) : path + "." + std::string(one.key()), keys);
}

}  // namespace

Expected<RunTrend::Answer, std::string> RunTrend::find(const RunDatabase& runs, const std::string& key,
                                                       std::size_t count) {
  RunQuery query;
  query.limit = std::min(count, kRunsMax);
  const auto list = runs.find(query);
  if (!list) return Unexpected<std::string>(list.error());
  if (known_.size() >= kKeysMax && !known_.contains(key)) known_.clear();
  Values& values = known_[key];
  Answer answer;
  std::size_t reads = 0;
  std::uint64_t bytes = 0;
  for (const RunRow& row : list->runs) {
    auto known = values.find(row.run);
    if (known != values.end()) {
      // Read before.
    } else if (reads >= kReadsMax || bytes >= kReadBytesMax) {
      answer.more = true;
      continue;
    } else {
      const auto record = end_record(runs.folder(), row.run);
      if (!record) continue;
      ++reads;
      bytes += record->bytes;
      known = values.emplace(row.run, number_at(record->value, key)).first;
    }
    if (known->second) answer.points.push_back({row.run, row.begin_utc_ns, *known->second});
  }
  while (values.size() > 2 * kRunsMax) values.erase(values.begin());
  std::ranges::reverse(answer.points);
  return answer;
}

Expected<std::vector<std::string>, std::string> trend_keys(const RunDatabase& runs) {
  RunQuery query;
  query.limit = kNewest;
  const auto list = runs.find(query);
  if (!list) return Unexpected<std::string>(list.error());
  std::vector<std::string> keys;
  for (const RunRow& row : list->runs) {
    if (const auto record = end_record(runs.folder(), row.run)) add_keys(record->value, "", keys);
    if (!keys.empty()) break;
  }
  std::erase_if(keys, [](const std::string& key) { return key == "run"; });
  std::ranges::sort(keys);
  return keys;
}

}  // namespace weir::run_database
