#pragma once

#include <weir/histograms/layout.hpp>
#include <weir/v1/worker.pb.h>

namespace weir::filter_host {

// Adds a worker's bookings to the message that reports its filter created, in the order of their cells.
void put_bookings(const histograms::Layout& booked, v1::WorkerMessage::Ready& ready);

}  // namespace weir::filter_host
