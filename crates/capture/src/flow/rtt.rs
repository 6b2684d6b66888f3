//! Round-trip times of one part of the path, in nanoseconds.

#[derive(Clone, Copy, Debug, Default)]
pub struct Rtt {
    /// Of the handshake and of data.
    pub min_ns: Option<i64>,
    /// Of data alone.
    pub min_of_data_ns: Option<i64>,
    pub samples: u64,
    smoothed_ns: Option<i64>,
    sum_ns: i64,
    in_bin: i64,
    last_mean_ns: Option<i64>,
}

impl Rtt {
    pub fn sample(&mut self, ns: i64) {
        let ns = ns.max(0);
        self.samples += 1;
        self.min_ns = Some(self.min_ns.map_or(ns, |min| min.min(ns)));
        self.min_of_data_ns = Some(self.min_of_data_ns.map_or(ns, |min| min.min(ns)));
        self.smoothed_ns = Some(
            self.smoothed_ns
                .map_or(ns, |smoothed| smoothed + (ns - smoothed) / 8),
        );
        self.sum_ns = self.sum_ns.saturating_add(ns);
        self.in_bin += 1;
    }

    /// The handshake's: for a flow that gives no samples of its own.
    pub fn hint(&mut self, ns: i64) {
        if self.samples == 0 {
            self.min_ns = Some(ns.max(0));
            self.smoothed_ns = self.min_ns;
            self.last_mean_ns = self.min_ns;
        }
    }

    pub fn smoothed_ns(&self) -> i64 {
        self.smoothed_ns.unwrap_or(0)
    }

    /// Mean of the bin that ends; of a bin without samples, that of the last one that had some.
    pub fn end_bin(&mut self) -> Option<i64> {
        if self.in_bin > 0 {
            self.last_mean_ns = Some(self.sum_ns / self.in_bin);
            self.sum_ns = 0;
            self.in_bin = 0;
        }
        self.last_mean_ns
    }
}
