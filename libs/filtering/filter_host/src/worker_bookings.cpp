#include <weir/filter_host/worker_bookings.hpp>

namespace weir::filter_host {
namespace {

void put_axis(const histograms::BinnedAxis& from, v1::WorkerMessage::Axis& to) {
  to.set_bins(from.bins);
  to.set_low(from.low);
  to.set_high(from.high);
}

}  // namespace

void put_bookings(const histograms::Layout& booked, v1::WorkerMessage::Ready& ready) {
  for (const histograms::Booked& one : booked.all()) {
    v1::WorkerMessage::Booking& to = *ready.add_histograms();
    to.set_name(one.booking.name);
    to.set_kind(static_cast<std::uint32_t>(one.booking.kind));
    put_axis(one.booking.x, *to.mutable_x());
    if (one.booking.has_y()) put_axis(one.booking.y, *to.mutable_y());
  }
}

}  // namespace weir::filter_host
