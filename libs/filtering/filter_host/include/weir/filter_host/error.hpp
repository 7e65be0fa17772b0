#pragma once

#include <cstdint>
#include <string>

namespace weir::filter_host {

enum class FilterErrorCode : std::uint8_t {
  not_found,          // no file of this name
  not_loadable,       // no shared library, or one that the dynamic linker refuses
  no_entry_point,     // a shared library, but no filter plugin
  wrong_abi,          // a filter plugin of another ABI version
  wrong_struct_size,  // says ABI 1, but its struct is not that of ABI 1
  incomplete,         // a required function or text is null
  create_failed,      // the plugin refused its parameters
  begin_run_failed,   // the plugin refused the run
  worker_failed,      // a filter worker did not start, or said nothing
};

// Why a filter cannot be used: a sentence that names the plugin, where, and what to do.
struct FilterError {
  FilterErrorCode code{};
  std::string text;
};

}  // namespace weir::filter_host
