//! A figure that is made of parts: unknown as soon as one part is.

/// A sum (or another fold) over parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Known<T>(Option<T>);

impl<T: Default> Default for Known<T> {
    /// Of no parts.
    fn default() -> Self {
        Self(Some(T::default()))
    }
}

impl<T> Known<T> {
    /// Takes a part in; `None`: it is unknown, and so is the whole from now on.
    pub(crate) fn add<P>(&mut self, part: Option<P>, take: impl FnOnce(&mut T, P)) {
        match (self.0.as_mut(), part) {
            (Some(whole), Some(part)) => take(whole, part),
            _ => self.0 = None,
        }
    }

    /// The whole; `None`: unknown.
    pub(crate) fn get(&self) -> Option<&T> {
        self.0.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_unknown_part_makes_the_whole_unknown() {
        let sum = |parts: &[Option<u64>]| {
            let mut sum = Known::<u64>::default();
            parts.iter().for_each(|part| sum.add(*part, |sum, part| *sum += part));
            sum.get().copied()
        };
        assert_eq!((sum(&[]), sum(&[Some(1), Some(2)])), (Some(0), Some(3)));
        assert_eq!((sum(&[Some(1), None]), sum(&[None, Some(2)])), (None, None));
    }
}
