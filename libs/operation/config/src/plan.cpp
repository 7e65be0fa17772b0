#include "dcm_groups.hpp"
#include "node_names.hpp"
#include "schema.hpp"
#include "yaml_tree.hpp"
#include <weir/base/assert.hpp>
#include <weir/config/node_farm.hpp>
#include <weir/config/plan.hpp>
#include <weir/config/suggest.hpp>

#include <algorithm>
#include <set>
#include <utility>

namespace weir::config {
namespace {

constexpr std::uint64_t kSourcesMax = 1'000'000;

std::string any_port(const std::string& host) {
  const bool ipv6 = host.find(':') != std::string::npos;
  return (ipv6 ? "[" + host + "]" : host) + ":0";
}

class Planner {
 public:
  Planner(const v1::Farm& farm, const Locations& locations, const ReplayReader& replay)
      : farm_(farm), locations_(locations), replay_(replay), node_farms_(farm) {}

  Expected<FarmPlan, Problems> plan() {
    NodePlan supervisor{"supervisor", Role::supervisor, NodeIndex(0), farm_.supervisor().listen(), {}, false};
    supervisor.announce = announced("supervisor", farm_.supervisor().announce(), supervisor.listen, 1);
    add(std::move(supervisor), "supervisor");
    add_writers();
    add_dcms();
    add_readouts();
    report_shared_sources();
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

  // Nodes of one role that differ only in their number: an entry of `nodes`, or `count` nodes.
  struct Group {
    int entry = kNoEntry;
    std::string name;  // contains {i} if the group has several nodes
    std::uint32_t count = 0;
    std::string key;  // path of the entry, for problems
    [[nodiscard]] std::string count_key() const { return entry == kNoEntry ? key : key + ".count"; }
    [[nodiscard]] std::string name_key() const { return entry == kNoEntry ? key : key + ".name"; }
  };

  // Returns the groups in order, and reports faulty ones.
  template <class Settings>
  std::vector<Group> groups_of(const Settings& settings, const std::string& role) {
    if (settings.nodes().empty()) return {{kNoEntry, role + "-{i}", settings.count(), role + ".count"}};
    std::set<std::string> profiles;
    for (int i = 0; i < settings.profiles_size(); ++i) {
      const std::string& name = settings.profiles(i).name();
      if (!profiles.insert(name).second)
        report(ProblemKind::inconsistent, list_entry(role + ".profiles", i) + ".name",
               "another profile is called '" + name + "' already");
    }
    std::vector<Group> groups;
    std::uint64_t nodes = 0;
    for (int i = 0; i < settings.nodes_size(); ++i) {
      const auto& node = settings.nodes(i);
      const Group group{i, node.name(), node.count(), list_entry(role + ".nodes", i)};
      nodes += group.count;
      if (group.count > 1 && !takes_number(group.name))
        report(ProblemKind::inconsistent, group.name_key(),
               std::to_string(group.count) + " nodes cannot all be called '" + group.name +
                   "': write {i} in place of their number");
      if (!node.profile().empty() && !profiles.contains(node.profile()))
        report(ProblemKind::inconsistent, group.key + ".profile",
               "unknown profile " + in_quotes(node.profile()) + " in " + role + ".profiles" +
                   did_you_mean(nearest(node.profile(), {profiles.begin(), profiles.end()})));
      groups.push_back(group);
    }
    const auto most =
        static_cast<std::uint64_t>(rules(*settings.GetDescriptor()->FindFieldByName("count")).max());
    if (nodes > most) {
      report(ProblemKind::out_of_range, role + ".nodes",
             std::to_string(nodes) + " nodes are above " + std::to_string(most));
      return {};
    }
    return groups;
  }

  // Returns the address for a group's nodes: the entry's `listen`, or any port at its host.
  std::string listen_at(const Group& group, const std::string& listen, const std::string& host) {
    if (listen.empty()) return any_port(host);
    if (group.count > 1)
      report(
          ProblemKind::inconsistent, group.key + ".listen",
          "one address for " + std::to_string(group.count) + " nodes: omit it, or list the nodes one by one");
    return listen;
  }

  // Returns the address for DCMs of remote groups. A gateway forwards it to a port that does not change.
  std::string announced(const std::string& key, const std::string& announce, const std::string& listen,
                        std::uint32_t nodes) {
    if (announce.empty()) return {};
    const bool any_remote = std::any_of(farm_.dcm().groups().begin(), farm_.dcm().groups().end(),
                                        [](const auto& group) { return group.remote(); });
    if (nodes > 1) {
      report(ProblemKind::inconsistent, key + ".announce",
             "one address for " + std::to_string(nodes) + " nodes: omit it, or list the nodes one by one");
    } else if (announce.ends_with(":0")) {
      report(ProblemKind::inconsistent, key + ".announce",
             "has no port: DCMs would not know where to connect");
    } else if (listen.ends_with(":0")) {
      report(ProblemKind::inconsistent, key + ".announce",
             "needs " + key + ".listen with a port, to which the gateway forwards");
    } else if (!any_remote) {
      report(ProblemKind::inconsistent, key + ".announce",
             "is for DCMs of remote groups: set `remote: true` in one of dcm.groups, or remove it");
    }
    return announce;
  }

  void add_writers() {
    const v1::WriterSettings& writer = farm_.writer();
    if (writer.nodes().empty() && !writer.listen().empty() && writer.count() > 1) {
      report(ProblemKind::inconsistent, "writer.listen",
             "one address for " + std::to_string(writer.count()) +
                 " writers: leave it empty, or set writer.count=1");
    }
    if (!writer.nodes().empty() && !writer.listen().empty()) {
      report(ProblemKind::inconsistent, "writer.listen",
             "has no effect besides writer.nodes: set listen in each entry");
    }
    std::size_t made = 0;
    for (const Group& group : groups_of(writer, "writer")) {
      const NodeFarm own = node_farms_.of(Role::writer, group.entry);
      const std::string& host = own.farm.writer().host();
      const std::string listen = group.entry == kNoEntry
                                     ? (writer.listen().empty() ? any_port(host) : writer.listen())
                                     : listen_at(group, writer.nodes(group.entry).listen(), host);
      const std::string announce =
          group.entry == kNoEntry
              ? std::string()
              : announced(group.key, writer.nodes(group.entry).announce(), listen, group.count);
      for (std::uint32_t i = 0; i < group.count; ++i) {
        NodePlan node{numbered(group.name, i), Role::writer, index(made++), listen, {}, false};
        node.entry = group.entry;
        node.announce = announce;
        add(std::move(node), group.name_key());
      }
    }
  }

  void add_dcms() {
    const v1::DcmSettings& dcm = farm_.dcm();
    std::uint32_t made = 0;
    std::vector<Group> groups = groups_of(dcm, "dcm");
    const auto group_of = [&](const Group& nodes) {
      return nodes.entry == kNoEntry ? std::uint8_t{0} : place_of_group(dcm, dcm.nodes(nodes.entry).group());
    };
    // Those of one group have consecutive numbers.
    std::stable_sort(groups.begin(), groups.end(),
                     [&](const Group& a, const Group& b) { return group_of(a) < group_of(b); });
    for (const Group& group : groups) {
      const std::string& named = group.entry == kNoEntry ? std::string() : dcm.nodes(group.entry).port();
      const auto [listen, announce] = addresses_of_dcm(group, group_of(group));
      for (std::uint32_t i = 0; i < group.count; ++i, ++made) {
        const std::string port = named.empty() ? port_of(made) : named;
        NodePlan node{numbered(group.name, i), Role::dcm, index(made), {}, {}, false, port};
        node.group = group_of(group);
        node.entry = group.entry;
        node.remote = node.group < dcm.groups_size() && dcm.groups(node.group).remote();
        node.listen = listen;
        node.announce = announce;
        add(std::move(node), group.name_key());
      }
    }
  }

  struct Addresses {
    std::string listen;
    std::string announce;
  };
  // Only DCMs that keep slices for a later group listen.
  Addresses addresses_of_dcm(const Group& nodes, std::uint8_t group) {
    if (nodes.entry == kNoEntry) return {};
    const v1::DcmNodeSettings& entry = farm_.dcm().nodes(nodes.entry);
    if (!keeps_slices(farm_.dcm(), group)) {
      if (!entry.listen().empty() || !entry.announce().empty())
        report(ProblemKind::inconsistent, nodes.key + (entry.listen().empty() ? ".announce" : ".listen"),
               "has no effect: its group forwards to no group with `fetch: builder`");
      return {};
    }
    const NodeFarm own = node_farms_.of(Role::dcm, nodes.entry);
    Addresses at;
    at.listen = listen_at(nodes, entry.listen(), own.farm.dcm().host());
    at.announce = announced(nodes.key, entry.announce(), at.listen, nodes.count);
    return at;
  }

  [[nodiscard]] std::string port_of(std::uint32_t dcm) const {
    return "port-" + std::to_string(dcm / farm_.dcm().per_port());
  }

  void add_readouts() {
    const v1::ReadoutSettings& readout = farm_.readout();
    std::size_t made = 0;
    for (const Group& group : groups_of(readout, "readout")) {
      const NodeFarm own = node_farms_.of(Role::readout, group.entry);
      const auto* node = group.entry == kNoEntry ? nullptr : &readout.nodes(group.entry);
      const std::string listen =
          listen_at(group, node == nullptr ? std::string() : node->listen(), own.farm.readout().host());
      const std::string announce =
          node == nullptr ? std::string() : announced(group.key, node->announce(), listen, group.count);
      const std::vector<SourceId> sources = sources_of(group, own);
      if (sources.size() < group.count) {
        // If no sources were found, the reason is reported already.
        if (!sources.empty())
          report(
              ProblemKind::inconsistent, group.count_key(),
              std::to_string(group.count) + " readouts for " + std::to_string(sources.size()) + " sources");
        continue;
      }
      auto next = sources.begin();
      for (std::size_t i = 0; i < group.count; ++i) {
        // The first readouts take one source more if the division leaves a remainder.
        const std::size_t share = sources.size() / group.count + (i < sources.size() % group.count ? 1 : 0);
        WEIR_ASSERT(share > 0 && share <= static_cast<std::size_t>(sources.end() - next));
        const auto end = next + static_cast<std::ptrdiff_t>(share);
        const std::string name = numbered(group.name, static_cast<std::uint32_t>(i));
        claim(name, {next, end}, group);
        NodePlan made_node{name,   Role::readout, index(made++),
                           listen, {next, end},   node != nullptr && node->masked()};
        made_node.source_kind = own.farm.source().kind();
        made_node.entry = group.entry;
        made_node.announce = announce;
        add(std::move(made_node), group.name_key());
        next = end;
      }
      WEIR_ASSERT(group.count == 0 || next == sources.end());  // each source has a readout
      plan_.sources.insert(plan_.sources.end(), sources.begin(), sources.end());
      if (plan_.sources.size() > kSourcesMax)
        return report(ProblemKind::out_of_range, group.key,
                      std::to_string(plan_.sources.size()) + " sources in all are above " +
                          std::to_string(kSourcesMax));
    }
  }

  void claim(const std::string& name, const std::vector<SourceId>& sources, const Group& group) {
    const auto claimant = static_cast<std::uint32_t>(claimants_.size());
    claimants_.push_back({name, group});
    for (const SourceId source : sources) claims_.push_back({source, claimant});
  }

  // Reports sources that two readouts claim: for each readout the first.
  void report_shared_sources() {
    const auto by_source = [](const Claim& a, const Claim& b) { return a.source < b.source; };
    if (!std::is_sorted(claims_.begin(), claims_.end(), by_source))
      std::stable_sort(claims_.begin(), claims_.end(), by_source);
    std::set<std::uint32_t> reported;
    for (std::size_t i = 1; i < claims_.size(); ++i) {
      const Claim& owner = claims_[i - 1];
      const Claim& claim = claims_[i];
      if (claim.source != owner.source || !reported.insert(claim.claimant).second) continue;
      WEIR_ASSERT(claim.claimant < claimants_.size() && owner.claimant < claimants_.size());
      const Group& group = claimants_[claim.claimant].group;
      const bool listed = group.entry != kNoEntry && !farm_.readout().nodes(group.entry).sources().empty();
      report(ProblemKind::inconsistent, listed ? group.key + ".sources" : group.key,
             "source " + std::to_string(claim.source.value) + " belongs to '" +
                 claimants_[owner.claimant].name + "' already" +
                 (listed ? "" : ": set first_source or sources here"));
    }
  }

  // Returns the sources of a group in the order in which its readouts take them; empty after a problem.
  std::vector<SourceId> sources_of(const Group& group, const NodeFarm& own) {
    if (group.entry != kNoEntry && !farm_.readout().nodes(group.entry).sources().empty()) {
      std::vector<SourceId> listed;
      for (const std::uint32_t source : farm_.readout().nodes(group.entry).sources())
        listed.emplace_back(source);
      return listed;
    }
    const v1::ReadoutSettings& readout = own.farm.readout();
    switch (own.farm.source().kind()) {
      case v1::SourceSettings::KIND_REPLAY:
        return replayed_sources(own);
      case v1::SourceSettings::KIND_HITS: {
        const v1::HitsSettings& hits = own.farm.hits();
        return counted(std::uint64_t{hits.strings()} * hits.floors_per_string() * hits.modules_per_floor(),
                       readout.first_source(), "hits.strings", own);
      }
      case v1::SourceSettings::KIND_DUMMY:
      case v1::SourceSettings::KIND_PLUGIN:
      case v1::SourceSettings::KIND_UDP:
        break;
    }
    const bool goes_on = next_source_ > 0 && !own.own.contains("readout.first_source");
    const std::uint64_t first = goes_on ? next_source_ : readout.first_source();
    std::vector<SourceId> sources = counted(std::uint64_t{group.count} * readout.sources_per_readout(), first,
                                            "readout.sources_per_readout", own);
    next_source_ = first + sources.size();
    return sources;
  }

  std::vector<SourceId> counted(std::uint64_t count, std::uint64_t first, const std::string& key,
                                const NodeFarm& own) {
    if (count > kSourcesMax) {
      report(ProblemKind::out_of_range, own.key_of(key),
             std::to_string(count) + " sources in all are above " + std::to_string(kSourcesMax));
      return {};
    }
    if (first + count - 1 > UINT32_MAX) {
      report(ProblemKind::out_of_range, own.key_of("readout.first_source"),
             "leaves no room for " + std::to_string(count) + " sources below 2^32");
      return {};
    }
    std::vector<SourceId> sources;
    sources.reserve(count);
    WEIR_ASSERT(first + count <= std::uint64_t{UINT32_MAX} + 1);
    for (std::uint64_t i = 0; i < count; ++i) sources.emplace_back(static_cast<std::uint32_t>(first + i));
    return sources;
  }

  std::vector<SourceId> replayed_sources(const NodeFarm& own) {
    const std::string& path = own.farm.replay().path();
    const std::string key = own.key_of("replay.path");
    if (path.empty()) {
      report(ProblemKind::missing_key, key,
             "needed by source.kind 'replay': set it in the farm file, or with --set replay.path=DIR");
      return {};
    }
    if (!replay_) {
      report(ProblemKind::unreadable, key, "this program does not open recordings");
      return {};
    }
    auto contents = replay_(path);
    if (!contents) {
      report(ProblemKind::unreadable, key, contents.error());
      return {};
    }
    if (contents->sources.empty()) report(ProblemKind::unreadable, key, in_quotes(path) + " holds no source");
    return std::move(contents->sources);
  }

  void note_masked() {
    std::set<SourceId> masked;
    for (const NodePlan& node : plan_.nodes) {
      if (node.masked) masked.insert(node.sources.begin(), node.sources.end());
    }
    for (const std::uint32_t number : farm_.readout().masked()) masked.insert(SourceId(number));
    plan_.masked.assign(masked.begin(), masked.end());
  }

  static NodeIndex index(std::size_t i) { return NodeIndex(static_cast<NodeIndex::rep>(i)); }

  const v1::Farm& farm_;
  const Locations& locations_;
  const ReplayReader& replay_;
  const NodeFarms node_farms_;
  FarmPlan plan_;
  Problems problems_;
  std::set<std::string> names_;
  struct Claimant {
    std::string name;
    Group group;
  };
  struct Claim {
    SourceId source;
    std::uint32_t claimant = 0;
  };
  std::vector<Claimant> claimants_;  // readouts, in order
  std::vector<Claim> claims_;
  std::uint64_t next_source_ = 0;  // first id after the sources counted so far; 0: none so far
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
  return Planner(farm, locations, replay).plan();
}

}  // namespace weir::config
