#include <weir/base/assert.hpp>
#include <weir/base/figures.hpp>
#include <weir/config/farm_file.hpp>
#include <weir/node/identity.hpp>
#include <weir/node/run_claim.hpp>
#include <weir/reports/filter_histograms.hpp>
#include <weir/run_record/records.hpp>
#include <weir/run_record/version.hpp>
#include <weir/storage/format.hpp>
#include <weir/weir_filter.h>
#include <weir/weir_source.h>
#include <weir/wire/frame.hpp>

#include <fmt/format.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <limits>
#include <set>
#include <sstream>
#include <string_view>

namespace weir::run_record {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kRunPrefix = "run-";
constexpr std::uint32_t kRunNumberMax = std::numeric_limits<std::uint32_t>::max();

std::string stem(const std::string& out, RunNumber run) {
  return fmt::format("{}/run-{:06}", out, run.value);
}

// Returns YAML's double-quoted form, for text chosen by people.
std::string yaml_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  return out + '"';
}

std::string list_of(const std::vector<SourceId>& sources) {
  std::string text;
  for (const SourceId source : sources) text += (text.empty() ? "" : ", ") + std::to_string(source.value);
  return "[" + text + "]";
}

using Part = v1::RunIdentity::Part;

std::string checksum_text(std::uint32_t crc32c) { return fmt::format("\"{:08x}\"", crc32c); }

// Returns the keys of one plugin, each line behind `indent`.
std::string plugin_record(const Part& part, const std::string& indent) {
  return fmt::format("plugin: {1}\n{0}path: {2}\n{0}bytes: {3}\n{0}crc32c: {4}\n", indent,
                     yaml_text(part.name()), yaml_text(part.path()), part.bytes(),
                     checksum_text(part.crc32c()));
}

std::string recording_record(const Part& part) {
  std::string text = fmt::format("  - path: {}\n    bytes: {}\n    crc32c: {}\n    files:\n",
                                 yaml_text(part.name()), part.bytes(), checksum_text(part.crc32c()));
  for (const v1::RunIdentity::File& file : part.files()) {
    text += fmt::format("      - {{name: {}, bytes: {}, modified: {}, crc32c: {}}}\n", yaml_text(file.name()),
                        file.bytes(), utc_text(file.mtime_ns()), checksum_text(file.crc32c()));
  }
  return text;
}

std::vector<Part> parts_of(const v1::RunIdentity& identity, std::string_view kind) {
  std::vector<Part> found;
  for (const Part& part : identity.parts()) {
    if (part.kind() == kind) found.push_back(part);
  }
  return found;
}

std::string parts_record(const config::PlannedFarm& planned, const v1::RunIdentity& identity) {
  const Part whole = node::farm_part(planned.farm);
  std::string text =
      fmt::format("farm_file: {{bytes: {}, crc32c: {}}}\n", whole.bytes(), checksum_text(whole.crc32c()));
  const std::vector<Part> sources = parts_of(identity, node::kSourcePart);
  if (!sources.empty()) text += "sources:\n";
  for (const Part& source : sources) text += "  - " + plugin_record(source, "    ");
  const std::vector<Part> filters = parts_of(identity, node::kFilterPart);
  if (filters.size() == 1) text += "filter:\n  " + plugin_record(filters.front(), "  ");
  // A farm with groups of DCMs.
  if (filters.size() > 1) text += "filters:\n";
  for (const Part& filter : filters) {
    if (filters.size() > 1) text += "  - " + plugin_record(filter, "    ");
  }
  // No process has reported its checksum.
  if (filters.empty())
    text += fmt::format("filter:\n  plugin: {}\n", yaml_text(planned.farm.filter().plugin()));
  const std::vector<Part> recordings = parts_of(identity, node::kRecordingPart);
  if (!recordings.empty()) text += "recordings:\n";
  for (const Part& recording : recordings) text += recording_record(recording);
  return text;
}

std::string nodes_record(const config::FarmPlan& plan) {
  std::string text = "nodes:\n";
  for (const config::NodePlan& node : plan.nodes) {
    text += fmt::format("  - name: {}\n    role: {}\n", yaml_text(node.name), name(node.role));
    if (node.role == Role::readout) text += "    sources: " + list_of(node.sources) + "\n";
    if (node.masked) text += "    masked: true\n";
  }
  return text + "masked_sources: " + list_of(plan.masked) + "\n";
}

bool write_directly(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  return !file.fail();
}

}  // namespace

RecordPaths record_paths(const std::string& out, RunNumber run) {
  const std::string base = stem(out, run);
  return {base + "-begin.yaml", base + "-farm.yaml",       base + "-lab.yaml",
          base + "-end.json",   base + "-histograms.json", out + "/log"};
}

std::optional<RunNumber> free_run_number(RunNumber from, const std::vector<std::string>& file_names) {
  std::set<std::uint32_t> taken;
  for (std::string_view name : file_names) {
    if (!name.starts_with(kRunPrefix)) continue;
    name.remove_prefix(kRunPrefix.size());
    std::uint32_t number = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (error == std::errc() && end != name.data() + name.size() && *end == '-') taken.insert(number);
  }
  std::uint32_t number = from.value;
  while (taken.contains(number)) {
    if (number == kRunNumberMax) return std::nullopt;
    ++number;
  }
  WEIR_ASSERT(number >= from.value);
  return RunNumber(number);
}

std::string no_run_number_left(const std::string& out) {
  return fmt::format(
      "run {} is the highest possible number, and '{}' has it: take another folder (under run control: "
      "control.out, "
      "and start run control anew), or with `weir run` a run.number that is free there",
      kRunNumberMax, out);
}

Expected<RunNumber, std::string> claim_free_run(const std::string& out, RunNumber from,
                                                const std::string& farm, std::uint64_t id) {
  while (true) {
    const auto run = free_run_number(from, file_names_in(out));
    if (!run) return Unexpected<std::string>(no_run_number_left(out));
    const auto claimed = node::claim_run(out, *run, farm, id);
    if (!claimed) return Unexpected<std::string>(claimed.error());
    if (*claimed) return *run;
    if (run->value == kRunNumberMax) return Unexpected<std::string>(no_run_number_left(out));
    from = run->next();
  }
}

std::vector<std::string> file_names_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder, none))
    names.push_back(entry.path().filename().string());
  return names;
}

std::string begin_record(const config::PlannedFarm& planned, UtcNs begin_utc, const v1::RunIdentity& identity,
                         const RunFields& fields) {
  const auto& farm = planned.farm;
  std::string text = fmt::format("run: {}\nfarm: {}\nbegin: {}\n", farm.run().number(),
                                 yaml_text(farm.farm()), utc_text(begin_utc));
  if (!fields.empty()) text += "fields:\n";
  for (const auto& [name, value] : fields)
    text += fmt::format("  {}: {}\n", yaml_text(name), yaml_text(value));
  text += fmt::format(
      "versions:\n  weir: {}\n  wire: {}\n  file_format: {}\n  filter_abi: {}\n  source_abi: {}\n", kVersion,
      wire::kVersion, storage::kFormatVersion, WEIR_FILTER_ABI_VERSION, WEIR_SOURCE_ABI_VERSION);
  text += parts_record(planned, identity) + nodes_record(planned.plan) + "configuration:\n";
  std::istringstream lines(config::to_yaml(farm));
  for (std::string line; std::getline(lines, line);) text += line.empty() ? "\n" : "  " + line + "\n";
  return text;
}

bool write_begin_records(const RecordPaths& paths, const std::string& comment,
                         const config::PlannedFarm& planned, UtcNs begin_utc, const v1::RunIdentity& identity,
                         const RunFields& fields) {
  return write_file(paths.farm, "# " + comment + "\n" + config::to_yaml(planned.farm)) &&
         write_file(paths.begin, begin_record(planned, begin_utc, identity, fields));
}

bool write_histograms(const RecordPaths& paths, const v1::RunSummary& account) {
  return account.histograms_size() == 0 ||
         write_file(paths.histograms, reports::histograms_document(account.run(), account.histograms()));
}

bool write_file(const std::string& path, const std::string& text) {
  WEIR_ASSERT(!path.empty());
  errno = 0;
  std::error_code none;
  const fs::file_type type = fs::symlink_status(path, none).type();
  if (type != fs::file_type::regular && type != fs::file_type::not_found) return write_directly(path, text);
  const std::string beside = path + ".writing";
  if (write_directly(beside, text) && std::rename(beside.c_str(), path.c_str()) == 0) return true;
  const int error = errno;
  fs::remove(beside, none);
  errno = error;
  return false;
}

}  // namespace weir::run_record
