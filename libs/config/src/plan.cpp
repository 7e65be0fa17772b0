#include "schema.hpp"
#include "yaml_tree.hpp"
#include <weir/config/plan.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace weir::config {
namespace {

constexpr std::uint64_t kSourcesMax = 1'000'000;
constexpr int kNodesMax = 4096;  // of one role, as many as `count` allows

std::string any_port(const std::string& host) {
  const bool ipv6 = host.find(':') != std::string::npos;
  return (ipv6 ? "[" + host + "]" : host) + ":0";
}

class Planner {
 public:
  Planner(const v1::Farm& farm, const Locations& locations) : farm_(farm), locations_(locations) {}

  Expected<FarmPlan, Problems> plan(const ReplayReader& replay) {
    add({"supervisor", Role::supervisor, NodeIndex(0), farm_.supervisor().listen(), {}, false}, "supervisor");
    add_writers();
    add_dcms();
    if (farm_.readout().nodes().empty()) {
      add_readouts(sources_of_kind(replay));
    } else {
      add_listed_readouts();
    }
    note_masked();
    if (!problems_.empty()) return Unexpected<Problems>(std::move(problems_));
    return std::move(plan_);
  }

 private:
  void report(ProblemKind kind, const std::string& key, std::string what) {
    if (problems_.size() >= kProblemsMax) return;
    problems_.push_back({kind, Severity::error, locations_.of(key), key, std::move(what)});
  }

  void add(NodePlan node, const std::string& key) {
    if (!names_.insert(node.name).second) {
      report(ProblemKind::inconsistent, key, "another node is called '" + node.name + "' too");
    }
    plan_.nodes.push_back(std::move(node));
  }

  void add_writers() {
    const v1::WriterSettings& writer = farm_.writer();
    if (!writer.listen().empty() && writer.count() > 1) {
      report(ProblemKind::inconsistent, "writer.listen",
             "one address for " + std::to_string(writer.count()) +
                 " writers: leave it empty, or set writer.count=1");
    }
    const std::string listen = writer.listen().empty() ? any_port(writer.host()) : writer.listen();
    for (std::uint32_t i = 0; i < writer.count(); ++i) {
      add({"writer-" + std::to_string(i), Role::writer, index(i), listen, {}, false}, "writer.count");
    }
  }

  bool too_many(const std::string& key, int nodes) {
    if (nodes <= kNodesMax) return false;
    report(ProblemKind::out_of_range, key,
           std::to_string(nodes) + " nodes are above " + std::to_string(kNodesMax));
    return true;
  }

  void add_dcms() {
    const v1::DcmSettings& dcm = farm_.dcm();
    if (too_many("dcm.nodes", dcm.nodes_size())) return;
    const auto listed = static_cast<std::uint32_t>(dcm.nodes_size());
    for (std::uint32_t i = 0; i < listed; ++i) {
      const v1::NodeSettings& node = dcm.nodes(static_cast<int>(i));
      const std::string port = node.port().empty() ? port_of(i) : node.port();
      add({node.name(), Role::dcm, index(i), {}, {}, false, port}, entry("dcm.nodes", i) + ".name");
    }
    if (listed > 0) return;
    for (std::uint32_t i = 0; i < dcm.count(); ++i) {
      add({"dcm-" + std::to_string(i), Role::dcm, index(i), {}, {}, false, port_of(i)}, "dcm.count");
    }
  }

  [[nodiscard]] std::string port_of(std::uint32_t dcm) const {
    return "port-" + std::to_string(dcm / farm_.dcm().per_port());
  }

  // In the order in which readouts take them; empty after a problem.
  std::vector<SourceId> sources_of_kind(const ReplayReader& replay) {
    const v1::ReadoutSettings& readout = farm_.readout();
    std::uint64_t count = 0;
    std::string key;
    switch (farm_.source().kind()) {
      case v1::SourceSettings::KIND_REPLAY:
        return replayed_sources(replay);
      case v1::SourceSettings::KIND_HITS: {
        const v1::HitsSettings& hits = farm_.hits();
        count = std::uint64_t{hits.strings()} * hits.floors_per_string() * hits.modules_per_floor();
        key = "hits.strings";
        break;
      }
      case v1::SourceSettings::KIND_DUMMY:
      case v1::SourceSettings::KIND_PLUGIN:
      case v1::SourceSettings::KIND_UDP:
        count = std::uint64_t{readout.count()} * readout.sources_per_readout();
        key = "readout.sources_per_readout";
        break;
    }
    if (count > kSourcesMax) {
      report(ProblemKind::out_of_range, key,
             std::to_string(count) + " sources in all are above " + std::to_string(kSourcesMax));
      return {};
    }
    if (readout.first_source() + count - 1 > UINT32_MAX) {
      report(ProblemKind::out_of_range, "readout.first_source",
             "leaves no room for " + std::to_string(count) + " sources below 2^32");
      return {};
    }
    std::vector<SourceId> sources;
    sources.reserve(count);
    for (std::uint64_t i = 0; i < count; ++i) {
      sources.emplace_back(static_cast<std::uint32_t>(readout.first_source() + i));
    }
    return sources;
  }

  std::vector<SourceId> replayed_sources(const ReplayReader& replay) {
    const std::string& path = farm_.replay().path();
    if (path.empty()) {
      report(ProblemKind::missing_key, "replay.path",
             "needed by source.kind 'replay': set it in the farm file, or with --set replay.path=DIR");
      return {};
    }
    if (!replay) {
      report(ProblemKind::unreadable, "replay.path", "this program opens no recordings");
      return {};
    }
    auto contents = replay(path);
    if (!contents) {
      report(ProblemKind::unreadable, "replay.path", contents.error());
      return {};
    }
    if (contents->sources.empty())
      report(ProblemKind::unreadable, "replay.path", in_quotes(path) + " holds no source");
    return std::move(contents->sources);
  }

  void add_readouts(const std::vector<SourceId>& sources) {
    if (sources.empty()) return;  // reported already
    const v1::ReadoutSettings& readout = farm_.readout();
    const std::size_t count = readout.count();
    if (count > sources.size()) {
      return report(ProblemKind::inconsistent, "readout.count",
                    std::to_string(count) + " readouts for " + std::to_string(sources.size()) + " sources");
    }
    auto next = sources.begin();
    for (std::size_t i = 0; i < count; ++i) {
      // The first ones take one source more where the division leaves a rest.
      const std::size_t share = sources.size() / count + (i < sources.size() % count ? 1 : 0);
      const auto end = next + static_cast<std::ptrdiff_t>(share);
      add({"readout-" + std::to_string(i),
           Role::readout,
           index(i),
           any_port(readout.host()),
           {next, end},
           false},
          "readout.count");
      next = end;
    }
    plan_.sources = sources;
  }

  void add_listed_readouts() {
    const v1::ReadoutSettings& readout = farm_.readout();
    if (too_many("readout.nodes", readout.nodes_size())) return;
    std::map<SourceId, std::string> owners;
    for (int i = 0; i < readout.nodes_size(); ++i) {
      const v1::ReadoutNodeSettings& node = readout.nodes(i);
      const std::string key = entry("readout.nodes", static_cast<std::size_t>(i));
      if (node.sources().empty())
        report(ProblemKind::missing_key, key + ".sources", "a readout needs a source");
      std::vector<SourceId> sources;
      for (const std::uint32_t number : node.sources()) {
        const auto [owner, fresh] = owners.emplace(SourceId(number), node.name());
        if (!fresh) {
          report(ProblemKind::inconsistent, key + ".sources",
                 "source " + std::to_string(number) + " belongs to '" + owner->second + "' already");
        }
        sources.emplace_back(number);
      }
      plan_.sources.insert(plan_.sources.end(), sources.begin(), sources.end());
      const std::string listen = node.listen().empty() ? any_port(readout.host()) : node.listen();
      add({node.name(), Role::readout, index(static_cast<std::size_t>(i)), listen, std::move(sources),
           node.masked()},
          key + ".name");
    }
  }

  void note_masked() {
    std::set<SourceId> masked;
    for (const NodePlan& node : plan_.nodes) {
      if (node.masked) masked.insert(node.sources.begin(), node.sources.end());
    }
    for (const std::uint32_t number : farm_.readout().masked()) masked.insert(SourceId(number));
    plan_.masked.assign(masked.begin(), masked.end());
  }

  static std::string entry(const std::string& list, std::size_t i) {
    return list + "[" + std::to_string(i) + "]";
  }
  static NodeIndex index(std::size_t i) { return NodeIndex(static_cast<NodeIndex::rep>(i)); }

  const v1::Farm& farm_;
  const Locations& locations_;
  FarmPlan plan_;
  Problems problems_;
  std::set<std::string> names_;
};

}  // namespace

std::vector<const NodePlan*> FarmPlan::of_role(Role role) const {
  std::vector<const NodePlan*> found;
  for (const NodePlan& node : nodes) {
    if (node.role == role) found.push_back(&node);
  }
  return found;
}

Expected<FarmPlan, Problems> expand(const v1::Farm& farm, const Locations& locations,
                                    const ReplayReader& replay) {
  return Planner(farm, locations).plan(replay);
}

}  // namespace weir::config
