#include <weir/node/push.hpp>

#include <utility>
#include <vector>

namespace weir::node {

bool take_destinations(const v1::Destinations& message, slice_rows::DestinationTable& table) {
  std::vector<slice_rows::DestinationEpoch> epochs;
  for (const v1::Destinations::Epoch& epoch : message.epochs()) {
    slice_rows::DestinationEpoch& taken = epochs.emplace_back();
    taken.number = epoch.number();
    taken.from = SliceId(epoch.from_slice());
    for (const std::uint32_t dcm : epoch.dcm()) {
      if (dcm > UINT16_MAX) return false;
      taken.dcms.emplace_back(static_cast<std::uint16_t>(dcm));
    }
  }
  return table.replace(std::move(epochs));
}

}  // namespace weir::node
