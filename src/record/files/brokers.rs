//! `brokers.csv`: what the nodes used, one row per second and node.

use std::path::PathBuf;

use super::append::CsvFile;
use super::cell;
use crate::record::error::Result;
use crate::record::node::NodeSecond;

pub(super) const COLUMNS: &str = "second,node,cpu_ms,memory_bytes,network_in_bytes,network_out_bytes,under_replicated_partitions";

#[derive(Debug)]
pub(super) struct BrokersFile {
    table: CsvFile,
}

impl BrokersFile {
    pub(super) fn create(path: PathBuf) -> Result<Self> {
        Ok(Self { table: CsvFile::create(path, COLUMNS)? })
    }

    pub(super) fn write(&mut self, second: &NodeSecond) -> Result<()> {
        self.table.row([
            second.second.to_string(),
            second.node.to_string(),
            cell(second.cpu_ms),
            cell(second.memory_bytes),
            cell(second.network_in_bytes),
            cell(second.network_out_bytes),
            cell(second.under_replicated_partitions),
        ])
    }

    pub(super) fn flush(&mut self) -> Result<()> {
        self.table.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::BrokerId;

    #[test]
    fn a_node_that_is_down_has_empty_cells() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("brokers.csv");
        let mut file = BrokersFile::create(path.clone()).unwrap();
        let mut second = NodeSecond {
            second: 3,
            node: BrokerId(1),
            cpu_ms: Some(240),
            memory_bytes: Some(340_000_000),
            network_in_bytes: Some(9_000),
            network_out_bytes: Some(12_000),
            under_replicated_partitions: Some(2),
        };
        file.write(&second).unwrap();
        second = NodeSecond {
            node: BrokerId(2),
            cpu_ms: None,
            memory_bytes: None,
            network_in_bytes: None,
            network_out_bytes: None,
            under_replicated_partitions: Some(0),
            ..second
        };
        file.write(&second).unwrap();
        file.flush().unwrap();
        let text = std::fs::read_to_string(path).unwrap();
        let rows: Vec<_> = text.lines().skip(1).collect();
        assert_eq!(rows, ["3,1,240,340000000,9000,12000,2", "3,2,,,,,0"]);
    }
}
