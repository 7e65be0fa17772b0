#pragma once

#include <weir/node/setup.hpp>
#include <weir/storage/run_store.hpp>

#include <cstdint>

namespace weir::writer {

// The farm file's words as the store's.
[[nodiscard]] storage::RunStoreConfig store_config(const node::Setup& setup, std::uint32_t first_sequence);

}  // namespace weir::writer
