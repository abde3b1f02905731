//! `errors.csv`: what went wrong with records and batches.

use std::path::PathBuf;

use super::replace::replace_table;
use super::{cell, millis};
use crate::record::error::Result;
use crate::record::error_sums::{ErrorKey, ErrorLedger, ErrorSum};
use crate::record::fact::Stamped;

pub(super) const COLUMNS: &str = "group,kind,code,count,first_ms,last_ms,text";

#[derive(Debug)]
pub(super) struct ErrorsFile {
    path: PathBuf,
    errors: ErrorLedger,
    changed: bool,
}

impl ErrorsFile {
    pub(super) fn create(path: PathBuf) -> Result<Self> {
        let mut file = Self { path, errors: ErrorLedger::default(), changed: true };
        file.flush()?;
        Ok(file)
    }

    pub(super) fn fold(&mut self, stamped: &Stamped) {
        self.changed |= self.errors.fold(stamped);
    }

    pub(super) fn flush(&mut self) -> Result<()> {
        if self.changed {
            replace_table(&self.path, COLUMNS, self.errors.sums().map(cells))?;
            self.changed = false;
        }
        Ok(())
    }
}

fn cells((key, sum): (&ErrorKey, &ErrorSum)) -> [String; 7] {
    [
        key.group.clone(),
        key.kind.clone(),
        cell(key.code),
        sum.count.to_string(),
        millis(sum.first_us).to_string(),
        millis(sum.last_us).to_string(),
        sum.text.clone(),
    ]
}
