#include <weir/base/assert.hpp>
#include <weir/run/costs.hpp>

#include <boost/json.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <optional>

namespace weir::run {
namespace {

constexpr std::uint32_t kReadouts = 4;
constexpr std::uint32_t kSources = 4;
constexpr std::uint32_t kSmall = 64;
constexpr std::uint32_t kSizes[] = {kSmall, 1024, 4096, 16'384, 65'536};

bool is_like(const MeasuredFarm& one, const MeasuredFarm& other) {
  return one.readouts == other.readouts && one.sources == other.sources &&
         one.fragment_bytes == other.fragment_bytes && one.stored == other.stored;
}

const MeasuredFarm* find(const CostTable& table, const MeasuredFarm& wanted) {
  const auto found = std::ranges::find_if(table.farms, [&](const auto& one) { return is_like(one, wanted); });
  return found == table.farms.end() ? nullptr : &*found;
}

const MeasuredFarm& farm_of(const CostTable& table, std::uint32_t readouts, std::uint32_t sources,
                            std::uint32_t bytes, bool stored = false) {
  const MeasuredFarm* found = find(table, {readouts, sources, bytes, stored});
  WEIR_ASSERT(found != nullptr);
  return *found;
}

std::string text_of(const MeasuredFarm& farm) {
  return fmt::format("{} readouts with {} sources of {} bytes{}", farm.readouts, farm.sources,
                     farm.fragment_bytes, farm.stored ? ", stored" : "");
}

// Returns nullopt if the line lacks a number.
std::optional<MeasuredFarm> farm_of(const boost::json::object& line) {
  bool whole = true;
  const auto number = [&](const char* key) {
    const boost::json::value* value = line.if_contains(key);
    const bool good = value != nullptr && value->is_number() && value->to_number<double>() >= 0;
    whole = whole && good;
    return good ? value->to_number<double>() : 0;
  };
  const auto count = [&](const char* key) {
    return static_cast<std::uint32_t>(std::min(number(key), double{UINT32_MAX}));
  };
  const boost::json::value* stored = line.if_contains("stored");
  if (stored == nullptr || !stored->is_bool()) return std::nullopt;
  const MeasuredFarm farm{count("readouts"),       count("sources_per_readout"), count("fragment_bytes"),
                          stored->get_bool(),      number("readout_us"),         number("dcm_us"),
                          number("supervisor_us"), number("writer_us"),          number("disk_us")};
  return whole ? std::optional(farm) : std::nullopt;
}

}  // namespace

// Without storage: a small slice of fewer sources and of fewer readouts tells the cost of a fragment from
// that of a block, and that of a block from that of a slice.
std::vector<MeasuredFarm> farms_to_measure() {
  std::vector<MeasuredFarm> farms;
  for (const bool stored : {false, true}) {
    for (const std::uint32_t bytes : kSizes) farms.push_back({kReadouts, kSources, bytes, stored});
  }
  farms.push_back({kReadouts, 1, kSmall, false});
  farms.push_back({1, kSources, kSmall, false});
  return farms;
}

std::string incomplete(const CostTable& table) {
  for (const MeasuredFarm& wanted : farms_to_measure()) {
    if (find(table, wanted) == nullptr) return "no line for " + text_of(wanted);
  }
  return {};
}

Expected<CostTable, std::string> read_costs(const std::string& path) {
  const auto refused = [&](const std::string& what) {
    return Unexpected<std::string>(path + ": " + what + "; `weir bench costs > " + path +
                                   "` measures a whole table");
  };
  std::ifstream file(path);
  if (!file) return refused("cannot be read");
  CostTable table;
  std::string text;
  for (int number = 1; std::getline(file, text); ++number) {
    if (text.empty()) continue;
    boost::json::error_code error;
    const boost::json::value value = boost::json::parse(text, error);
    const boost::json::object* line = error ? nullptr : value.if_object();
    const auto farm = line == nullptr ? std::nullopt : farm_of(*line);
    if (!farm) return refused(fmt::format("line {} is none of `weir bench costs`", number));
    table.farms.push_back(*farm);
    const boost::json::value* machine = line->if_contains("machine");
    if (machine != nullptr && machine->is_string()) table.origin = machine->get_string().c_str();
  }
  if (const std::string what = incomplete(table); !what.empty()) return refused(what);
  if (table.origin.empty()) table.origin = path;
  return table;
}

CostModel::CostModel(const CostTable& table) {
  WEIR_ASSERT(incomplete(table).empty());
  fit_small(table);
  fit_sizes(table);
}

void CostModel::fit_small(const CostTable& table) {
  const MeasuredFarm& all = farm_of(table, kReadouts, kSources, kSmall);
  const MeasuredFarm& one_source = farm_of(table, kReadouts, 1, kSmall);
  const MeasuredFarm& one_readout = farm_of(table, 1, kSources, kSmall);
  // Noise must not make a part of a cost negative.
  const auto part = [](double more, double less, double by) { return std::max(0.0, (more - less) / by); };
  const double fewer = kReadouts * (kSources - 1);

  const double fragment = part(all.readout, one_source.readout, fewer);
  readout_.block = part(all.readout, kReadouts * kSources * fragment, kReadouts);
  readout_stored_.block = readout_.block;

  const double taken = part(all.dcm, one_source.dcm, fewer);
  dcm_.block = std::max(0.0, part(all.dcm, one_readout.dcm, kReadouts - 1) - kSources * taken);
  dcm_.slice = std::max(0.0, all.dcm - kReadouts * (dcm_.block + kSources * taken));

  supervisor_.block = part(all.supervisor, one_readout.supervisor, kReadouts - 1);
  supervisor_.slice = std::max(0.0, all.supervisor - kReadouts * supervisor_.block);
  supervisor_stored_ =
      std::max(0.0, farm_of(table, kReadouts, kSources, kSmall, true).supervisor - all.supervisor);
}

void CostModel::fit_sizes(const CostTable& table) {
  constexpr double kFragments = kReadouts * kSources;
  for (const std::uint32_t bytes : kSizes) {
    const MeasuredFarm& plain = farm_of(table, kReadouts, kSources, bytes);
    const MeasuredFarm& stored = farm_of(table, kReadouts, kSources, bytes, true);
    const double record = kFragments * bytes;
    const auto fragment_us = [&](const MeasuredFarm& farm) {
      return std::max(0.0, farm.readout / kReadouts - readout_.block) / kSources;
    };
    readout_.fragment.emplace_back(bytes, fragment_us(plain));
    readout_stored_.fragment.emplace_back(bytes, fragment_us(stored));
    dcm_.fragment.emplace_back(bytes,
                               std::max(0.0, plain.dcm - dcm_.slice - kReadouts * dcm_.block) / kFragments);
    dcm_record_.emplace_back(record, std::max(0.0, stored.dcm - plain.dcm));
    writer_record_.emplace_back(record, stored.writer);
    disk_record_.emplace_back(record, stored.disk);
  }
}

// Beyond the largest size the last slope continues.
double CostModel::at(const Curve& curve, double bytes) {
  WEIR_ASSERT(curve.size() > 1);
  auto after = std::ranges::upper_bound(curve, bytes, {}, &Curve::value_type::first);
  after = std::clamp(after, curve.begin() + 1, curve.end() - 1);
  const auto [low, low_us] = *std::prev(after);
  const auto [high, high_us] = *after;
  return std::max(0.0, low_us + (high_us - low_us) * (bytes - low) / (high - low));
}

double CostModel::time_of(const Role& role, double readouts, double sources, double bytes) {
  return role.slice + readouts * role.block + sources * at(role.fragment, bytes);
}

SliceCosts CostModel::of(const FarmProcesses& shape) const {
  const double readouts = shape.readouts;
  SliceCosts times;
  const Role& readout = shape.writers > 0 ? readout_stored_ : readout_;
  times.readout = time_of(readout, 1, shape.busiest_sources, shape.fragment_bytes);
  times.readouts = time_of(readout, readouts, shape.sources, shape.fragment_bytes);
  times.dcm = time_of(dcm_, readouts, shape.sources, shape.fragment_bytes);
  times.supervisor = supervisor_.slice + readouts * supervisor_.block;
  if (shape.writers == 0) return times;
  const double record = shape.sources * shape.fragment_bytes;
  times.dcm += at(dcm_record_, record);
  times.supervisor += supervisor_stored_;
  times.writer = at(writer_record_, record);
  times.disk = at(disk_record_, record);
  return times;
}

}  // namespace weir::run
