//! `requests.csv`: how many requests each broker has answered to each client, by the broker's own log.
//!
//! Not a fact: nobody saw it happen, it is read out of the brokers' logs when the load is over. Called by the conductor.

use std::path::Path;

use crate::cluster::SavedLog;
use crate::record::error::RecordError;
use crate::record::files::replace;

/// The file's name, in the run's folder.
pub(super) const REQUESTS: &str = "requests.csv";

const COLUMNS: [&str; 4] = ["node", "client", "request", "count"];

/// Writes the table. `Ok(false)`: there is none, because a node's requests cannot be counted, and those of the others would be too few.
///
/// # Errors
/// If it cannot be written.
pub(super) fn write(path: &Path, logs: &[SavedLog]) -> Result<bool, RecordError> {
    let Some(counts) = logs.iter().map(|log| Some((log.node, log.requests.as_ref()?))).collect::<Option<Vec<_>>>() else {
        return Ok(false);
    };
    let csv_error = |source| RecordError::Csv { path: path.to_path_buf(), source };
    let mut table = csv::Writer::from_writer(Vec::new());
    table.write_record(COLUMNS).map_err(csv_error)?;
    for (node, requests) in counts {
        for ((client, request), count) in requests {
            table.write_record([&node.to_string(), client, request, &count.to_string()]).map_err(csv_error)?;
        }
    }
    let content = table.into_inner().map_err(|error| RecordError::io("write", path)(error.into_error()))?;
    replace(path, &content)?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::RequestCounts;
    use crate::ids::BrokerId;

    fn log(node: i32, requests: Option<RequestCounts>) -> SavedLog {
        SavedLog { node: BrokerId(node), path: format!("broker-{node}.log").into(), bytes_cut: 0, requests }
    }

    #[test]
    fn every_count_has_a_row_and_one_lost_count_leaves_no_table() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(REQUESTS);
        let counts = || Some(RequestCounts::from([(("a-0".to_owned(), "METADATA".to_owned()), 3)]));
        assert!(!write(&path, &[log(1, counts()), log(2, None)]).unwrap());
        assert!(!path.exists());
        assert!(write(&path, &[log(1, counts()), log(2, Some(RequestCounts::new()))]).unwrap());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "node,client,request,count\n1,a-0,METADATA,3\n");
    }
}
