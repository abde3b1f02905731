//! What looking at the layers has cost.

use std::collections::BTreeMap;

use super::findings::ProbeFinding;
use crate::record::layer::ProbeSecond;

/// Seconds with CPU time, and its sum; unknown as soon as one second's is.
#[derive(Clone, Copy, Debug, Default)]
struct Cpu {
    seconds: u64,
    us: u64,
    is_unknown: bool,
}

/// Of what the probes gave up to wait for, so many are told.
const GAVE_UP_MAX: usize = 10;

/// All seconds of the probes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cost {
    is_told: bool,
    requests: BTreeMap<String, u64>,
    request_bytes: u64,
    response_bytes: u64,
    quiet: Cpu,
    fast: Cpu,
    gave_up: Vec<(i64, String)>,
}

impl Cost {
    /// Takes in a second.
    pub(crate) fn fold(&mut self, second: &ProbeSecond) {
        self.is_told = true;
        for (name, count) in &second.requests {
            match self.requests.get_mut(name) {
                Some(sum) => *sum += count,
                None => _ = self.requests.insert(name.clone(), *count),
            }
        }
        self.request_bytes += second.request_bytes;
        self.response_bytes += second.response_bytes;
        if let Some(unsettled) = second.unsettled.as_ref().filter(|_| self.gave_up.len() < GAVE_UP_MAX) {
            self.gave_up.push((second.second, unsettled.clone()));
        }
        let cpu = if second.fast_ms == 0 { &mut self.quiet } else { &mut self.fast };
        cpu.seconds += 1;
        match second.cpu_us {
            Some(us) => cpu.us += us,
            None => cpu.is_unknown = true,
        }
    }

    /// The figures; `None`: nothing looked.
    pub(crate) fn finding(&self) -> Option<ProbeFinding> {
        self.is_told.then(|| ProbeFinding {
            requests: self.requests.clone(),
            request_bytes: self.request_bytes,
            response_bytes: self.response_bytes,
            quiet_cpu_percent: self.quiet.percent(),
            fast_cpu_percent: self.fast.percent(),
            fast_seconds: self.fast.seconds,
            gave_up: self.gave_up.iter().map(|(second, what)| format!("at {second} s: {what}")).collect(),
        })
    }
}

impl Cpu {
    /// With one decimal.
    fn percent(self) -> Option<f64> {
        if self.seconds == 0 || self.is_unknown {
            return None;
        }
        // A second has 10^6 us: us / seconds / 10^4 is per cent; ten times that, rounded, is a whole number of tenths.
        let tenths = u32::try_from((self.us + self.seconds * 500) / (self.seconds * 1_000)).ok()?;
        Some(f64::from(tenths) / 10.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::fact::Fact;
    use crate::record::sample::Sample;

    #[test]
    fn cpu_is_told_apart_for_quiet_and_fast_seconds() {
        let stream = Sample::new(&[]).probes(0, 10, 20, 12_340, 0).probes(10, 12, 300, 150_000, 900);
        let mut cost = Cost::default();
        assert_eq!(cost.finding(), None);
        for stamped in &stream.facts {
            if let Fact::ProbeSecond(second) = &stamped.fact {
                cost.fold(second);
            }
        }
        let finding = cost.finding().unwrap();
        assert_eq!((finding.quiet_cpu_percent, finding.fast_cpu_percent, finding.fast_seconds), (Some(1.2), Some(15.0), 2));
        assert_eq!((finding.requests["Metadata"], finding.request_bytes, finding.response_bytes), (800, 32_000, 320_000));
        cost.fold(&ProbeSecond::default());
        assert_eq!(cost.finding().unwrap().quiet_cpu_percent, None);
    }
}
