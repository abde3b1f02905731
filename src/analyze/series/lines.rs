//! Lines by name: the first so many, in the order in which their names came. The others are counted.

use std::collections::BTreeSet;

/// Lines that are kept.
const KEPT_MAX: usize = 12;

/// Names beyond these that are counted one by one.
const REFUSED_MAX: usize = 10_000;

/// Lines of one kind.
#[derive(Clone, Debug)]
pub(super) struct Lines<K, T> {
    lines: Vec<(K, T)>,
    refused: BTreeSet<K>,
}

impl<K, T> Default for Lines<K, T> {
    fn default() -> Self {
        Self { lines: Vec::new(), refused: BTreeSet::new() }
    }
}

impl<K: Clone + Ord, T: Default> Lines<K, T> {
    /// Gives a name its line; `None`: there is no room for it.
    pub(super) fn line(&mut self, name: &K) -> Option<&mut T> {
        match self.lines.iter().position(|(known, _)| known == name) {
            Some(at) => Some(&mut self.lines[at].1),
            None if self.lines.len() < KEPT_MAX => {
                self.lines.push((name.clone(), T::default()));
                self.lines.last_mut().map(|(_, line)| line)
            }
            None => {
                if self.refused.len() < REFUSED_MAX {
                    self.refused.insert(name.clone());
                }
                None
            }
        }
    }

    /// All lines, in the order in which their names came.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&K, &T)> {
        self.lines.iter().map(|(name, line)| (name, line))
    }

    /// All lines, in the order of names.
    pub(super) fn in_order(&self) -> Vec<(&K, &T)> {
        let mut lines: Vec<_> = self.iter().collect();
        lines.sort_by_key(|(name, _)| *name);
        lines
    }

    /// The same, to change.
    pub(super) fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.lines.iter_mut().map(|(_, line)| line)
    }

    /// Names without a line.
    pub(super) fn left_out(&self) -> u64 {
        self.refused.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_find_no_room_are_counted_once_each() {
        let mut lines = Lines::<u32, u32>::default();
        for name in (0..16).rev().chain(0..16) {
            if let Some(line) = lines.line(&name) {
                *line += 1;
            }
        }
        let names: Vec<u32> = lines.in_order().into_iter().map(|(name, _)| *name).collect();
        assert_eq!((names, lines.left_out()), ((4..16).collect(), 4));
        assert!(lines.iter().all(|(_, line)| *line == 2));
    }
}
