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

// What a DCM is told of its port.
struct PortShare {
  std::uint32_t members = 0;
  double base_us = 0;
  bool operator==(const PortShare&) const = default;
};

// What a node that has come to a run has yet to be told of it.
enum class Welcome : std::uint8_t {
  none,
  begin,       // a process that is new to the run: that it has begun
  open_slices  // one whose connection broke: besides, what it may not have heard of
};

// One planned node, and what is known of it.
struct Member {
  Role role = Role::unknown;
  NodeIndex index;
  std::string name;
  std::string port;                // a DCM's
  PortShare share_sent;            // to the process that is there
  sessions::Peer* peer = nullptr;  // empty: not there
  Incarnation incarnation;         // of the last process
  std::uint64_t first_slice = 0;   // lowest id that this process can have, where ids ascend
  SliceOrder first_order;          // slices that were announced before it took part
  bool was_met = false;            // this process has been connected to this one of the supervisor
  v1::Report report;               // its last one
  bool has_report = false;
  bool was_there = false;
  bool told_to_end = false;  // the last process, in this run: its next one takes part
  bool absent = false;       // not waited for, until it comes
  TimeNs heard_ns = 0;       // when it last sent a message
  Welcome welcome = Welcome::none;
};

// The nodes of the plan: which of them are there, and the last reports of all, dead processes included.
class Roster {
 public:
  void plan(Role role, NodeIndex index, const std::string& name, const std::string& port);
  [[nodiscard]] Member* find(Role role, NodeIndex index);
  [[nodiscard]] const Member* find(Role role, NodeIndex index) const;
  [[nodiscard]] Member* find(const sessions::Peer& peer);
  [[nodiscard]] Member* find(const std::string& name);
  // This connection is its process' from now on; the roster knows it by its tag.
  void connected(Member& member, sessions::Peer& peer);
  // A process that another one follows, or that is gone before its final report: its last report is kept
  // apart. That of a writer with a final one is forgotten: the next process has all that it had.
  void bury(Member& member);
  // The process was not gone: its last report, which the coming ones go on from, is taken out again.
  void unbury(const Member& member);
  // Last words that an earlier process of the supervisor took.
  void recall(const v1::Report& report);

  // Its last report is this one. True: the share of its port may be another one by it.
  [[nodiscard]] bool take_report(Member& member, const v1::Report& report);
  // Of each port that DCMs receive through, by those that are there and what they reported last. Costs a walk
  // over the members.
  [[nodiscard]] std::map<std::string_view, PortShare> port_shares() const;

  [[nodiscard]] bool complete() const;       // all that the run waits for are there
  [[nodiscard]] std::string absent() const;  // names, for people
  [[nodiscard]] bool all_final() const;      // all nodes that are there have given their final reports
  [[nodiscard]] bool is_one_away() const;    // one that was there is not, and has not given it
  [[nodiscard]] std::vector<Member>& members() { return members_; }
  [[nodiscard]] const std::vector<Member>& members() const { return members_; }
  [[nodiscard]] const std::vector<v1::Report>& buried() const { return buried_; }
  // Of the last reports of all, dead processes included.
  [[nodiscard]] reports::FragmentTotals totals() const;
  // Members that were looked at to find one, or to sum up ports: what that has cost.
  [[nodiscard]] std::uint64_t steps() const { return steps_; }

 private:
  [[nodiscard]] std::uint32_t place_of(Role role, NodeIndex index) const;
  void keep(const v1::Report& report);
  void count_buried();

  static constexpr std::uint32_t kNoPlace = UINT32_MAX;
  static constexpr std::size_t kRoles = static_cast<std::size_t>(Role::trigger) + 1;

  std::vector<Member> members_;
  std::array<std::vector<std::uint32_t>, kRoles> places_;  // in members_, by role and index
  std::map<std::string, std::uint32_t> by_name_;           // likewise
  mutable std::uint64_t steps_ = 0;
  std::vector<v1::Report> buried_;  // bounded: further ones count in the totals alone
  reports::FragmentTotals buried_totals_;
  reports::FragmentTotals beyond_totals_;  // of those that buried_ has no room for
};

// What the processes counted, as the ledger takes it. Reports of dead processes are lower bounds; those of
// dead writers are left out.
struct LedgerInput {
  std::vector<assignment::DcmLedger> dcms;
  std::vector<assignment::WriterLedger> writers;
  std::vector<assignment::ReadoutLedger> readouts;
};
[[nodiscard]] LedgerInput ledger_input(const Roster& roster);

}  // namespace weir::supervisor
