#pragma once

namespace weir::probe {

// Exit statuses of `weir probe`.
constexpr int kFailed = 1;
constexpr int kUsage = 2;
constexpr int kUnreachable = 3;

}  // namespace weir::probe
