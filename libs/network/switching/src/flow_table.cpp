#include <weir/switching/flow_table.hpp>

namespace weir::switching {
FlowTable::FlowTable(const SwitchSettings& settings) {
  for (std::size_t ring = 0; ring < settings.rings.size(); ++ring) {
    const FlowRing& own = settings.rings[ring];
    targets_[key(own.address, own.port)] = {own.via, ring};
    if (own.port == 0) continue;
    by_port_ = true;
    targets_.try_emplace(key(own.address, 0), Target{own.via, kNoRing});
  }
  for (const Route& route : settings.routes)
    targets_.insert_or_assign(key(route.address, 0), Target{route.via, kNoRing});
}

std::optional<FlowTable::Target> FlowTable::find(const FrameDestination& to) const {
  auto found = targets_.end();
  if (by_port_ && to.is_data && to.port != 0) found = targets_.find(key(to.address, to.port));
  if (found == targets_.end()) found = targets_.find(key(to.address, 0));
  if (found == targets_.end()) return std::nullopt;
  Target target = found->second;
  if (!to.is_data) target.ring = kNoRing;
  return target;
}

}  // namespace weir::switching
