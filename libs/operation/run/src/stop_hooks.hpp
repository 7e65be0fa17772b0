#pragma once

#include <weir/control/hooks.hpp>
#include <weir/hooks/hook_job.hpp>
#include <weir/v1/bus.pb.h>

#include <cstdio>
#include <string>
#include <vector>

namespace weir::run {

// Executes those of the farm's hooks that are `after-stop`, after the one run of `weir run`, and waits for
// them: each has its limit, and SIGINT, SIGTERM or SIGHUP end all of them. Prints those that fail on `err`,
// and those that take long on `out`; null: they are not printed. `sets`: key=value besides the farm file.
// `line`: the run's entry in runs.jsonl. Requires: the run's records are written.
void inform_stop_hooks(std::vector<control::Hook> all, hooks::TransitionFacts facts,
                       const std::vector<std::string>& sets, const v1::FarmView::Run& line, std::FILE* out,
                       std::FILE* err);

}  // namespace weir::run
