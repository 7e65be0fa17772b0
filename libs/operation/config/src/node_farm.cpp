#include "schema.hpp"
#include <weir/base/assert.hpp>
#include <weir/config/node_farm.hpp>

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

namespace weir::config {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// Merges `from`, found at the key `at`, into the farm's section `name`. A list is replaced as a whole; of a
// map, the given keys are replaced.
void lay(const Message& from, Message& section, const std::string& name, const std::string& at,
         NodeFarm& to) {
  std::vector<const FieldDescriptor*> given;
  from.GetReflection()->ListFields(from, &given);
  for (const FieldDescriptor* field : given) {
    to.own[join(name, field->name())] = join(at, field->name());
    if (field->is_repeated() && !field->is_map()) section.GetReflection()->ClearField(&section, field);
  }
  section.MergeFrom(from);
}

void lay(const v1::ReadoutOwnSettings& from, const std::string& at, NodeFarm& to) {
  lay(from.readout(), *to.farm.mutable_readout(), "readout", at, to);
  lay(from.source(), *to.farm.mutable_source(), "source", join(at, "source"), to);
  lay(from.replay(), *to.farm.mutable_replay(), "replay", join(at, "replay"), to);
}
void lay(const v1::DcmGroupOwnSettings& from, const std::string& at, NodeFarm& to) {
  lay(from.dcm(), *to.farm.mutable_dcm(), "dcm", at, to);
  if (from.filter().has_plugin()) {
    to.farm.mutable_filter()->clear_parameters();
    to.farm.mutable_filter()->clear_first_sources();
    to.farm.mutable_filter()->clear_first_groups();
    to.farm.mutable_filter()->clear_steps();
  }
  lay(from.filter(), *to.farm.mutable_filter(), "filter", join(at, "filter"), to);
}
void lay(const v1::DcmSettings& from, const std::string& at, NodeFarm& to) {
  lay(from, *to.farm.mutable_dcm(), "dcm", at, to);
}
void lay(const v1::WriterSettings& from, const std::string& at, NodeFarm& to) {
  lay(from, *to.farm.mutable_writer(), "writer", at, to);
}

void lay_group(const v1::DcmSettings& dcm, int entry, NodeFarm& to) {
  if (entry < 0 || entry >= dcm.nodes_size()) return;
  for (int i = 0; i < dcm.groups_size(); ++i) {
    const v1::DcmGroupSettings& group = dcm.groups(i);
    if (group.name() != dcm.nodes(entry).group()) continue;
    lay(group.own(), list_entry("dcm.groups", i), to);
    if (group.lease_ms() == 0) continue;
    to.farm.mutable_supervisor()->set_lease_ms(group.lease_ms());
    to.own["supervisor.lease_ms"] = list_entry("dcm.groups", i) + ".lease_ms";
  }
}

template <class Settings>
void lay_entry(const Settings& settings, const std::string& role, int entry, NodeFarm& to) {
  if (entry < 0 || entry >= settings.nodes_size()) return;
  const auto& node = settings.nodes(entry);
  to.entry = list_entry(role + ".nodes", entry);
  for (int i = 0; i < settings.profiles_size() && !node.profile().empty(); ++i) {
    if (settings.profiles(i).name() == node.profile())
      lay(settings.profiles(i).own(), list_entry(role + ".profiles", i), to);
  }
  lay(node.own(), to.entry, to);
}

template <class Settings>
void drop_lists(Settings& settings) {
  settings.clear_nodes();
  settings.clear_profiles();
}

}  // namespace

std::string NodeFarm::key_of(std::string_view key) const {
  for (std::string_view begin = key; !begin.empty();) {
    if (const auto found = own.find(begin); found != own.end())
      return found->second + std::string(key.substr(begin.size()));
    const std::size_t cut = begin.find_last_of(".[");
    begin = begin.substr(0, cut == begin.npos ? 0 : cut);
  }
  return std::string(key);
}

std::string NodeFarm::key_in_entry(std::string_view key) const {
  if (entry.empty()) return std::string(key);
  WEIR_ASSERT(entry.find('.') != entry.npos);  // ROLE.nodes[i]
  const std::string role = entry.substr(0, entry.find('.') + 1);
  if (key.starts_with(role)) key.remove_prefix(role.size());
  return join(entry, std::string(key));
}

NodeFarms::NodeFarms(const v1::Farm& farm) : farm_(farm), common_(farm) {
  drop_lists(*common_.mutable_readout());
  drop_lists(*common_.mutable_dcm());
  drop_lists(*common_.mutable_writer());
}

NodeFarm NodeFarms::of(Role role, int entry) const {
  NodeFarm made{common_, {}, {}};
  if (role == Role::readout) lay_entry(farm_.readout(), "readout", entry, made);
  if (role == Role::dcm) lay_group(farm_.dcm(), entry, made);
  if (role == Role::dcm) lay_entry(farm_.dcm(), "dcm", entry, made);
  if (role == Role::writer) lay_entry(farm_.writer(), "writer", entry, made);
  return made;
}

std::vector<NodeFarms::Kind> NodeFarms::kinds(const FarmPlan& plan, Role role) const {
  std::vector<Kind> found;
  int entry = kNoEntry;
  for (const NodePlan& node : plan.nodes) {
    if (node.role != role) continue;
    if (found.empty() || node.entry != entry) found.push_back({of(node), {}});
    entry = node.entry;
    found.back().nodes.push_back(&node);
  }
  return found;
}

}  // namespace weir::config
