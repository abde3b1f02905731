//! One file as a tar archive, which is how the container engine takes files. Pure.

/// Bytes of a block.
const BLOCK: usize = 512;
/// User and group that own the file: whom the official image runs Kafka as. Another image's root reads it all the same.
const OWNER: u32 = 1000;

/// An archive with a file that its owner alone may read. `path` has at most 99 bytes.
pub(in super::super) fn tarball(path: &str, content: &[u8]) -> Vec<u8> {
    let mut header = [0_u8; BLOCK];
    put(&mut header, 0, path.as_bytes());
    put(&mut header, 100, b"0000600\0");
    put(&mut header, 108, format!("{OWNER:07o}\0").as_bytes());
    put(&mut header, 116, format!("{OWNER:07o}\0").as_bytes());
    put(&mut header, 124, format!("{:011o}\0", content.len()).as_bytes());
    put(&mut header, 136, b"00000000000\0");
    // While it is counted, the checksum's own place holds spaces.
    put(&mut header, 148, b"        ");
    put(&mut header, 156, b"0");
    put(&mut header, 257, b"ustar\x0000");
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    put(&mut header, 148, format!("{sum:06o}\0 ").as_bytes());

    let mut archive = Vec::from(header);
    archive.extend_from_slice(content);
    archive.resize(archive.len().next_multiple_of(BLOCK) + 2 * BLOCK, 0);
    archive
}

fn put(header: &mut [u8; BLOCK], at: usize, bytes: &[u8]) {
    for (place, byte) in header.iter_mut().skip(at).zip(bytes) {
        *place = *byte;
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn tar_reads_it() {
        for content in ["", "a secret\n", &"x".repeat(BLOCK), &"y".repeat(5 * BLOCK + 1)] {
            let archive = tarball("mnt/shared/config/server.properties", content.as_bytes());
            assert_eq!(archive.len() % BLOCK, 0);
            let mut tar = Command::new("tar").args(["-xOf", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
            tar.stdin.take().unwrap().write_all(&archive).unwrap();
            let output = tar.wait_with_output().unwrap();
            assert!(output.status.success());
            assert_eq!(output.stdout, content.as_bytes());
        }
    }
}
