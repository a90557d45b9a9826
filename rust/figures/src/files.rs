// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Files that are whole or not there.

use std::fs;
use std::path::Path;

/// Writes a file beside its place, and puts it there when it is whole.
///
/// # Errors
/// One line that names the file, and why it cannot be written.
pub fn write(dir: &Path, name: &str, contents: &str) -> Result<(), String> {
    let at = dir.join(name);
    let new = dir.join(format!(".{name}.new"));
    fs::write(&new, contents)
        .and_then(|()| fs::rename(&new, &at))
        .map_err(|error| {
            // Best effort: what matters is said below.
            let _ = fs::remove_file(&new);
            format!("cannot write {}: {error}", at.display())
        })
}

/// Removes a file, if it is there.
///
/// # Errors
/// One line that names the file, and why it cannot be removed.
pub fn remove(dir: &Path, name: &str) -> Result<(), String> {
    let at = dir.join(name);
    match fs::remove_file(&at) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(format!("cannot remove {}: {error}", at.display()))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_whole_or_as_it_was() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path();
        write(dir, "a", "1").unwrap();
        write(dir, "a", "2").unwrap();
        assert_eq!(fs::read_to_string(dir.join("a")).unwrap(), "2");
        // Nothing is left beside it.
        assert_eq!(fs::read_dir(dir).unwrap().count(), 1);
        // A folder stands where it should go.
        fs::create_dir(dir.join("b")).unwrap();
        let said = write(dir, "b", "1").unwrap_err();
        assert!(
            said.starts_with("cannot write ") && said.contains("/b: "),
            "{said}"
        );
        assert_eq!(fs::read_dir(dir).unwrap().count(), 2);
        remove(dir, "a").unwrap();
        remove(dir, "a").unwrap();
        assert!(remove(dir, "b").unwrap_err().contains("/b: "));
    }
}
