#pragma once

#include <weir/base/expected.hpp>
#include <weir/base/time.hpp>
#include <weir/config/alarms.hpp>
#include <weir/control/alarm_channel.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace weir::run_control {

// A message, ready for its channel.
struct AlarmLetter {
  std::uint64_t serial = 0;
  config::AlarmWay way;
  control::AlarmMessage message;
  control::AlarmScene scene;
  UtcNs utc_ns = 0;
};

// The child process that delivers a letter.
struct AlarmChild {
  std::vector<std::string> command;
  std::string input;  // on standard input: for curl its configuration, so that no argument has a secret
  std::string body;   // as descriptor 3; for curl
};

// Requires: the way is a command. Errors: none.
[[nodiscard]] AlarmChild command_child(const AlarmLetter& letter);
// `file`: contents of the channel's file (config::MailFile). Errors: a sentence.
[[nodiscard]] Expected<AlarmChild, std::string> mail_child(const AlarmLetter& letter,
                                                           const std::string& file);
// `file`: the address, and a header in each further line. Errors: a sentence.
[[nodiscard]] Expected<AlarmChild, std::string> webhook_child(const AlarmLetter& letter,
                                                              const std::string& file);
// Returns a file with a password or an address. Errors: a sentence; also where others may read it.
[[nodiscard]] Expected<std::string, std::string> read_secret(const std::string& file);

}  // namespace weir::run_control
