// The possible next steps of a World.
#include "world.hpp"

namespace weir::protocol_test {
namespace {

using Kind = Move::Kind;

constexpr std::uint8_t number(slice_rows::Verdict verdict) { return static_cast<std::uint8_t>(verdict); }

}  // namespace

std::string describe(const Move& move) {
  constexpr const char* kNames[] = {"supervisor passes",
                                    "a decision arrives of DCM",
                                    "an acknowledgement arrives at the supervisor of writer",
                                    "orders arrive at DCM",
                                    "an acknowledgement arrives at DCM",
                                    "a record arrives of DCM",
                                    "fates arrive at writer",
                                    "the supervisor misses DCM",
                                    "the supervisor misses writer",
                                    "the supervisor is missed by DCM",
                                    "the supervisor is missed by writer",
                                    "a writer is missed by DCM",
                                    "a writer misses DCM",
                                    "joins: DCM",
                                    "joins: writer",
                                    "connects to a writer: DCM",
                                    "the filter begins with a suspect at DCM",
                                    "the filter decides at DCM",
                                    "gives a slice back: DCM",
                                    "the filter ends at DCM",
                                    "syncs: writer",
                                    "starts: DCM",
                                    "starts: writer",
                                    "crashes: DCM",
                                    "crashes: writer",
                                    "crashes: readout",
                                    "the connection breaks of DCM",
                                    "the connection breaks of writer",
                                    "the data connection breaks of DCM",
                                    "crashes: supervisor",
                                    "time passes"};
  return std::string(kNames[static_cast<std::size_t>(move.kind)]) + " " + std::to_string(move.a) + " (" +
         std::to_string(move.b) + ", " + std::to_string(move.c) + ")";
}

void World::moves(std::vector<Move>& out) const {
  out.clear();
  usual_moves(out);
  const bool stuck = out.empty() && machine_->in_flight() > 0;
  fault_moves(out);
  // When every node waits for time, a passing step is free.
  if (farm_.left.ticks > 0 || stuck) out.push_back({Kind::time_passes});
}

void World::usual_moves(std::vector<Move>& out) const {
  if (farm_.dirty) {
    out.push_back({Kind::supervisor_pass});
    if (!farm_.left.gathers) return;
  }
  for (std::uint8_t dcm = 0; dcm < farm_.left.dcms; ++dcm) dcm_moves(dcm, out);
  for (std::uint8_t writer = 0; writer < farm_.left.writers; ++writer) writer_moves(writer, out);
}

void World::dcm_moves(std::uint8_t dcm, std::vector<Move>& out) const {
  const Dcm& self = farm_.dcms[dcm];
  const Connection& link = farm_.to_dcm[dcm];
  if (link.listener && !link.to_listener.empty()) out.push_back({Kind::decision_arrives, dcm});
  if (link.connector && !link.to_connector.empty()) out.push_back({Kind::orders_arrive, dcm});
  if (link.listener && !link.connector) out.push_back({Kind::supervisor_misses_dcm, dcm});
  if (link.connector && !link.listener) out.push_back({Kind::dcm_misses_supervisor, dcm});
  if (!self.alive) out.push_back({Kind::dcm_starts, dcm});
  if (self.alive && !link.connector) out.push_back({Kind::dcm_joins, dcm});
  for (std::uint8_t writer = 0; writer < farm_.left.writers; ++writer) {
    const Connection& data = farm_.data[dcm][writer];
    if (data.listener && !data.to_listener.empty()) out.push_back({Kind::record_arrives, dcm, writer});
    if (data.connector && !data.to_connector.empty()) {
      out.push_back({Kind::acknowledgement_arrives, dcm, writer});
    }
    if (data.listener && !data.connector) out.push_back({Kind::writer_misses_dcm, dcm, writer});
    if (data.connector && !data.listener) out.push_back({Kind::dcm_misses_writer, dcm, writer});
    if (self.alive && farm_.writers[writer].alive && !data.connector) {
      out.push_back({Kind::dcm_reaches_writer, dcm, writer});
    }
  }
  for (std::uint8_t slice = 0; slice < farm_.left.slices; ++slice) {
    const Slot& slot = self.slots[slice];
    if (slot.phase == Slot::Phase::abandoned) out.push_back({Kind::filter_ends, dcm, slice});
    // Decisions made without a supervisor are dropped when the DCM notices its loss.
    if (slot.phase != Slot::Phase::building || !link.connector) continue;
    if (slot.how == How::suspect && !slot.answered) {
      if (!slot.told) out.push_back({Kind::filter_begins, dcm, slice});
      continue;
    }
    out.push_back({Kind::filter_decides, dcm, slice, number(slice_rows::Verdict::accept)});
    if (farm_.left.hand_backs > 0) out.push_back({Kind::hands_back, dcm, slice});
    if (slot.how != How::unfiltered && (farm_.left.rejectable >> slice & 1) != 0) {
      out.push_back({Kind::filter_decides, dcm, slice, number(slice_rows::Verdict::reject)});
    }
  }
}

void World::writer_moves(std::uint8_t writer, std::vector<Move>& out) const {
  const Writer& self = farm_.writers[writer];
  const Connection& link = farm_.to_writer[writer];
  if (link.listener && !link.to_listener.empty()) out.push_back({Kind::stored_arrives, writer});
  if (link.connector && !link.to_connector.empty()) out.push_back({Kind::fates_arrive, writer});
  if (link.listener && !link.connector) out.push_back({Kind::supervisor_misses_writer, writer});
  if (link.connector && !link.listener) out.push_back({Kind::writer_misses_supervisor, writer});
  if (!self.alive) out.push_back({Kind::writer_starts, writer});
  if (self.alive && !link.connector) out.push_back({Kind::writer_joins, writer});
  if (self.alive && self.store.has_unsynced()) out.push_back({Kind::writer_syncs, writer});
}

void World::fault_moves(std::vector<Move>& out) const {
  const Scenario& left = farm_.left;
  for (std::uint8_t dcm = 0; dcm < left.dcms; ++dcm) {
    if (left.dcm_crashes > 0 && farm_.dcms[dcm].alive) out.push_back({Kind::dcm_crashes, dcm});
    if (left.links_lost > 0 && farm_.to_dcm[dcm].up()) {
      out.push_back({Kind::link_breaks, dcm, 0});
      out.push_back({Kind::link_breaks, dcm, 1});
    }
    for (std::uint8_t writer = 0; writer < left.writers; ++writer) {
      if (left.data_links_lost == 0 || !farm_.data[dcm][writer].up()) continue;
      out.push_back({Kind::data_link_breaks, dcm, writer, 0});
      out.push_back({Kind::data_link_breaks, dcm, writer, 1});
    }
  }
  for (std::uint8_t writer = 0; writer < left.writers; ++writer) {
    if (left.writer_crashes > 0 && farm_.writers[writer].alive) {
      const std::size_t unsynced = farm_.writers[writer].store.unsynced();
      for (std::size_t kept = 0; kept <= unsynced; ++kept) {
        out.push_back({Kind::writer_crashes, writer, static_cast<std::uint8_t>(kept)});
      }
    }
    if (left.writer_links_lost > 0 && farm_.to_writer[writer].up()) {
      out.push_back({Kind::writer_link_breaks, writer, 0});
      out.push_back({Kind::writer_link_breaks, writer, 1});
    }
  }
  // Between two passes: unprocessed input is lost like messages in flight.
  if (left.supervisor_crashes > 0 && !farm_.dirty) {
    out.push_back({Kind::supervisor_crashes, 0});
    out.push_back({Kind::supervisor_crashes, 1});
  }
  for (std::uint8_t readout = 0; readout < left.readouts && left.readout_crashes > 0; ++readout) {
    out.push_back({Kind::readout_crashes, readout});
  }
}

}  // namespace weir::protocol_test
