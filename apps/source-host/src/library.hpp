// Functions that weir_daq.source_host calls through ctypes. Nothing is thrown through them.
#pragma once

#include <weir/weir_source.h>

#include <cstdint>

extern "C" {

// Maps the lane, follows the parent's end. Returns the longest fragment's bytes; 0: the process was not
// started by a readout.
WEIR_SOURCE_EXPORT std::uint64_t weir_source_host_open(void);
// Writes up to `count` requests (weir::source_host::LaneRequest) and returns their number, after
// `patience_ms` at the latest. Those that it returned before are done. In a forked child it exits.
WEIR_SOURCE_EXPORT std::uint32_t weir_source_host_take(void* requests, std::uint32_t count,
                                                       std::int32_t patience_ms);
// Sends a record (weir::source_host::RecordKind); `stamp` (weir::source_host::LaneStamp): null, or that of
// the fragment. Waits for room. Returns 0, 1 (too long) or 2 (a forked child).
WEIR_SOURCE_EXPORT std::int32_t weir_source_host_send(std::uint32_t kind, std::uint32_t source,
                                                      std::uint64_t slice, std::uint32_t status,
                                                      const void* data, std::uint64_t length,
                                                      const void* stamp);
// Sends fragments of one source. Their bytes follow each other in `data`. `stamps`: null, or one for each.
// Returns as weir_source_host_send().
WEIR_SOURCE_EXPORT std::int32_t weir_source_host_send_many(std::uint32_t source, const std::uint64_t* slices,
                                                           const std::uint32_t* lengths, std::uint32_t count,
                                                           const void* data, std::uint64_t length,
                                                           const void* stamps);
}
