#pragma once

#include "run_course.hpp"
#include <weir/assignment/reasons.hpp>

#include <cstddef>
#include <string>

namespace weir::dcm {

// What a DCM has to do at present, as far as it tells why its credits stay out.
struct Workload {
  std::size_t held_back = 0;    // slices whose decision waits for writers
  std::size_t with_filter = 0;  // slices that are with the processing units, or wait for them
  std::size_t units = 0;        // processing units
  std::size_t credits = 0;
  std::size_t bytes_used = 0;  // of the memory
  std::size_t bytes_total = 0;
};

// What keeps its credits from coming back; Reason::none: nothing does.
[[nodiscard]] assignment::Reason what_holds_up(const Workload& load);
// For people: "ready", "running", "blocked: …", "ending".
[[nodiscard]] std::string status_of(const RunCourse& course, const Workload& load, const std::string& name);

}  // namespace weir::dcm
