//! What the audit of the topics found. A part that is not known makes the whole unknown: 0 lost of what could be read is no 0.

use super::Unknown;
use super::cut::{Cut, count};
use crate::analyze::audit::remarks;
use crate::plan::model::Audited;

impl Cut<'_> {
    pub(super) fn audited(&self, what: Audited) -> Result<f64, Unknown> {
        let Some(audit) = &self.measured.findings.audit else {
            let why = self.measured.analysis.audit.skipped().unwrap_or("the run ended before that");
            return Err(Unknown::NotAudited(why.to_owned()));
        };
        let group = self.group.filter(|_| !matches!(what, Audited::Corrupt | Audited::Foreign));
        if !audit.is_complete(group) {
            return Err(Unknown::NotWhole(remarks(audit).pop().unwrap_or_default()));
        }
        let counts = audit.counts(group);
        Ok(count(match what {
            Audited::Found => counts.found,
            Audited::Lost => counts.lost,
            Audited::Duplicated => counts.duplicated,
            Audited::OutOfOrder => counts.out_of_order,
            Audited::FailedFound => counts.failed_found,
            Audited::IndeterminateFound => counts.indeterminate_found,
            Audited::Corrupt => audit.corrupt,
            Audited::Foreign => audit.foreign,
        }))
    }
}
