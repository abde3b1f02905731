//! What the benchmark `snapshot_swap` writes and the page of results reads: the file, its rows, and the names in them. Shared, so that neither
//! side can rename what the other looks for.

use serde::{Deserialize, Serialize};

/// The file of the rows.
pub(crate) const FILE: &str = "snapshot_swap.csv";

/// This project's cell.
pub(crate) const OURS: &str = "snapshot_cell";
/// What the 10x of the bar is counted against.
pub(crate) const RW_LOCK: &str = "rwlock_arc";
/// One `arc-swap` load that nobody disturbs.
pub(crate) const UNIT: &str = "arc_swap_alone";

/// Rows of reads under swaps.
pub(crate) const READS: &str = "reads";
/// Rows of the time until all readers have read a new snapshot.
pub(crate) const SEEN: &str = "seen_by_all";
/// Rows of the time in which a reader lets go of a snapshot that nobody else holds.
pub(crate) const DROP: &str = "drop";

/// Readers of the cases.
pub(crate) const READERS: [usize; 4] = [1, 2, 4, MOST_READERS];
/// The most of them.
pub(crate) const MOST_READERS: usize = 8;
/// The most swaps a second that any case has.
pub(crate) const MOST_SWAPS_PER_SECOND: u32 = 10_000;

/// The part of the swaps asked for that must have been made.
const PART_MADE_MIN: f64 = 0.9;

/// One measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Row {
    /// [`READS`], [`SEEN`] or [`DROP`].
    pub(crate) what: String,
    /// How readers get at the snapshot.
    pub(crate) way: String,
    /// Of the snapshot.
    pub(crate) partitions: i32,
    pub(crate) readers: usize,
    /// Swaps that were asked for.
    pub(crate) swaps_per_second: u32,
    pub(crate) round: u32,
    /// CPU time per read; `None` for other figures.
    pub(crate) cpu_ns: Option<f64>,
    /// Wall time per read, or the figure's own time.
    pub(crate) wall_ns: f64,
    /// Reads, or one of another figure.
    pub(crate) count: u64,
    /// Swaps that were made while readers read.
    pub(crate) swaps: u64,
    /// The same by the time that it took; `None` for other figures.
    pub(crate) swaps_per_second_made: Option<f64>,
    /// The writer's time per swap; `None` without one.
    pub(crate) swap_ns: Option<f64>,
}

impl Row {
    /// Whether its reads were disturbed as often as was asked for, or at least nearly: what was not is no measurement of the case.
    pub(crate) fn has_its_swaps(&self) -> bool {
        let asked = f64::from(self.swaps_per_second);
        asked == 0.0 || self.swaps_per_second_made.is_some_and(|made| made >= asked * PART_MADE_MIN)
    }
}
