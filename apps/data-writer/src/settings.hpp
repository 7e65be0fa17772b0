#pragma once

#include <weir/node/setup.hpp>
#include <weir/storage/run_store.hpp>

#include <cstdint>
#include <string>

namespace weir::writer {

// Converts the farm file's words to the store's types.
[[nodiscard]] storage::RunStoreConfig store_config(const node::Setup& setup, std::uint32_t first_sequence);
// Returns the begin-of-run record that each run file contains: the whole farm as YAML, with every key.
// Requires: `setup` is of make_setup().
[[nodiscard]] std::string begin_of_run_record(const node::Setup& setup);

// Returns the bytes of alerts' records that may be in transit to this writer: a quarter of the share for
// slices.
[[nodiscard]] std::uint64_t burst_grant_bytes(const v1::Farm& farm);

}  // namespace weir::writer
