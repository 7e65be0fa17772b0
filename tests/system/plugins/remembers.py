"""Two steps in batches: accepts slices if it remembers their first step, and fails otherwise."""

from weir_daq.filters import accept, need_all


class Filter:
    first_sources = (1,)

    def process_many(self, slices):
        return [self.decide(one) for one in slices]

    def decide(self, slice):
        if slice.step == 0:
            slice.remember(slice.id)
            return need_all()
        if slice.remembered != slice.id:
            raise ValueError(f"slice {slice.id} remembers {slice.remembered}")
        return accept(result=str(slice.remembered).encode())
