#include "dcm_groups.hpp"

#include "schema.hpp"
#include "yaml_tree.hpp"
#include <weir/config/suggest.hpp>

#include <algorithm>
#include <optional>
#include <vector>

namespace weir::config {
namespace {

constexpr int kGroupsMax = 64;

using Report = std::function<void(const std::string& key, std::string what)>;

class GroupCheck {
 public:
  GroupCheck(const v1::Farm& farm, const Report& inconsistent) : farm_(farm), inconsistent_(inconsistent) {}

  void check() {
    for (int i = 0; i < dcm_.nodes_size(); ++i) check_node(i);
    if (dcm_.groups().empty()) return;
    if (dcm_.groups_size() > kGroupsMax)
      return inconsistent_("dcm.groups", std::to_string(dcm_.groups_size()) + " groups are above " +
                                             std::to_string(kGroupsMax));
    if (farm_.run().mode() == v1::RunSettings::MODE_PUSH)
      inconsistent_("dcm.groups", "needs run.mode 'pull': pushed slices are sent before any filter decides");
    if (dcm_.nodes().empty())
      inconsistent_("dcm.groups",
                    "needs dcm.nodes: give each group its DCMs, as in {name: NAME-{i}, count: 2, "
                    "group: GROUP}");
    if (farm_.supervisor().policy() != v1::SupervisorSettings::POLICY_CREDITS)
      inconsistent_("supervisor.policy", "has no effect besides dcm.groups: set policy in each group");
    for (int i = 0; i < dcm_.groups_size(); ++i) check_group(i);
    states_.assign(static_cast<std::size_t>(dcm_.groups_size()), State::unseen);
    follow(0);
    for (int i = 0; i < dcm_.groups_size(); ++i) {
      if (states_[static_cast<std::size_t>(i)] == State::unseen)
        inconsistent_(key_of(i), "no slice reaches group " + in_quotes(name_of(i)) +
                                     ": name it in the `forward` of another group, or remove it");
    }
  }

 private:
  enum class State : std::uint8_t { unseen, on_the_way, done };

  [[nodiscard]] static std::string key_of(int group) { return list_entry("dcm.groups", group); }
  [[nodiscard]] const std::string& name_of(int group) const { return dcm_.groups(group).name(); }
  [[nodiscard]] std::optional<int> find(const std::string& name) const {
    for (int i = 0; i < dcm_.groups_size(); ++i) {
      if (name_of(i) == name) return i;
    }
    return std::nullopt;
  }
  [[nodiscard]] std::string unknown(const std::string& name) const {
    std::vector<std::string> names;
    for (const auto& group : dcm_.groups()) names.push_back(group.name());
    return "unknown group " + in_quotes(name) + ": not in dcm.groups" + did_you_mean(nearest(name, names));
  }

  void check_node(int entry) {
    const std::string& group = dcm_.nodes(entry).group();
    const std::string key = list_entry("dcm.nodes", entry) + ".group";
    if (group.empty() && !dcm_.groups().empty())
      inconsistent_(key, "name its group: dcm.groups has " + in_quotes(name_of(0)) +
                             (dcm_.groups_size() > 1 ? " and others" : ""));
    if (!group.empty() && !find(group)) inconsistent_(key, unknown(group));
  }

  void check_group(int group) {
    if (*find(name_of(group)) != group)
      inconsistent_(key_of(group) + ".name", "there is a group " + in_quotes(name_of(group)) + " already");
    const bool has_dcms = std::any_of(dcm_.nodes().begin(), dcm_.nodes().end(),
                                      [&](const auto& node) { return node.group() == name_of(group); });
    if (!has_dcms && !dcm_.nodes().empty())
      inconsistent_(key_of(group), "group " + in_quotes(name_of(group)) + " has no DCM in dcm.nodes");
    constexpr std::uint32_t kLeaseMinMs = 10;
    if (dcm_.groups(group).lease_ms() > 0 && dcm_.groups(group).lease_ms() < kLeaseMinMs)
      inconsistent_(key_of(group) + ".lease_ms",
                    "is below 10: a DCM would lose slices while it works on them");
    if (dcm_.groups(group).fetch() == v1::DcmGroupSettings::FETCH_BUILDER) check_fetch(group);
    for (int i = 0; i < dcm_.groups(group).forward_size(); ++i) {
      const std::string& to = dcm_.groups(group).forward(i);
      if (!find(to)) inconsistent_(list_entry(key_of(group) + ".forward", i), unknown(to));
    }
  }

  // Its DCMs get whole slices, wherever these come from.
  void check_fetch(int group) {
    if (group == 0)
      inconsistent_(key_of(group) + ".fetch",
                    "'builder' is for groups that slices are forwarded to: new slices come "
                    "from the readouts");
  }

  // Depth first: a group that is on the way to itself closes a cycle.
  void follow(int group) {
    State& state = states_[static_cast<std::size_t>(group)];
    state = State::on_the_way;
    for (int i = 0; i < dcm_.groups(group).forward_size(); ++i) {
      const std::optional<int> to = find(dcm_.groups(group).forward(i));
      if (!to) continue;
      const State next = states_[static_cast<std::size_t>(*to)];
      if (next == State::on_the_way)
        inconsistent_(list_entry(key_of(group) + ".forward", i),
                      "a slice that was forwarded to " + in_quotes(name_of(*to)) +
                          " would return there: a slice never goes back");
      if (next == State::unseen) follow(*to);
    }
    states_[static_cast<std::size_t>(group)] = State::done;
  }

  const v1::Farm& farm_;
  const v1::DcmSettings& dcm_ = farm_.dcm();
  const Report& inconsistent_;
  std::vector<State> states_;
};

}  // namespace

std::uint8_t place_of_group(const v1::DcmSettings& dcm, const std::string& name) {
  for (int i = 0; i < std::min(dcm.groups_size(), kGroupsMax); ++i) {
    if (dcm.groups(i).name() == name) return static_cast<std::uint8_t>(i);
  }
  return 0;
}

bool keeps_slices(const v1::DcmSettings& dcm, std::uint8_t group) {
  if (group >= dcm.groups_size()) return false;
  const auto& names = dcm.groups(group).forward();
  return std::any_of(dcm.groups().begin(), dcm.groups().end(), [&](const v1::DcmGroupSettings& to) {
    return to.fetch() == v1::DcmGroupSettings::FETCH_BUILDER &&
           std::find(names.begin(), names.end(), to.name()) != names.end();
  });
}

void check_groups(const v1::Farm& farm, const Report& inconsistent) {
  GroupCheck(farm, inconsistent).check();
}

}  // namespace weir::config
