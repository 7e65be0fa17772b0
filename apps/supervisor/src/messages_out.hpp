#pragma once

#include "roster.hpp"
#include <weir/assignment/actions.hpp>
#include <weir/slice_rows/destinations.hpp>
#include <weir/v1/control.pb.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <span>

namespace weir::supervisor {

// Converts the machine's actions to messages; columns of zeros are omitted. Pure.

// Maximum rows and payload bytes of one message: bounds the memory of a receiver.
constexpr int kRowsMax = 16384;
constexpr std::size_t kPayloadBytesMax = 1U << 20;

using SendMessage = std::function<void(const v1::Control&)>;

// Appends announcements to `out`, which reuses the memory of its columns. `again`: for a readout that may
// have received them. `utc_ns`: the present time, in push runs.
void each_announcement(std::span<const assignment::Announcement> announcements, bool again,
                       std::optional<UtcNs> utc_ns, v1::Control& out, const SendMessage& send);
// Sends one DCM's assignments with their payloads from `actions`; `with_order`: ids may descend, or readouts
// were absent.
void each_assignment(std::span<const assignment::Assignment> assignments, const assignment::Actions& actions,
                     bool with_order, v1::Control& out, const SendMessage& send);
void put_confirmations(std::span<const assignment::Confirmation> rows, v1::Confirm& out);
// For readouts. with_stored: also lists the stored ones.
void put_cleared(std::span<const assignment::Cleared> rows, bool with_stored, v1::ClearSlices& out);
// For writers, which also receive put_copies() about their own copies.
void put_settled(std::span<const assignment::Cleared> rows, v1::Settled& out);
void put_copies(std::span<const assignment::CopyNotice> copies, NodeIndex writer, v1::Settled& out);
[[nodiscard]] v1::Control destinations(const slice_rows::DestinationTable& table);
// Where DCMs find readouts and writers. `remote`: for DCMs of remote groups, which connect to announced
// addresses.
[[nodiscard]] v1::Control directory(const Roster& roster, bool remote);

}  // namespace weir::supervisor
