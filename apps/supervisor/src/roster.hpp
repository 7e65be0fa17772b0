#pragma once

#include <weir/assignment/ledger.hpp>
#include <weir/node/report.hpp>
#include <weir/sessions/peer.hpp>
#include <weir/v1/control.pb.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace weir::supervisor {

// A DCM's share of its port, as sent to it.
struct DcmPortShare {
  std::uint32_t members = 0;
  double base_us = 0;
  bool operator==(const DcmPortShare&) const = default;
};

// Messages that a node which joins a run has still to receive.
enum class Welcome : std::uint8_t {
  none,
  begin,       // a process that is new to the run: that it has begun
  open_slices  // a reconnected readout: also messages that it may have missed
};

// One planned node and its state.
struct RosterMember {
  Role role = Role::unknown;
  NodeIndex index;
  std::string name;
  std::string port;                // a DCM's
  std::string announce;            // its address for DCMs of remote groups; empty: the one it listens at
  bool remote = false;             // a DCM of a remote group
  bool keeps = false;              // a DCM that keeps slices for later groups: DCMs connect to it
  DurationNs silence_max = 0;      // a longer silence ends its connection; 0: Dispatch::silence_max()
  DcmPortShare share_sent;         // sent to the present process
  sessions::Peer* peer = nullptr;  // empty: not there
  Incarnation incarnation;         // of the last process
  std::uint64_t first_slice = 0;   // lowest id that this process can have, where ids ascend
  SliceOrder first_order;          // slices that were announced before it took part
  v1::Report report;               // its last one
  bool has_report = false;
  bool was_there = false;
  bool told_to_end = false;  // the last process, in this run: its next one takes part
  bool absent = false;       // not waited for before it joins
  TimeNs heard_ns = 0;       // when it last sent a message
  Welcome welcome = Welcome::none;
  bool brings_no_number = false;  // a readout that came during the run, and has reported no number
  bool stood_still = false;       // likewise, and all readouts were such
  bool begun = false;             // this process has answered BeginRun
  bool on_hold = false;           // a DCM that came during the run: it takes no slices before it has begun
  std::string refusal;            // why its last process could not begin the run
  std::vector<Incarnation> met;   // its latest processes that this one of the supervisor has met

  // Returns whether this process of the node was met before. The first connection of a process may be served
  // after that of its successor.
  bool meet(Incarnation process);
};

// The nodes of the plan: their connections, and the last reports of all, including dead processes.
class Roster {
 public:
  RosterMember& plan(Role role, NodeIndex index, const std::string& name, const std::string& port);
  [[nodiscard]] RosterMember* find(Role role, NodeIndex index);
  [[nodiscard]] const RosterMember* find(Role role, NodeIndex index) const;
  // Returns its name in the farm file.
  [[nodiscard]] std::string name_of(Role role, NodeIndex index) const;
  [[nodiscard]] RosterMember* find(const sessions::Peer& peer);
  [[nodiscard]] RosterMember* find(const std::string& name);
  // Makes this the connection of the member's process; its tag identifies the member.
  void connected(RosterMember& member, sessions::Peer& peer);
  // Keeps the last report of a process that was replaced, or left before its final report. A writer's final
  // report is dropped: its next process counts all of it again.
  void bury(RosterMember& member);
  // Drops the kept report of a process that was not gone: its further reports include it.
  void unbury(RosterMember& member);
  // Last words that an earlier process of the supervisor took.
  void recall(const v1::Report& report);

  // Its last report is this one. True: the share of its port may be another one by it.
  [[nodiscard]] bool take_report(RosterMember& member, const v1::Report& report);
  // Returns the shares of each port through which DCMs receive, from the present DCMs and their last reports.
  // Costs a walk over the members.
  [[nodiscard]] std::map<std::string_view, DcmPortShare> port_shares() const;

  [[nodiscard]] bool complete() const;          // all that the run waits for are there
  [[nodiscard]] std::string not_begun() const;  // connected readouts and DCMs without an answer to BeginRun
  [[nodiscard]] std::string absent() const;     // names, for people
  [[nodiscard]] bool all_final() const;         // all connected nodes have sent their final reports
  [[nodiscard]] bool is_one_away() const;       // a node has disconnected without it
  [[nodiscard]] std::vector<RosterMember>& members() { return members_; }
  [[nodiscard]] const std::vector<RosterMember>& members() const { return members_; }
  [[nodiscard]] const std::vector<v1::Report>& buried() const { return buried_; }
  // True: the sources of some buried reports had no room, and are in no sum.
  [[nodiscard]] bool forgot_sources() const { return forgot_sources_; }
  // Sums the last reports of all processes, including dead ones.
  [[nodiscard]] reports::FragmentTotals totals() const;
  // Members visited to find one, or to sum up ports: the cost so far.
  [[nodiscard]] std::uint64_t steps() const { return steps_; }

 private:
  [[nodiscard]] std::uint32_t place_of(Role role, NodeIndex index) const;
  void keep(const v1::Report& report);
  void count_buried();

  static constexpr std::uint32_t kNoPlace = UINT32_MAX;
  static constexpr std::size_t kRoles = static_cast<std::size_t>(Role::trigger) + 1;

  std::vector<RosterMember> members_;
  std::array<std::vector<std::uint32_t>, kRoles> places_;  // indices into members_, by role and index
  std::map<std::string, std::uint32_t> by_name_;           // likewise
  mutable std::uint64_t steps_ = 0;
  bool forgot_sources_ = false;
  std::size_t buried_sources_ = 0;
  std::vector<v1::Report> buried_;  // bounded: further reports count only in the totals
  reports::FragmentTotals buried_totals_;
  reports::FragmentTotals beyond_totals_;  // of reports beyond buried_
};

// Converts the processes' counters for the ledger. Reports of dead processes are lower bounds; those of dead
// writers are omitted.
struct LedgerInput {
  std::vector<assignment::DcmLedger> dcms;
  std::vector<assignment::WriterLedger> writers;
  std::vector<assignment::ReadoutLedger> readouts;
};
[[nodiscard]] LedgerInput ledger_input(const Roster& roster);

}  // namespace weir::supervisor
