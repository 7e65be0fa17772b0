#pragma once

#include <string>

namespace weir::commands {

// Print the alarms of a farm file for other programs. Return the exit status.
[[nodiscard]] int print_alert_rules(const std::string& farm_file);   // Prometheus
[[nodiscard]] int print_alertmanager(const std::string& farm_file);  // its configuration

}  // namespace weir::commands
