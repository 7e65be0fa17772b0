#pragma once

#include "parts.hpp"
#include "rule_watch.hpp"
#include <weir/control/states.hpp>
#include <weir/v1/bus.pb.h>

#include <optional>
#include <string>
#include <vector>

namespace weir::run_control {

// Carries out requests of operators and rules. Errors are messages; empty: in progress, or done.
class Commands final : public RuleActions {
 public:
  explicit Commands(Parts& parts) : parts_(parts) {}

  // An operator's request, except for mere queries.
  [[nodiscard]] std::string carry_out(const v1::Request& request);

  [[nodiscard]] std::string transition(control::Command command, const v1::Request& request) override;
  [[nodiscard]] std::string readmit(std::size_t member) override;
  [[nodiscard]] std::string restart(std::size_t member, const std::string& why) override;
  // Returns the parts of a run that would start now, or which of them differ between processes.
  [[nodiscard]] Expected<v1::RunIdentity, std::string> identity() const;
  [[nodiscard]] RunNumber run() const override { return parts_.machine.run(); }

  // Of the last try_settings: the changes that `configure` would make, a key a line; empty: none. Of the last
  // form: its keys, in JSON.
  [[nodiscard]] const std::string& tried() const { return tried_; }

  // The end of a transition's hooks.
  struct Answered {
    std::string error;  // a refusal by a hook, or a later one; empty: the transition is in progress
  };
  // Each turn: continues a transition that its hooks have allowed, or ends it.
  [[nodiscard]] std::optional<Answered> look_at_hooks();

 private:
  // Carries out a transition that no hook has to allow any more.
  [[nodiscard]] std::string proceed(control::Command command, const v1::Request& request);
  // Asks the hooks before the transition. Returns false: none exists, or the transition is not possible now.
  [[nodiscard]] bool asks_hooks(control::Command command, const v1::Request& request);
  [[nodiscard]] std::string set(const v1::Request& request);
  [[nodiscard]] std::string unset(const v1::Request& request);
  [[nodiscard]] std::string read_switches(const v1::Request& request);
  [[nodiscard]] std::string try_settings(const v1::Request& request);
  [[nodiscard]] std::string form();
  void note_keys(const char* what, const v1::Request& request) const;
  [[nodiscard]] std::string restart(const v1::Request& request);
  [[nodiscard]] std::string configure(const v1::Request& request);
  // Returns which folders miss their disk, unless the request accepts that.
  [[nodiscard]] std::string missing_disk(const v1::Request& request) const;
  [[nodiscard]] std::string start(const v1::Request& request);
  // Returns why an operator may not start a run with these fields; empty: allowed.
  [[nodiscard]] std::string refused_fields(const v1::Request& request) const;
  [[nodiscard]] std::string annotate(const v1::Request& request);
  // Returns why these may not be removed without confirmation; empty if others of their kind remain.
  [[nodiscard]] std::string last_of_its_kind(const std::vector<std::size_t>& away) const;
  [[nodiscard]] std::string change_farm(const v1::Request& request, bool away);
  [[nodiscard]] std::string burst(const v1::Request& request);
  [[nodiscard]] std::string log_level(const v1::Request& request);
  // Finds members by name. The error lists names that are not in the farm.
  [[nodiscard]] Expected<std::vector<std::size_t>, std::string> named(const v1::Request& request) const;

  Parts& parts_;
  v1::Request asked_;                 // the request whose hooks are asked
  std::optional<Answered> given_up_;  // by another command
  std::string tried_;
};

}  // namespace weir::run_control
