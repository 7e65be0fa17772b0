#pragma once

#include <weir/node/node.hpp>
#include <weir/node/setup.hpp>
#include <weir/ports/clock.hpp>
#include <weir/ports/datagrams.hpp>
#include <weir/ports/network.hpp>
#include <weir/supervisor/journal_store.hpp>

#include <functional>
#include <memory>
#include <string>

namespace weir::supervisor {

// The node's environment.
struct SupervisorEnvironment {
  ports::Network& network;
  ports::Clock& clock;
  // Called once, when the supervisor listens, with the addresses for nodes, for triggers, and for triggers as
  // lines of text (port 0: not accepted).
  std::function<void(const ports::Endpoint& nodes, const ports::Endpoint& triggers,
                     const ports::Endpoint& text)>
      listening;
  std::function<ports::StreamCounters()> stream_totals;
  // Without, the run ends with this process. Outlives the node.
  JournalStore* journal = nullptr;
  // Identifies the run: a journal with another claim belongs to another run.
  std::uint64_t claim = 0;
  // Called when the run is about to begin; may be empty. Returns the reason why it must not begin; empty if
  // it may.
  std::function<std::string()> begin = {};
  // Opens the UDP socket of trigger.listen_text; empty: TCP alone.
  ports::OpenDatagrams datagrams = {};
};

// Makes the supervisor: begins the run when every node of the plan has joined, makes triggers, assigns
// slices, takes decisions, clears, drains, and reconciles the ledger. If the journal contains an unfinished
// run of this number, it resumes that run. Errors: std::runtime_error with a message.
[[nodiscard]] std::unique_ptr<node::Node> make_node(const node::Setup& setup,
                                                    SupervisorEnvironment environment);

// For tests, after a pass of a node made by make_node(): returns the first part of its state that its journal
// lacks, or an empty string. Requires: the journal can be read at any time.
[[nodiscard]] std::string journal_lacks(const node::Node& node);

}  // namespace weir::supervisor
