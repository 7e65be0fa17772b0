#include <weir/slice_codec/tables.hpp>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace weir::slice_codec {

using slice_rows::AbsenceRange;
using slice_rows::DestinationEpoch;

void encode(const slice_rows::DestinationTable& table, v1::Destinations& out) {
  out.Clear();
  for (const DestinationEpoch& epoch : table.epochs()) {
    v1::Destinations::Epoch& row = *out.add_epochs();
    row.set_number(epoch.number);
    row.set_from_slice(epoch.from.value);
    for (const NodeIndex dcm : epoch.dcms) row.add_dcm(dcm.value);
  }
}

Expected<void, BadRow> decode(const v1::Destinations& message, slice_rows::DestinationTable& table) {
  const Columns columns("Destinations", message.epochs_size());
  std::vector<DestinationEpoch> epochs;
  for (const v1::Destinations::Epoch& epoch : message.epochs()) {
    DestinationEpoch& taken = epochs.emplace_back();
    taken.number = epoch.number();
    taken.from = SliceId(epoch.from_slice());
    for (const std::uint32_t dcm : epoch.dcm()) {
      if (dcm > UINT16_MAX) return columns.refuse("epochs.dcm", epochs.size() - 1);
      taken.dcms.emplace_back(static_cast<std::uint16_t>(dcm));
    }
  }
  if (!table.replace(std::move(epochs))) return columns.refuse("epochs", 0);
  return {};
}

void encode(const std::vector<AbsenceRange>& ranges, v1::Absences& out) {
  for (const AbsenceRange& range : ranges) {
    v1::Absences::Range& row = *out.add_ranges();
    row.set_readout(range.readout.value);
    row.set_from_order(range.from.value);
    row.set_until_order(range.until == AbsenceRange::kOpen ? 0 : range.until.value);
  }
}

Expected<std::vector<AbsenceRange>, BadRow> decode(const v1::Absences& message) {
  std::vector<AbsenceRange> ranges;
  for (const v1::Absences::Range& row : message.ranges()) {
    if (row.readout() > UINT16_MAX)
      return Unexpected<BadRow>(BadRow{"Absences", "ranges.readout", ranges.size()});
    AbsenceRange& range = ranges.emplace_back();
    range.readout = NodeIndex(static_cast<std::uint16_t>(row.readout()));
    range.from = SliceOrder(row.from_order());
    if (row.until_order() != 0) range.until = SliceOrder(row.until_order());
  }
  return ranges;
}

namespace {

using Indices = google::protobuf::RepeatedField<std::uint32_t>;

// Returns the place of the first index that is not below `end`; the number of indices if all are.
std::size_t first_beyond(const Indices& indices, std::size_t end) {
  const auto beyond =
      std::find_if(indices.begin(), indices.end(), [end](auto index) { return index >= end; });
  return static_cast<std::size_t>(beyond - indices.begin());
}

std::vector<NodeIndex> unique_nodes(const Indices& indices) {
  std::vector<NodeIndex> nodes;
  for (const std::uint32_t index : indices) nodes.emplace_back(static_cast<std::uint16_t>(index));
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  return nodes;
}

}  // namespace

Expected<UnreachedNodes, BadRow> decode(const v1::Reach& reach, std::size_t readouts, std::size_t writers) {
  const std::size_t readout = first_beyond(reach.readouts(), readouts);
  if (readout < static_cast<std::size_t>(reach.readouts_size()))
    return Unexpected<BadRow>(BadRow{"Reach", "readouts", readout});
  const std::size_t writer = first_beyond(reach.writers(), writers);
  if (writer < static_cast<std::size_t>(reach.writers_size()))
    return Unexpected<BadRow>(BadRow{"Reach", "writers", writer});
  return UnreachedNodes{unique_nodes(reach.readouts()), unique_nodes(reach.writers())};
}

Expected<std::vector<bool>, BadRow> decode(const v1::ReachVerdict& verdict, std::size_t readouts) {
  const std::size_t beyond = first_beyond(verdict.missing(), readouts);
  if (beyond < static_cast<std::size_t>(verdict.missing_size()))
    return Unexpected<BadRow>(BadRow{"ReachVerdict", "missing", beyond});
  std::vector<bool> missing(readouts);
  for (const std::uint32_t readout : verdict.missing()) missing[readout] = true;
  return missing;
}

}  // namespace weir::slice_codec
