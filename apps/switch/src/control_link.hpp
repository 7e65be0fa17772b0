#pragma once

#include <weir/base/owned_descriptor.hpp>
#include <weir/base/time.hpp>
#include <weir/bus/client.hpp>
#include <weir/config/switch_file.hpp>
#include <weir/packet_switch/packet_switch.hpp>
#include <weir/v1/bus.pb.h>

#include <optional>
#include <string>

namespace weir::switch_node {

// Adds the state of the rings, and the sums over the ports. Requires: the report is empty.
void add_counts(const switching::SwitchSettings& settings, const packet_switch::SwitchCounts& counts,
                v1::SwitchReport& report);

// A table of run control: a switch file with its checksum.
struct Table {
  std::string digest;
  config::SwitchFile file;
};

// Decides which table a switch uses, of those that run control sends. Pure.
class TableChoice {
 public:
  // Returns a table that can replace the one in use, which the caller then does with use(), or refuses. Any
  // other one is refused with its reason: a mistake in the file, or a change that needs a restart.
  [[nodiscard]] std::optional<Table> take(const v1::SwitchTable& message);
  void use(Table table);
  // Requires: another table is in use, or none.
  void refuse(const std::string& digest, std::string why);
  // Makes take() return a refused table again.
  void try_again() { refused_digest_.clear(); }

  // The table in use, if there is one.
  [[nodiscard]] const std::optional<Table>& table() const { return table_; }
  // Returns why the last table is not in use; empty: it is.
  [[nodiscard]] const std::string& refused() const { return refused_; }
  // Returns why run control has no table for this switch; empty: it has one, or has not answered.
  [[nodiscard]] const std::string& unknown() const { return unknown_; }

 private:
  std::optional<Table> table_;
  std::string refused_digest_;  // of the last table that was refused
  std::string refused_;
  std::string unknown_;
};

// A switch's connection to run control, over the bus of its farm. Logs each new reason of a refusal.
class ControlLink {
 public:
  // `choice` outlives the link.
  ControlLink(bus::ClientSettings settings, std::string name, UtcNs started_ns, TableChoice& choice);

  // Returns a descriptor that is readable once a message has arrived.
  [[nodiscard]] int file() const { return arrived_.get(); }
  // Returns the latest table that has arrived and can be used.
  [[nodiscard]] std::optional<Table> take();
  // Sends a report, which asks for a table too. It replaces one that could not be sent yet.
  void send(v1::SwitchReport report);
  // Returns the run that is on, or was last; 0: none that run control has named.
  [[nodiscard]] std::uint32_t run() const { return run_; }
  // Whether run control has ever answered.
  [[nodiscard]] bool answered() const { return answered_; }

 private:
  static void note(std::string& logged, const std::string& now, const char* what);

  std::string name_;
  UtcNs started_ns_;
  TableChoice& choice_;
  bool answered_ = false;
  std::uint32_t run_ = 0;
  std::string logged_refused_;
  std::string logged_unknown_;
  std::string logged_welcome_;
  OwnedDescriptor arrived_;
  bus::Client client_;  // its thread uses arrived_
};

}  // namespace weir::switch_node
