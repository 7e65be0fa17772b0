#pragma once

#include <weir/node/node.hpp>
#include <weir/node/setup.hpp>
#include <weir/ports/clock.hpp>
#include <weir/ports/network.hpp>
#include <weir/supervisor/journal_store.hpp>

#include <functional>
#include <memory>
#include <string>

namespace weir::supervisor {

// What the node needs of the outside.
struct Environment {
  ports::Network& network;
  ports::Clock& clock;
  // Told once, when the supervisor listens: where nodes reach it, and where triggers are taken (port 0:
  // nowhere).
  std::function<void(const ports::Endpoint& nodes, const ports::Endpoint& triggers)> listening;
  std::function<ports::StreamCounters()> stream_totals;
  // Without, the run ends with this process. Outlives the node.
  JournalStore* journal = nullptr;
  // Whose run it is: a journal with another claim is another run's.
  std::uint64_t claim = 0;
  // Called when the run is about to begin; may be none. Why it must not, a sentence; empty: it may.
  std::function<std::string()> begin = {};
};

// The supervisor: begins the run when every node of the plan is there, makes triggers, hands out slices,
// takes decisions, clears, drains, and reconciles the ledger. When the journal has a run of this number that
// is not over, it goes on with that one. Throws std::runtime_error with a sentence.
[[nodiscard]] std::unique_ptr<node::Node> make_node(const node::Setup& setup, Environment environment);

}  // namespace weir::supervisor
