//! Who owns a cluster: the `chaos` process that started it, told apart from a later process with the same pid.
//!
//! Written into labels at creation, read back by the janitor. Not a lock: it only answers whether the owner still lives.

use std::fs;
use std::path::Path;

/// A process of one machine, by pid and by the time it started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// Its pid.
    pub pid: u32,
    /// Field 22 of `/proc/PID/stat`: its start, in ticks since the machine's. 0 where there is no /proc.
    pub start_ticks: u64,
    /// Where the pid means something.
    pub place: Place,
}

/// Where a pid means something: a boot of a machine and a pid namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Host name.
    pub host: String,
    /// The kernel's id of this boot; empty where there is none.
    pub boot: String,
    /// The pid namespace; empty where there is none.
    pub namespace: String,
}

/// Whether an owner still lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Liveness {
    /// It runs.
    Alive,
    /// It has ended.
    Dead,
    /// It cannot be seen from here: another machine, another pid namespace, or a system without /proc.
    Unknown,
}

impl Owner {
    /// This process.
    #[must_use]
    pub fn current() -> Self {
        let pid = std::process::id();
        Self { pid, start_ticks: start_ticks(Path::new("/proc"), pid).unwrap_or(0), place: Place::current() }
    }

    /// Whether this owner still lives, seen from this process.
    #[must_use]
    pub fn liveness(&self) -> Liveness {
        self.liveness_from(&Place::current(), Path::new("/proc"))
    }

    fn liveness_from(&self, here: &Place, proc: &Path) -> Liveness {
        if here.boot.is_empty() || self.place.boot.is_empty() || self.start_ticks == 0 {
            return Liveness::Unknown;
        }
        if self.place.boot != here.boot {
            // The same machine after a reboot: every process of before is gone.
            return if self.place.host == here.host { Liveness::Dead } else { Liveness::Unknown };
        }
        if self.place.namespace != here.namespace {
            return Liveness::Unknown;
        }
        match start_ticks(proc, self.pid) {
            Some(ticks) if ticks == self.start_ticks => Liveness::Alive,
            Some(_) | None => Liveness::Dead,
        }
    }
}

impl Place {
    /// This machine, boot and namespace.
    #[must_use]
    pub fn current() -> Self {
        let line = |path: &str| fs::read_to_string(path).map(|text| text.trim().to_owned()).unwrap_or_default();
        let namespace = fs::read_link("/proc/self/ns/pid").map(|link| link.to_string_lossy().into_owned()).unwrap_or_default();
        Self { host: line("/proc/sys/kernel/hostname"), boot: line("/proc/sys/kernel/random/boot_id"), namespace }
    }

    /// As a label's value.
    #[must_use]
    pub fn to_label(&self) -> String {
        format!("{} {} {}", self.host, self.boot, self.namespace)
    }

    /// From a label's value; `None` if it is not one.
    #[must_use]
    pub fn from_label(value: &str) -> Option<Self> {
        let mut words = value.split(' ').map(str::to_owned);
        let place = Self { host: words.next()?, boot: words.next()?, namespace: words.next()? };
        words.next().is_none().then_some(place)
    }
}

/// When a process started; `None` if there is none, or if it is dead and only waits to be reaped.
fn start_ticks(proc: &Path, pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(proc.join(pid.to_string()).join("stat")).ok()?;
    // The second field is the program's name in brackets, which may itself hold blanks and brackets.
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace();
    let state = fields.next()?;
    if matches!(state, "Z" | "X" | "x") {
        return None;
    }
    // `state` was field 3, so field 22 is 18 further on after it.
    fields.nth(18)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(host: &str, boot: &str, namespace: &str) -> Place {
        Place { host: host.into(), boot: boot.into(), namespace: namespace.into() }
    }

    fn proc_with(pid: u32, name: &str, state: &str, ticks: u64) -> tempfile::TempDir {
        let proc = tempfile::tempdir().unwrap();
        fs::create_dir(proc.path().join(pid.to_string())).unwrap();
        let before: String = (4..22).map(|field| format!("{field} ")).collect();
        fs::write(proc.path().join(pid.to_string()).join("stat"), format!("{pid} ({name}) {state} {before}{ticks} 0 0\n")).unwrap();
        proc
    }

    #[test]
    fn an_owner_is_told_by_pid_start_and_place() {
        let here = place("machine", "boot-1", "pid:[1]");
        let owner = |place: Place| Owner { pid: 77, start_ticks: 5000, place };
        let cases = [
            ("runs", owner(here.clone()), proc_with(77, "chaos", "S", 5000), Liveness::Alive),
            ("name with brackets", owner(here.clone()), proc_with(77, "cha) S (os", "R", 5000), Liveness::Alive),
            ("pid used again", owner(here.clone()), proc_with(77, "other", "S", 9000), Liveness::Dead),
            ("pid gone", owner(here.clone()), proc_with(78, "other", "S", 5000), Liveness::Dead),
            ("dead, not yet reaped", owner(here.clone()), proc_with(77, "chaos", "Z", 5000), Liveness::Dead),
            ("before a reboot", owner(place("machine", "boot-0", "pid:[1]")), proc_with(77, "chaos", "S", 5000), Liveness::Dead),
            ("another machine", owner(place("other", "boot-9", "pid:[1]")), proc_with(77, "chaos", "S", 5000), Liveness::Unknown),
            ("another namespace", owner(place("box", "boot-1", "pid:[2]")), proc_with(77, "chaos", "S", 5000), Liveness::Unknown),
            ("no start known", Owner { pid: 77, start_ticks: 0, place: here.clone() }, proc_with(1, "x", "S", 1), Liveness::Unknown),
        ];
        for (name, owner, proc, expected) in cases {
            assert_eq!(owner.liveness_from(&here, proc.path()), expected, "{name}");
        }
    }

    #[test]
    fn this_process_is_alive() {
        assert_eq!(Owner::current().liveness(), Liveness::Alive);
    }

    #[test]
    fn a_place_survives_its_label() {
        let here = Place::current();
        assert_eq!(Place::from_label(&here.to_label()), Some(here));
        assert_eq!(Place::from_label("one two"), None);
        assert_eq!(Place::from_label("one two three four"), None);
    }
}
