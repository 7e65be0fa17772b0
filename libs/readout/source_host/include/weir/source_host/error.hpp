#pragma once

#include <cstdint>
#include <string>

namespace weir::source_host {

enum class SourceErrorCode : std::uint8_t {
  not_found,          // no file of this name
  not_loadable,       // not a shared library, or refused by the dynamic linker
  no_entry_point,     // a shared library, but not a source plugin
  wrong_abi,          // a source plugin of another ABI version
  wrong_struct_size,  // claims ABI 1, but has another struct size
  incomplete,         // a required function or text is null
  create_failed,      // the plugin refused its parameters
  begin_run_failed,   // the plugin refused the run
};

// Why a source cannot be used: a sentence with the plugin's name, the place, and the remedy.
struct SourceError {
  SourceErrorCode code{};
  std::string text;
};

}  // namespace weir::source_host
