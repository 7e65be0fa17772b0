#include <weir/config/id_order.hpp>
#include <weir/config/node_farm.hpp>
#include <weir/config/push_timing.hpp>

namespace weir::config {
namespace {

bool has_marks(const v1::SourceSettings& source) {
  return source.kind() == v1::SourceSettings::KIND_UDP ||
         (source.kind() == v1::SourceSettings::KIND_PLUGIN && source.plugin() == "udp");
}

bool any_readout_has_marks(const v1::Farm& farm) {
  const NodeFarms farms(farm);
  const int entries = farm.readout().nodes_size();
  for (int entry = entries == 0 ? kNoEntry : 0; entry < entries; ++entry) {
    if (has_marks(farms.of(Role::readout, entry).farm.source())) return true;
  }
  return false;
}

}  // namespace

std::string ascending_ids_reason(const v1::Farm& farm) {
  if (farm.run().mode() == v1::RunSettings::MODE_PUSH)
    return "run.mode 'push' needs ascending numbers, because they determine the DCM of a slice";
  if (any_readout_has_marks(farm))
    return "source.kind 'udp' needs ascending numbers: a mark in its packets ends all numbers below";
  if (farm.dcm().order() == v1::DcmSettings::ORDER_ID)
    return "dcm.order 'id' needs ascending numbers: each slice would be kept until all lower numbers have "
           "been "
           "filtered; set dcm.order to 'completed'";
  return {};
}

bool is_by_number(const v1::Farm& farm) { return farm.build().by() == v1::BuildSettings::BY_NUMBER; }

bool ids_ascend(const v1::Farm& farm) {
  const auto mode = farm.trigger().mode();
  return is_push(farm) || is_by_number(farm) ||
         (mode != v1::TriggerSettings::MODE_NETWORK && mode != v1::TriggerSettings::MODE_FILE);
}

}  // namespace weir::config
