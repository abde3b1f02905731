//! In which order the runs of a comparison are made. Pure.
//!
//! Rounds: each runs every cell once, in an order drawn for it, so that what drifts on the machine meets all cells alike (randomised complete
//! blocks). Before the first round and after the last one the first cell is run once more, as a control: if these two disagree with its other
//! runs, something drifted.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha12Rng;
use serde::{Deserialize, Serialize};

/// What a run is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// The first cell once more, to show drift.
    Control,
    /// One of its cell's repeats, in this round, from 1.
    Round(u32),
}

/// A run that is to be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slot {
    /// Its place in the order, from 1.
    pub(super) number: u32,
    /// Which cell, from 0.
    pub(super) cell: usize,
    /// What for.
    pub(super) role: Role,
}

/// The runs of so many cells, in order. A single cell has no controls: it is not compared with anything. The rounds of a seed do not depend
/// on how many there are.
pub(super) fn order(cells: usize, repeats: u32, seed: u64) -> Vec<Slot> {
    let control = (cells > 1).then_some((0, Role::Control));
    let rounds = (1..=repeats).flat_map(|round| shuffled(cells, round, seed).into_iter().map(move |cell| (cell, Role::Round(round))));
    let all = control.into_iter().chain(rounds).chain(control);
    (1..).zip(all).map(|(number, (cell, role))| Slot { number, cell, role }).collect()
}

/// The cells in an order of their own for each round.
fn shuffled(cells: usize, round: u32, seed: u64) -> Vec<usize> {
    let mut rng = ChaCha12Rng::seed_from_u64(seed);
    rng.set_stream(u64::from(round));
    let mut order: Vec<usize> = (0..cells).collect();
    for last in (1..cells).rev() {
        order.swap(last, rng.random_range(0..=last));
    }
    order
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;

    fn cells_of(slots: &[Slot], role: Role) -> Vec<usize> {
        slots.iter().filter(|slot| slot.role == role).map(|slot| slot.cell).collect()
    }

    #[test]
    fn each_round_has_every_cell_once_between_two_controls() {
        let slots = order(5, 3, 7);
        assert_eq!(slots.iter().map(|slot| slot.number).collect::<Vec<_>>(), (1..=17).collect::<Vec<_>>());
        assert_eq!((slots[0].role, slots[16].role), (Role::Control, Role::Control));
        assert_eq!(cells_of(&slots, Role::Control), [0, 0]);
        for round in 1..=3 {
            let cells = cells_of(&slots, Role::Round(round));
            assert_eq!(cells.iter().copied().collect::<BTreeSet<_>>(), (0..5).collect(), "{cells:?}");
        }
    }

    #[test]
    fn the_order_is_that_of_the_seed_and_a_round_stays_as_it_is() {
        assert_eq!(order(5, 3, 7), order(5, 3, 7));
        assert_ne!(order(5, 3, 7), order(5, 3, 8));
        assert_eq!(order(5, 3, 7)[..16], order(5, 9, 7)[..16]);
        let orders: BTreeSet<Vec<usize>> = (1..=9).map(|round| shuffled(5, round, 7)).collect();
        assert!(orders.len() > 5, "{orders:?}");
    }

    #[test]
    fn every_cell_comes_first_about_as_often_as_any_other() {
        let mut firsts = BTreeMap::new();
        for seed in 0..3_000 {
            *firsts.entry(shuffled(3, 1, seed)[0]).or_insert(0) += 1;
        }
        assert!(firsts.len() == 3 && firsts.values().all(|count| (900..1_100).contains(count)), "{firsts:?}");
    }

    #[test]
    fn a_single_cell_has_no_controls() {
        assert_eq!(order(1, 2, 7).iter().map(|slot| slot.role).collect::<Vec<_>>(), [Role::Round(1), Role::Round(2)]);
    }
}
