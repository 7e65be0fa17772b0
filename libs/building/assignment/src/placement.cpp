#include <weir/assignment/placement.hpp>

namespace weir::assignment {

void Placement::renew(SliceId next, const DcmTable& dcms) {
  if (!push_) return;
  std::vector<NodeIndex> open;
  for (std::size_t i = 0; i < dcms.views().size(); ++i) {
    if (dcms.views()[i].is_open()) open.push_back(NodeIndex(static_cast<std::uint16_t>(i)));
  }
  destinations_.change(next, std::move(open));
}

const DcmView* Placement::destination(SliceId slice, const DcmTable& dcms) const {
  const auto dcm = destinations_.of(slice);
  return dcm && dcms.views()[dcm->value].is_open() ? &dcms.views()[dcm->value] : nullptr;
}

void Placement::append_state(std::vector<std::uint64_t>& out) const {
  out.push_back(destinations_.epochs().size());
  for (const DestinationEpoch& epoch : destinations_.epochs()) {
    out.insert(out.end(), {epoch.number, epoch.from.value, epoch.dcms.size()});
    for (const NodeIndex dcm : epoch.dcms) out.push_back(dcm.value);
  }
}

}  // namespace weir::assignment
