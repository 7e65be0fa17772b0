#pragma once

#include <weir/slice_rows/absences.hpp>
#include <weir/v1/control.pb.h>

#include <vector>

// Absences: conversion between the message and the table.
namespace weir::node {

void put_absences(const std::vector<slice_rows::AbsenceRange>& ranges, v1::Absences& out);
// Returns the ranges in the message, without further checks.
[[nodiscard]] std::vector<slice_rows::AbsenceRange> ranges_of(const v1::Absences& message);

}  // namespace weir::node
