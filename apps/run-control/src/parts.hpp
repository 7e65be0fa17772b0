#pragma once

#include "event_log.hpp"
#include "farm_setup.hpp"
#include "hook_desk.hpp"
#include "members.hpp"
#include "orders.hpp"
#include "run_book.hpp"
#include "settings.hpp"
#include <weir/base/time.hpp>
#include <weir/control/disk_memory.hpp>
#include <weir/control/farm_machine.hpp>

namespace weir::run_control {

// The parts on which commands, rules and reception operate: each part keeps its own state, and `actions`
// collects the machine's actions until the end of the turn.
struct Parts {
  FarmSetup& setup;
  const OwnSettings& own;
  EventLog& log;
  RunBook& book;
  control::FarmMachine& machine;
  Members& members;
  Orders& orders;
  control::FarmActions actions = {};
  TimeNs now_ns = 0;
  control::DiskMemory disks = {};
  std::vector<control::FolderPlace> own_places = {};  // of run control
  Spaces own_spaces = {};
  HookDesk* hooks = nullptr;  // null: none
  std::string folder = {};    // of the runs' records
};

}  // namespace weir::run_control
