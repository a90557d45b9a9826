// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! A test in a process of its own. It sets rlock up in its own way, forks, or closes
//! what is not its own.

use std::process::Command;

/// Runs `body` in a process that runs nothing else. `name`: the test's path.
pub(crate) fn alone(name: &str, body: impl FnOnce()) {
    const CHILD: &str = "RLOCK_TEST_ALONE";
    if std::env::var(CHILD).is_ok_and(|child| child == name) {
        body();
        return;
    }
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture", "--test-threads=1"])
        .env(CHILD, name)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && said.contains("1 passed"),
        "{}: {said}{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
}
